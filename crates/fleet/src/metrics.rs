//! Averages of the fabric's state over time and over events.

use crate::pod_capacity::fraction;
use crate::trace_time::{TimeWindow, TraceTime};

/// State of a fabric from `at` until the next sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FabricSample {
    /// Start of the state.
    pub at: TraceTime,
    /// Sum of the residual loss rates of all links in service.
    pub penalty: f64,
    /// Smallest share of its paths that a ToR has.
    pub least_paths: f64,
    /// Mean share over all ToRs.
    pub mean_paths: f64,
    /// Smallest share of its capacity that a pod has.
    pub least_capacity: f64,
    /// Mean share over all pods.
    pub mean_capacity: f64,
    /// Number of links out of service.
    pub disabled: u32,
    /// Number of corrupting links in service.
    pub active: u32,
    /// Largest number of protected links in one pipe of a switch.
    pub most_per_pipe: u32,
}

/// Averages of [`FabricSample`] values.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct StateMeans {
    /// Sum of residual loss rates.
    pub penalty: f64,
    /// Smallest share of its paths that a ToR has.
    pub least_paths: f64,
    /// Mean share over all ToRs.
    pub mean_paths: f64,
    /// Smallest share of its capacity that a pod has.
    pub least_capacity: f64,
    /// Mean share over all pods.
    pub mean_capacity: f64,
    /// Number of links out of service.
    pub disabled: f64,
    /// Number of corrupting links in service.
    pub active: f64,
    /// Share of the weight without a corrupting link in service.
    pub clean: f64,
}

/// The integer part of a state; shares are in units of 2^-40.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shares {
    pub(crate) least_paths: u64,
    pub(crate) mean_paths: u64,
    pub(crate) least_capacity: u64,
    pub(crate) mean_capacity: u64,
    pub(crate) disabled: u32,
    pub(crate) active: u32,
    pub(crate) most_per_pipe: u32,
}

/// A state in the form in which it is summed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct State {
    pub(crate) penalty: f64,
    pub(crate) shares: Shares,
}

/// Weighted sums of states.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: u64,
    penalty: f64,
    shares: [u128; 4],
    disabled: u128,
    active: u128,
    clean: u64,
}

/// Accumulates averages and extremes.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    window: TimeWindow,
    state: State,
    since: TraceTime,
    by_time: Sums,
    by_event: Sums,
    pub(crate) least_paths_min: u64,
    pub(crate) least_capacity_min: u64,
    pub(crate) disabled_max: u32,
    pub(crate) active_max: u32,
    pub(crate) most_per_pipe_max: u32,
    pub(crate) samples: Option<Vec<FabricSample>>,
}

impl Meter {
    pub(crate) fn new(window: TimeWindow, state: State, record: bool) -> Self {
        let Shares { least_paths, least_capacity, .. } = state.shares;
        let first = sample(TraceTime::default(), &state);
        Self {
            window,
            state,
            since: TraceTime::default(),
            by_time: Sums::default(),
            by_event: Sums::default(),
            least_paths_min: least_paths,
            least_capacity_min: least_capacity,
            disabled_max: 0,
            active_max: 0,
            most_per_pipe_max: 0,
            samples: record.then(|| vec![first]),
        }
    }

    /// Sets the state from `at` on.
    pub(crate) fn set_state(&mut self, at: TraceTime, state: State) {
        self.advance(at);
        if state == self.state {
            return;
        }
        self.state = state;
        if let Some(samples) = &mut self.samples {
            samples.push(sample(at, &state));
        }
        if self.window.contains(at) {
            self.by_event.add(&state, 1);
            self.bound(&state.shares);
        }
    }

    /// Accounts for the time up to `to`.
    pub(crate) fn advance(&mut self, to: TraceTime) {
        let weight = self.window.overlap_us(self.since, to);
        if weight > 0 {
            self.by_time.add(&self.state, weight);
            let shares = self.state.shares;
            self.bound(&shares);
        }
        self.since = to;
    }

    pub(crate) fn means(&self) -> (StateMeans, StateMeans) {
        (self.by_time.means(), self.by_event.means())
    }

    fn bound(&mut self, shares: &Shares) {
        self.least_paths_min = self.least_paths_min.min(shares.least_paths);
        self.least_capacity_min = self.least_capacity_min.min(shares.least_capacity);
        self.disabled_max = self.disabled_max.max(shares.disabled);
        self.active_max = self.active_max.max(shares.active);
        self.most_per_pipe_max = self.most_per_pipe_max.max(shares.most_per_pipe);
    }
}

impl Sums {
    fn add(&mut self, state: &State, weight: u64) {
        let Shares { least_paths, mean_paths, least_capacity, mean_capacity, disabled, active, .. } =
            state.shares;
        self.weight += weight;
        self.penalty += state.penalty * weight as f64;
        for (sum, value) in
            self.shares.iter_mut().zip([least_paths, mean_paths, least_capacity, mean_capacity])
        {
            *sum += u128::from(value) * u128::from(weight);
        }
        self.disabled += u128::from(disabled) * u128::from(weight);
        self.active += u128::from(active) * u128::from(weight);
        self.clean += if active == 0 { weight } else { 0 };
    }

    fn means(&self) -> StateMeans {
        if self.weight == 0 {
            return StateMeans::default();
        }
        let weight = self.weight as f64;
        let [least_paths, mean_paths, least_capacity, mean_capacity] =
            self.shares.map(|sum| fraction(sum as f64 / weight));
        StateMeans {
            penalty: self.penalty / weight,
            least_paths,
            mean_paths,
            least_capacity,
            mean_capacity,
            disabled: self.disabled as f64 / weight,
            active: self.active as f64 / weight,
            clean: self.clean as f64 / weight,
        }
    }
}

fn sample(at: TraceTime, state: &State) -> FabricSample {
    let Shares { least_paths, mean_paths, least_capacity, mean_capacity, disabled, active, most_per_pipe } =
        state.shares;
    let float = |share: u64| fraction(share as f64);
    FabricSample {
        at,
        penalty: state.penalty,
        least_paths: float(least_paths),
        mean_paths: float(mean_paths),
        least_capacity: float(least_capacity),
        mean_capacity: float(mean_capacity),
        disabled,
        active,
        most_per_pipe,
    }
}
