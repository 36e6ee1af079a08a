//! Averages over time and over events.

use crate::capacity::fraction;
use crate::moment::{Moment, Window};

/// The state of a fabric from one moment on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Since when.
    pub at: Moment,
    /// The sum of loss rates of all links that are in, as protection leaves them.
    pub penalty: f64,
    /// The least part of its ways that a ToR has.
    pub least_paths: f64,
    /// The mean of these.
    pub mean_paths: f64,
    /// The least part of its capacity that a pod has.
    pub least_capacity: f64,
    /// The mean of these.
    pub mean_capacity: f64,
    /// Links that are taken out.
    pub disabled: u32,
    /// Links that corrupt and are in.
    pub active: u32,
    /// The most protected links in one pipe of a switch.
    pub most_per_pipe: u32,
}

/// Averages of a [`Sample`].
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Means {
    /// The sum of loss rates.
    pub penalty: f64,
    /// The least part of its ways that a ToR has.
    pub least_paths: f64,
    /// The mean part.
    pub mean_paths: f64,
    /// The least part of its capacity that a pod has.
    pub least_capacity: f64,
    /// The mean part.
    pub mean_capacity: f64,
    /// Links taken out.
    pub disabled: f64,
    /// Links that corrupt and are in.
    pub active: f64,
    /// The part in which no link that is in corrupts.
    pub clean: f64,
}

/// What of a state is shared by all views of it, in exact numbers.
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

/// A state as it is summed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct State {
    pub(crate) penalty: f64,
    pub(crate) shares: Shares,
}

/// Sums of states, each with a weight.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: u64,
    penalty: f64,
    shares: [u128; 4],
    disabled: u128,
    active: u128,
    clean: u64,
}

/// Averages in the making.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    window: Window,
    state: State,
    since: Moment,
    by_time: Sums,
    by_event: Sums,
    pub(crate) least_paths_min: u64,
    pub(crate) least_capacity_min: u64,
    pub(crate) disabled_max: u32,
    pub(crate) active_max: u32,
    pub(crate) most_per_pipe_max: u32,
    pub(crate) samples: Option<Vec<Sample>>,
}

impl Meter {
    pub(crate) fn new(window: Window, state: State, record: bool) -> Self {
        let Shares { least_paths, least_capacity, .. } = state.shares;
        let first = sample(Moment::default(), &state);
        Self {
            window,
            state,
            since: Moment::default(),
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

    /// From `at` on the state is this one.
    pub(crate) fn note(&mut self, at: Moment, state: State) {
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

    /// Time has passed.
    pub(crate) fn advance(&mut self, to: Moment) {
        let weight = self.window.overlap_us(self.since, to);
        if weight > 0 {
            self.by_time.add(&self.state, weight);
            let shares = self.state.shares;
            self.bound(&shares);
        }
        self.since = to;
    }

    pub(crate) fn means(&self) -> (Means, Means) {
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

    fn means(&self) -> Means {
        if self.weight == 0 {
            return Means::default();
        }
        let weight = self.weight as f64;
        let [least_paths, mean_paths, least_capacity, mean_capacity] =
            self.shares.map(|sum| fraction(sum as f64 / weight));
        Means {
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

fn sample(at: Moment, state: &State) -> Sample {
    let Shares { least_paths, mean_paths, least_capacity, mean_capacity, disabled, active, most_per_pipe } =
        state.shares;
    let of = |share: u64| fraction(share as f64);
    Sample {
        at,
        penalty: state.penalty,
        least_paths: of(least_paths),
        mean_paths: of(mean_paths),
        least_capacity: of(least_capacity),
        mean_capacity: of(mean_capacity),
        disabled,
        active,
        most_per_pipe,
    }
}
