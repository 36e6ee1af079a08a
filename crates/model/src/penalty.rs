//! What losses cost in time.

use crate::flow::FlowSize;
use crate::frame::{GAP_BYTES, Sizes};
use crate::path::Path;
use crate::setting::{Next, Setting};
use crate::timeout::{Expected, expected_and};

/// The times of a connection, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Times {
    /// A round trip of a small packet.
    pub rtt: f64,
    /// The retransmission timer.
    pub rto: f64,
    /// The rate of the slowest link, in bit/s.
    pub rate: f64,
    /// Dummies wait so long for more data before they are sent: T of JCST §5.2.
    pub hold: f64,
    /// Mean gap between the end of a flow and the next one on the same queue pair, if there is a next one.
    pub gap: Option<f64>,
    /// The share of flows behind which the next one is already posted, so that there is no gap at all.
    pub busy: f64,
}

impl Times {
    /// What comes after a flow, by the gap.
    pub fn next(&self) -> Next {
        let after = self.gap.map_or(Next::NEVER, |gap| Next::after(gap, self.rto));
        let idle = 1.0 - self.busy;
        Next { rescues: self.busy + idle * after.rescues, follows: self.idle_share() * after.follows }
    }

    /// The share of flows behind which nothing comes for [`Self::hold`]: only those get dummies.
    pub fn idle_share(&self) -> f64 {
        (1.0 - self.busy) * self.gap.map_or(1.0, |gap| (-self.hold / gap).exp())
    }

    /// How long a flow takes that loses nothing and meets nobody.
    pub fn alone(&self, sizes: &Sizes, flow: &FlowSize) -> f64 {
        let bytes = flow.bytes + flow.packets * f64::from(sizes.header + GAP_BYTES);
        self.rtt + 8.0 * (bytes + f64::from(sizes.first_extra)) / self.rate
    }

    /// Packets that leave in a round trip.
    pub fn flight_packets(&self, sizes: &Sizes) -> f64 {
        self.rtt * self.rate / (8.0 * f64::from(sizes.middle() + GAP_BYTES))
    }

    /// How long a lost tail waits for dummies: for T, or for the next flow if that comes first.
    fn until_dummies(&self) -> f64 {
        match self.gap {
            None => self.hold,
            Some(gap) => -gap * (-self.hold / gap).exp_m1(),
        }
    }

    /// How long a lost tail waits for the next flow, if that comes before the timer.
    fn until_next(&self) -> f64 {
        let Some(gap) = self.gap else { return self.rto };
        let late = (-self.rto / gap).exp();
        // Far below the mean the gap is uniform, and the difference below would lose its digits.
        let waited =
            if self.rto < 1e-4 * gap { self.rto / 2.0 } else { gap - self.rto * late / (1.0 - late) };
        let rescued = self.next().rescues;
        waited * if rescued > 0.0 { (1.0 - self.busy) * (1.0 - late) / rescued } else { 1.0 }
    }
}

/// The time that losses add to a flow on average, in seconds, by how they are mended.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Penalty {
    /// Waiting for the timer.
    pub timeouts: f64,
    /// A round trip for each loss that a later packet shows.
    pub repeats: f64,
    /// Lost tails that dummies show: T and a round trip.
    pub dummies: f64,
    /// Lost tails that the next flow shows: the gap and a round trip (JCST §3.1).
    pub next_flow: f64,
}

impl Penalty {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.timeouts + self.repeats + self.dummies + self.next_flow
    }
}

/// The mean time that losses add to a flow which meets what was [expected](crate::expected()).
pub fn penalty(met: &Expected, times: &Times) -> Penalty {
    let in_body = (met.repeats - met.shown_tails - met.rescued_tails).max(0.0);
    Penalty {
        timeouts: met.total() * times.rto,
        repeats: in_body * times.rtt,
        dummies: met.shown_tails * (times.until_dummies() + times.rtt),
        next_flow: met.rescued_tails * (times.until_next() + times.rtt),
    }
}

/// The chance that a flow takes longer than `limit` seconds. Queues are left out: the network is the flow's own.
pub fn exceeds(setting: &Setting, path: &Path, flows: &[FlowSize], times: &Times, limit: f64) -> f64 {
    expected_and_late(setting, path, flows, times, limit).1
}

/// What flows meet, and the chance that one takes longer than `limit` seconds.
pub fn expected_and_late(
    setting: &Setting,
    path: &Path,
    flows: &[FlowSize],
    times: &Times,
    limit: f64,
) -> (Expected, f64) {
    expected_and(setting, path, flows, |flow, met| {
        let slack = limit - times.alone(&setting.sizes, flow);
        if slack < 0.0 { 1.0 } else { late(met, times, slack) }
    })
}

/// The chance that losses take more than `slack`.
fn late(met: &Expected, times: &Times, slack: f64) -> f64 {
    let timed_out = if times.rto > slack { met.probability } else { 0.0 };
    let held = if times.hold + times.rtt > slack { met.shown_tails } else { 0.0 };
    let waited = if times.until_next() + times.rtt > slack { met.rescued_tails } else { 0.0 };
    // Each loss costs a round trip, so it takes more of them than this.
    let bearable = (slack / times.rtt).floor();
    let many = poisson_above(met.repeats, bearable);
    (timed_out + held + waited + many).min(1.0)
}

/// The time that all but a share `1 − quantile` of flows stay below, in seconds.
pub fn quantile(setting: &Setting, path: &Path, flows: &[FlowSize], times: &Times, quantile: f64) -> f64 {
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

/// The chance that a Poisson number of this mean is above `k`.
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
        // The rest, term by term: a difference would lose its digits.
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
    fn a_poisson_tail_keeps_its_digits() {
        assert!((poisson_above(1e-6, 0.0) / (1e-6 - 0.5e-12) - 1.0).abs() < 1e-9);
        assert!((poisson_above(1e-3, 1.0) / 4.996_668e-7 - 1.0).abs() < 1e-5);
        assert!((poisson_above(30.0, 10.0) - 0.999_978).abs() < 1e-5);
    }

    #[test]
    fn a_gap_is_waited_for_only_as_long_as_the_timer() {
        let times = |gap| Times { rtt: 1e-5, rto: 0.067, rate: 1e11, hold: 2e-4, gap, busy: 0.0 };
        let short = times(Some(1e-3));
        assert!((short.until_next() - 1e-3).abs() < 1e-9);
        assert!((short.idle_share() - 0.818_73).abs() < 1e-5);
        assert!((short.until_dummies() - 1.8127e-4).abs() < 1e-8);
        assert!((times(Some(1e9)).until_next() - 0.0335).abs() < 1e-4, "uniform below the timer");
        assert!((times(None).until_dummies() - 2e-4).abs() < 1e-12);
        assert!(times(None).next().rescues.abs() < 1e-300);
    }
}
