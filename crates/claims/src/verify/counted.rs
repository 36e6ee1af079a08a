//! What a trial counted, beside what the model expects.

use wiremend_measure::TimeoutCause;
use wiremend_measure::interval::{Interval, poisson};
use wiremend_model::Cause;
use wiremend_runner::VariantResults;

use super::plan::Trial;
use crate::cause::by_cause;

/// The chance that an interval holds the truth where simulation and model are compared: some twenty comparisons are
/// made, and a true model misses one in them in two verifications of a thousand.
const AGREES: f64 = 0.9999;
/// The same for what is told.
pub(super) const TOLD: f64 = 0.95;

/// A trial and what came of it.
pub(super) struct Counted {
    pub(super) trial: Trial,
    pub(super) flows: u64,
    /// By [`Cause`].
    pub(super) timeouts: [u64; 4],
    /// Those that the model has no name for.
    pub(super) other: u64,
}

impl Counted {
    pub(super) fn new(trial: Trial, sum: &VariantResults) -> Self {
        let summary = sum.collector.summary(&trial.name, &sum.counters);
        Self {
            flows: summary.flows,
            timeouts: by_cause(&summary.timeouts),
            other: summary.timeouts.of(TimeoutCause::Other),
            trial,
        }
    }

    /// Timeouts that the model expects in all flows, by cause.
    pub(super) fn expected(&self) -> [f64; 4] {
        self.trial.timeouts.map(|timeouts| timeouts * self.flows as f64)
    }

    /// Causes whose count the model cannot explain.
    pub(super) fn unexplained(&self) -> Vec<&'static str> {
        let expected = self.expected();
        let off = |cause: &Cause| {
            let number = *cause as usize;
            !around(self.timeouts[number], self.clusters(), AGREES).contains(expected[number])
        };
        let mut causes: Vec<_> = Cause::ALL.into_iter().filter(off).map(Cause::name).collect();
        if self.other > 0 {
            causes.push(TimeoutCause::Other.name());
        }
        causes
    }

    pub(super) fn agrees(&self) -> bool {
        self.unexplained().is_empty()
    }

    /// Timeouts of all causes.
    pub(super) fn total(&self) -> u64 {
        self.timeouts.iter().sum::<u64>() + self.other
    }

    /// What chance leaves open of all timeouts.
    pub(super) fn interval(&self) -> Interval {
        around(self.total(), self.clusters(), TOLD)
    }

    /// Timeouts of a flow, by counting alone.
    pub(super) fn direct(&self) -> Interval {
        let Interval { low, high } = self.interval();
        Interval { low: low / self.flows as f64, high: high / self.flows as f64 }
    }

    /// Variance over mean of such a count. What the timer sends again is lost again with x, so timeouts come in
    /// clusters of a geometric size.
    pub(super) fn clusters(&self) -> f64 {
        (1.0 + self.trial.path_loss) / (1.0 - self.trial.path_loss)
    }
}

/// The interval for the mean of a count whose variance is so many times its mean.
pub(super) fn around(count: u64, clusters: f64, level: f64) -> Interval {
    let interval = poisson((count as f64 / clusters).round() as u64, level);
    Interval { low: interval.low * clusters, high: interval.high * clusters }
}
