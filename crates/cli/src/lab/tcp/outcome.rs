//! What was measured, and what it comes to.

use serde::{Serialize, Serializer};

use super::State;
use super::bulk::Stream;
use crate::lab::chain::Statuses;

/// All that a trial measures.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) loss: f64,
    pub(crate) rate_bps: u64,
    /// What the same chain carries without a limit.
    pub(crate) capacity_bps: f64,
    /// Of the link, each way.
    pub(crate) delay_ns: u64,
    /// Of the rest of the path, each way.
    pub(crate) path_delay_ns: u64,
    pub(crate) queue_bytes: u64,
    pub(crate) seed: u64,
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    pub(crate) goodputs: Vec<Goodput>,
    /// Of each state, if they were asked for.
    pub(crate) latencies: Vec<Latency>,
    pub(crate) timeline: Option<Timeline>,
    /// After the last bulk transfer, which was protected.
    pub(crate) statuses: Option<Statuses>,
}

/// Bulk transfers with one congestion control.
#[derive(Debug, Serialize)]
pub(crate) struct Goodput {
    pub(crate) control: String,
    pub(crate) states: [Transfers; 3],
}

/// Bulk transfers in one state.
#[derive(Debug, Serialize)]
pub(crate) struct Transfers {
    pub(crate) state: State,
    /// Of all rounds.
    pub(crate) median_bps: f64,
    /// Round by round.
    pub(crate) bps: Vec<f64>,
    /// Bytes that arrived in each tenth of a second, round by round.
    pub(crate) tenths: Vec<Vec<u64>>,
    /// Segments sent again, round by round.
    pub(crate) retransmitted: Vec<u64>,
}

/// Requests in one state.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) state: State,
    /// In nanoseconds, of all rounds.
    #[serde(serialize_with = "percentiles")]
    pub(crate) times: Vec<u64>,
}

/// One transfer over time.
#[derive(Debug, Serialize)]
pub(crate) struct Timeline {
    pub(crate) control: String,
    /// When the link began to corrupt.
    pub(crate) corrupts_s: f64,
    /// When it was protected.
    pub(crate) protects_s: f64,
    pub(crate) stream: Stream,
}

impl Timeline {
    /// In units of a bulk transfer's time: by default the link corrupts from second 2 and is protected from second 7 (L15).
    pub(crate) const CORRUPTS: f64 = 1.0;
    pub(crate) const PROTECTS: f64 = 3.5;
    pub(crate) const LASTS: f64 = 6.0;
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
        Self { control: control.to_owned(), states: State::ALL.map(none) }
    }

    pub(crate) fn add(&mut self, state: State, stream: Stream) {
        let transfers = &mut self.states[state as usize];
        transfers.bps.push(stream.goodput_bps());
        transfers.retransmitted.push(stream.retransmitted);
        transfers.tenths.push(stream.tenths);
        transfers.median_bps = median(&transfers.bps);
    }

    pub(crate) fn median_bps(&self, state: State) -> f64 {
        self.states[state as usize].median_bps
    }

    /// A state's goodput as a part of the clean one's.
    pub(crate) fn of_clean(&self, state: State) -> f64 {
        self.median_bps(state) / self.median_bps(State::Clean)
    }
}

impl Latency {
    pub(crate) fn new(state: State) -> Self {
        Self { state, times: Vec::new() }
    }

    pub(crate) fn add(&mut self, times: &[u64]) {
        self.times.extend(times);
        self.times.sort_unstable();
    }

    /// So many of a thousand took at most this, in nanoseconds.
    pub(crate) fn per_mille(&self, per_mille: usize) -> u64 {
        per_mille_of(&self.times, per_mille)
    }
}

/// Of times in ascending order.
fn per_mille_of(times: &[u64], per_mille: usize) -> u64 {
    let place = (times.len() * per_mille).div_ceil(1000).saturating_sub(1);
    times.get(place).copied().unwrap_or(0)
}

#[expect(clippy::ptr_arg, reason = "serde gives the field as it is")]
fn percentiles<S: Serializer>(times: &Vec<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    let named = [("p50_ns", 500), ("p99_ns", 990), ("p999_ns", 999), ("max_ns", 1000)]
        .map(|(name, per_mille)| (name, per_mille_of(times, per_mille)));
    serializer.collect_map(named.into_iter().chain([("requests", times.len() as u64)]))
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        for (values, expected) in [(&[][..], 0.0), (&[3.0], 3.0), (&[5.0, 1.0, 2.0], 2.0), (&[4.0, 1.0], 2.5)]
        {
            assert!((median(values) - expected).abs() < 1e-9, "{values:?}");
        }
    }

    #[test]
    fn percentiles_are_times_that_were_seen() {
        let mut latency = Latency::new(State::Clean);
        latency.add(&(1..=500).rev().collect::<Vec<_>>());
        latency.add(&(501..=1000).collect::<Vec<_>>());
        assert_eq!([500, 990, 999, 1000].map(|at| latency.per_mille(at)), [500, 990, 999, 1000]);
        assert_eq!(Latency::new(State::Clean).per_mille(500), 0);
    }
}
