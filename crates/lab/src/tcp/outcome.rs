//! Results of a TCP measurement.

use serde::{Serialize, Serializer};

use wiremend_measure::median;
use wiremend_report::lab::{GoodputChart, LinkState, Transfer};

use crate::chain::ChainStatus;

/// Result of a trial.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Loss rate of the link.
    pub loss: f64,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Goodput of the chain without a rate limit.
    pub capacity_bps: f64,
    /// Delay of the link in each direction.
    pub delay_ns: u64,
    /// Delay of the path in each direction.
    pub path_delay_ns: u64,
    /// Size of the queue before the link.
    pub queue_bytes: u64,
    /// Seed of the losses.
    pub seed: u64,
    /// Number of rounds through all states.
    pub rounds: u32,
    /// Duration of a bulk transfer.
    pub seconds: f64,
    /// Goodput by congestion control.
    pub goodputs: Vec<Goodput>,
    /// Latency by state, if measured.
    pub latencies: Vec<Latency>,
    /// One transfer through all states, if measured.
    pub timeline: Option<Timeline>,
    /// Status after the last bulk transfer, which was protected.
    pub statuses: Option<ChainStatus>,
}

/// Bulk transfers with one congestion control.
#[derive(Debug, Serialize)]
pub struct Goodput {
    /// The congestion control.
    pub control: String,
    /// Results by [`LinkState`].
    pub states: [Transfers; 3],
}

/// Bulk transfers in one state.
#[derive(Debug, Serialize)]
pub struct Transfers {
    /// The state.
    pub state: LinkState,
    /// Median goodput of all rounds.
    pub median_bps: f64,
    /// Goodput of each round.
    pub bps: Vec<f64>,
    /// Bytes received in each tenth of a second, by round.
    pub tenths: Vec<Vec<u64>>,
    /// Retransmitted segments, by round.
    pub retransmitted: Vec<u64>,
}

/// Requests in one state.
#[derive(Debug, Serialize)]
pub struct Latency {
    /// The state.
    pub state: LinkState,
    /// Request times of all rounds in nanoseconds, sorted.
    #[serde(serialize_with = "percentiles")]
    pub times: Vec<u64>,
}

/// A transfer during which the link corrupts and is then protected.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// The congestion control.
    pub control: String,
    /// Time at which the link started to corrupt.
    pub corrupts_s: f64,
    /// Time at which protection was switched on.
    pub protects_s: f64,
    /// The transfer.
    pub stream: Transfer,
}

impl Timeline {
    /// In units of the duration of a bulk transfer: by default the link corrupts from second 2 and is
    /// protected from second 7 (L15).
    pub(crate) const CORRUPTS: f64 = 1.0;
    pub(crate) const PROTECTS: f64 = 3.5;
    pub(crate) const LASTS: f64 = 6.0;
}

impl Outcome {
    /// Plot of the transfer through all states, if there was one.
    pub fn goodput_chart(&self) -> Option<GoodputChart<'_>> {
        let timeline = self.timeline.as_ref()?;
        Some(GoodputChart {
            title: format!("TCP {} over a link that corrupts {} of its frames", timeline.control, self.loss),
            description: format!(
                "Goodput collapses when corruption begins, at {:.1} s, and recovers when protection begins, at {:.1} s.",
                timeline.corrupts_s, timeline.protects_s
            ),
            rate_bps: self.rate_bps,
            tenths: &timeline.stream.tenths,
            moments: vec![
                (timeline.corrupts_s, "corrupts", "the link corrupts"),
                (timeline.protects_s, "protected", "it is protected"),
            ],
        })
    }
}

impl Goodput {
    pub(crate) fn new(control: &str) -> Self {
        let none = |state| Transfers {
            state,
            median_bps: 0.0,
            bps: Vec::new(),
            tenths: Vec::new(),
            retransmitted: Vec::new(),
        };
        Self { control: control.to_owned(), states: LinkState::ALL.map(none) }
    }

    pub(crate) fn add(&mut self, state: LinkState, stream: Transfer) {
        let transfers = &mut self.states[state as usize];
        transfers.bps.push(stream.goodput_bps());
        transfers.retransmitted.push(stream.retransmitted);
        transfers.tenths.push(stream.tenths);
        transfers.median_bps = median(&transfers.bps);
    }

    /// The median goodput in a state.
    pub fn median_bps(&self, state: LinkState) -> f64 {
        self.states[state as usize].median_bps
    }

    /// Goodput in a state relative to the clean state.
    pub fn relative_to_clean(&self, state: LinkState) -> f64 {
        self.median_bps(state) / self.median_bps(LinkState::Clean)
    }
}

impl Latency {
    pub(crate) fn new(state: LinkState) -> Self {
        Self { state, times: Vec::new() }
    }

    pub(crate) fn add(&mut self, times: &[u64]) {
        self.times.extend(times);
        self.times.sort_unstable();
    }

    /// Quantile of the request times in nanoseconds.
    pub fn per_mille(&self, per_mille: usize) -> u64 {
        per_mille_of(&self.times, per_mille)
    }
}

fn per_mille_of(times: &[u64], per_mille: usize) -> u64 {
    let place = (times.len() * per_mille).div_ceil(1000).saturating_sub(1);
    times.get(place).copied().unwrap_or(0)
}

#[expect(clippy::ptr_arg, reason = "signature for serde")]
fn percentiles<S: Serializer>(times: &Vec<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let named = [("p50_ns", 500), ("p99_ns", 990), ("p999_ns", 999), ("max_ns", 1000)]
        .map(|(name, per_mille)| (name, per_mille_of(times, per_mille)));
    serializer.collect_map(named.into_iter().chain([("requests", times.len() as u64)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times() {
        let mut latency = Latency::new(LinkState::Clean);
        latency.add(&(1..=500).rev().collect::<Vec<_>>());
        latency.add(&(501..=1000).collect::<Vec<_>>());
        assert_eq!([500, 990, 999, 1000].map(|at| latency.per_mille(at)), [500, 990, 999, 1000]);
        assert_eq!(Latency::new(LinkState::Clean).per_mille(500), 0);
    }
}
