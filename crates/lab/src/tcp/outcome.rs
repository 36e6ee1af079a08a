//! What was measured, and what it comes to.

use serde::{Serialize, Serializer};

use wiremend_measure::median;
use wiremend_report::lab::{Picture, State, Stream};

use crate::chain::Statuses;

/// All that a trial measures.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Frames that the link loses, as a share.
    pub loss: f64,
    /// Of the link.
    pub rate_bps: u64,
    /// What the same chain carries without a limit.
    pub capacity_bps: f64,
    /// Of the link, each way.
    pub delay_ns: u64,
    /// Of the rest of the path, each way.
    pub path_delay_ns: u64,
    /// Room before the link.
    pub queue_bytes: u64,
    /// Of what the link loses.
    pub seed: u64,
    /// Rounds through all states.
    pub rounds: u32,
    /// How long a bulk transfer lasts.
    pub seconds: f64,
    /// Of each congestion control.
    pub goodputs: Vec<Goodput>,
    /// Of each state, if they were asked for.
    pub latencies: Vec<Latency>,
    /// One transfer that sees all states, if it was asked for.
    pub timeline: Option<Timeline>,
    /// After the last bulk transfer, which was protected.
    pub statuses: Option<Statuses>,
}

/// Bulk transfers with one congestion control.
#[derive(Debug, Serialize)]
pub struct Goodput {
    /// The congestion control.
    pub control: String,
    /// By [`State`].
    pub states: [Transfers; 3],
}

/// Bulk transfers in one state.
#[derive(Debug, Serialize)]
pub struct Transfers {
    /// The state.
    pub state: State,
    /// Of all rounds.
    pub median_bps: f64,
    /// Round by round.
    pub bps: Vec<f64>,
    /// Bytes that arrived in each tenth of a second, round by round.
    pub tenths: Vec<Vec<u64>>,
    /// Segments sent again, round by round.
    pub retransmitted: Vec<u64>,
}

/// Requests in one state.
#[derive(Debug, Serialize)]
pub struct Latency {
    /// The state.
    pub state: State,
    /// In nanoseconds, of all rounds.
    #[serde(serialize_with = "percentiles")]
    pub times: Vec<u64>,
}

/// One transfer over time.
#[derive(Debug, Serialize)]
pub struct Timeline {
    /// The congestion control.
    pub control: String,
    /// When the link began to corrupt.
    pub corrupts_s: f64,
    /// When it was protected.
    pub protects_s: f64,
    /// The transfer.
    pub stream: Stream,
}

impl Timeline {
    /// In units of a bulk transfer's time: by default the link corrupts from second 2 and is protected from second 7 (L15).
    pub(crate) const CORRUPTS: f64 = 1.0;
    pub(crate) const PROTECTS: f64 = 3.5;
    pub(crate) const LASTS: f64 = 6.0;
}

impl Outcome {
    /// The transfer that sees all states over time, if there was one.
    pub fn picture(&self) -> Option<Picture<'_>> {
        let timeline = self.timeline.as_ref()?;
        Some(Picture {
            title: format!("TCP {} over a link that corrupts {} of its frames", timeline.control, self.loss),
            description: format!(
                "Goodput collapses when corruption begins, at {:.1} s, and is back after protection begins, at {:.1} s.",
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
        Self { control: control.to_owned(), states: State::ALL.map(none) }
    }

    pub(crate) fn add(&mut self, state: State, stream: Stream) {
        let transfers = &mut self.states[state as usize];
        transfers.bps.push(stream.goodput_bps());
        transfers.retransmitted.push(stream.retransmitted);
        transfers.tenths.push(stream.tenths);
        transfers.median_bps = median(&transfers.bps);
    }

    /// The median goodput in a state.
    pub fn median_bps(&self, state: State) -> f64 {
        self.states[state as usize].median_bps
    }

    /// A state's goodput as a part of the clean one's.
    pub fn of_clean(&self, state: State) -> f64 {
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
    pub fn per_mille(&self, per_mille: usize) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_seen() {
        let mut latency = Latency::new(State::Clean);
        latency.add(&(1..=500).rev().collect::<Vec<_>>());
        latency.add(&(501..=1000).collect::<Vec<_>>());
        assert_eq!([500, 990, 999, 1000].map(|at| latency.per_mille(at)), [500, 990, 999, 1000]);
        assert_eq!(Latency::new(State::Clean).per_mille(500), 0);
    }
}
