//! Time that losses cost.

use crate::flow::{FlowSize, mean_bytes};
use crate::frame::{FrameSizes, GAP_BYTES};
use crate::path::Path;
use crate::setting::{ModelSetting, NextFlow};
use crate::timeout::{Expected, expected_and};

/// Times of a connection, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConnectionTimes {
    /// Round-trip time of a small packet.
    pub rtt: f64,
    /// The retransmission timer.
    pub rto: f64,
    /// Rate of the slowest link, in bit/s.
    pub rate: f64,
    /// Time that dummies wait for more data: T of JCST §5.2.
    pub hold: f64,
    /// Mean gap between the end of a flow and the next one on the same queue pair; `None` without a next one.
    pub gap: Option<f64>,
    /// Fraction of flows whose successor is already posted, so that there is no gap.
    pub busy: f64,
}

impl ConnectionTimes {
    /// Gaps of flows that arrive at random on one queue pair with this load. A flow leaves the queue empty with
    /// probability 1 − U, and the next one arrives after the mean interarrival time.
    pub fn at_load(self, load: f64, sizes: &FrameSizes, flows: &[FlowSize]) -> Self {
        let alone: f64 =
            flows.iter().map(|flow| flow.probability * (self.alone(sizes, flow) - self.rtt)).sum();
        let payload = 8.0 * mean_bytes(flows) / self.rate;
        Self { gap: Some(payload / load), busy: (load * alone / payload).min(1.0), ..self }
    }

    /// Probabilities of the next flow, from the gap.
    pub fn next(&self) -> NextFlow {
        let after = self.gap.map_or(NextFlow::NEVER, |gap| NextFlow::after(gap, self.rto));
        let idle = 1.0 - self.busy;
        NextFlow { rescues: self.busy + idle * after.rescues, follows: self.idle_share() * after.follows }
    }

    /// Fraction of flows after which the queue pair is idle for [`Self::hold`]; only these get dummies.
    pub fn idle_share(&self) -> f64 {
        (1.0 - self.busy) * self.gap.map_or(1.0, |gap| (-self.hold / gap).exp())
    }

    /// Completion time of a flow without loss and without other flows.
    pub fn alone(&self, sizes: &FrameSizes, flow: &FlowSize) -> f64 {
        let bytes = flow.bytes + flow.packets * f64::from(sizes.header + GAP_BYTES);
        self.rtt + 8.0 * (bytes + f64::from(sizes.first_extra)) / self.rate
    }

    /// Packets sent in one round trip.
    pub fn flight_packets(&self, sizes: &FrameSizes) -> f64 {
        self.rtt * self.rate / (8.0 * f64::from(sizes.middle() + GAP_BYTES))
    }

    /// Time that a lost tail waits for dummies: T, or until the next flow if that is earlier.
    fn until_dummies(&self) -> f64 {
        match self.gap {
            None => self.hold,
            Some(gap) => -gap * (-self.hold / gap).exp_m1(),
        }
    }

    /// Time that a lost tail waits for the next flow, if that comes before the timer.
    fn until_next(&self) -> f64 {
        let Some(gap) = self.gap else { return self.rto };
        let late = (-self.rto / gap).exp();
        // Far below the mean the gap is uniform, and the difference below would lose precision.
        let waited =
            if self.rto < 1e-4 * gap { self.rto / 2.0 } else { gap - self.rto * late / (1.0 - late) };
        let rescued = self.next().rescues;
        waited * if rescued > 0.0 { (1.0 - self.busy) * (1.0 - late) / rescued } else { 1.0 }
    }
}

/// Mean time that losses add to a flow, in seconds, by kind of recovery.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Penalty {
    /// Timeouts.
    pub timeouts: f64,
    /// A round trip for each loss that a later packet reveals.
    pub repeats: f64,
    /// Lost tails that dummies reveal: T and a round trip.
    pub dummies: f64,
    /// Lost tails that the next flow reveals: the gap and a round trip (JCST §3.1).
    pub next_flow: f64,
}

impl Penalty {
    /// Total time.
    pub fn total(&self) -> f64 {
        self.timeouts + self.repeats + self.dummies + self.next_flow
    }
}

/// Mean time that losses add to a flow with these [expectations](crate::expected()).
pub fn penalty(expected: &Expected, times: &ConnectionTimes) -> Penalty {
    let in_body = (expected.repeats - expected.shown_tails - expected.rescued_tails).max(0.0);
    Penalty {
        timeouts: expected.total() * times.rto,
        repeats: in_body * times.rtt,
        dummies: expected.shown_tails * (times.until_dummies() + times.rtt),
        next_flow: expected.rescued_tails * (times.until_next() + times.rtt),
    }
}

/// Probability that a flow takes longer than `limit` seconds, without queueing.
pub fn exceeds(
    setting: &ModelSetting,
    path: &Path,
    flows: &[FlowSize],
    times: &ConnectionTimes,
    limit: f64,
) -> f64 {
    expected_and_late(setting, path, flows, times, limit).1
}

/// Expectations of flows, and the probability that one takes longer than `limit` seconds.
pub fn expected_and_late(
    setting: &ModelSetting,
    path: &Path,
    flows: &[FlowSize],
    times: &ConnectionTimes,
    limit: f64,
) -> (Expected, f64) {
    expected_and(setting, path, flows, |flow, expected| {
        let slack = limit - times.alone(&setting.sizes, flow);
        if slack < 0.0 { 1.0 } else { late(expected, times, slack) }
    })
}

/// Probability that losses take more than `slack`.
fn late(expected: &Expected, times: &ConnectionTimes, slack: f64) -> f64 {
    let timed_out = if times.rto > slack { expected.probability } else { 0.0 };
    let held = if times.hold + times.rtt > slack { expected.shown_tails } else { 0.0 };
    let waited = if times.until_next() + times.rtt > slack { expected.rescued_tails } else { 0.0 };
    // Each loss costs a round trip, so more losses than this exceed the slack.
    let bearable = (slack / times.rtt).floor();
    let many = poisson_above(expected.repeats, bearable);
    (timed_out + held + waited + many).min(1.0)
}

/// Completion time that the fraction `quantile` of flows does not exceed, in seconds.
pub fn quantile(
    setting: &ModelSetting,
    path: &Path,
    flows: &[FlowSize],
    times: &ConnectionTimes,
    quantile: f64,
) -> f64 {
    let largest = flows.iter().map(|flow| times.alone(&setting.sizes, flow)).fold(0.0, f64::max);
    let (mut low, mut high) = (0.0, largest + 64.0 * times.rto);
    for _ in 0..64 {
        let middle = f64::midpoint(low, high);
        if exceeds(setting, path, flows, times, middle) > 1.0 - quantile {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Probability that a Poisson variable of this mean is above `k`.
fn poisson_above(mean: f64, k: f64) -> f64 {
    const TERMS_MAX: f64 = 200.0;
    if mean <= 0.0 {
        return 0.0;
    }
    if k > TERMS_MAX || k > 20.0 * (mean + 1.0) {
        return if k > mean { 0.0 } else { 1.0 };
    }
    let mut term = (-mean).exp();
    let mut below = term;
    for i in 1..=k as u32 {
        term *= mean / f64::from(i);
        below += term;
    }
    if below > 0.5 {
        // Sum of the rest term by term: a difference would lose precision.
        let mut above = 0.0;
        for i in k as u32 + 1..k as u32 + 200 {
            term *= mean / f64::from(i);
            above += term;
        }
        return above;
    }
    1.0 - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisson_tail_is_precise() {
        assert!((poisson_above(1e-6, 0.0) / (1e-6 - 0.5e-12) - 1.0).abs() < 1e-9);
        assert!((poisson_above(1e-3, 1.0) / 4.996_668e-7 - 1.0).abs() < 1e-5);
        assert!((poisson_above(30.0, 10.0) - 0.999_978).abs() < 1e-5);
    }

    #[test]
    fn the_wait_for_the_next_flow_is_limited_by_the_timer() {
        let times = |gap| ConnectionTimes { rtt: 1e-5, rto: 0.067, rate: 1e11, hold: 2e-4, gap, busy: 0.0 };
        let short = times(Some(1e-3));
        assert!((short.until_next() - 1e-3).abs() < 1e-9);
        assert!((short.idle_share() - 0.818_73).abs() < 1e-5);
        assert!((short.until_dummies() - 1.8127e-4).abs() < 1e-8);
        assert!((times(Some(1e9)).until_next() - 0.0335).abs() < 1e-4, "uniform below the timer");
        assert!((times(None).until_dummies() - 2e-4).abs() < 1e-12);
        assert!(times(None).next().rescues.abs() < 1e-300);
    }
}
