//! Counted timeouts of a trial, and those that the model expects.

use wiremend_measure::TimeoutCause;
use wiremend_measure::interval::{Interval, poisson};
use wiremend_model::Cause;
use wiremend_runner::VariantResults;

use super::plan::Trial;
use crate::cause::by_cause;

/// Confidence level of a comparison of simulation and model. There are about twenty comparisons, so that a
/// correct model fails in two of 1000 verifications.
const COMPARISON_LEVEL: f64 = 0.9999;
/// Confidence level of reported intervals.
pub(super) const REPORTED_LEVEL: f64 = 0.95;

/// A trial and its counts.
pub(super) struct TrialCounts {
    pub(super) trial: Trial,
    pub(super) flows: u64,
    /// Indexed by [`Cause`].
    pub(super) timeouts: [u64; 4],
    /// Timeouts with a cause that the model does not have.
    pub(super) other: u64,
}

impl TrialCounts {
    pub(super) fn new(trial: Trial, sum: &VariantResults) -> Self {
        let summary = sum.collector.summary(&trial.name, &sum.counters);
        Self {
            flows: summary.flows,
            timeouts: by_cause(&summary.timeouts),
            other: summary.timeouts.get(TimeoutCause::Other),
            trial,
        }
    }

    /// Timeouts that the model expects in all flows, by cause.
    pub(super) fn expected(&self) -> [f64; 4] {
        self.trial.timeouts.map(|timeouts| timeouts * self.flows as f64)
    }

    /// Causes whose count contradicts the model.
    pub(super) fn unexplained(&self) -> Vec<&'static str> {
        let expected = self.expected();
        let off = |cause: &Cause| {
            let number = *cause as usize;
            !scaled_poisson(self.timeouts[number], self.clusters(), COMPARISON_LEVEL)
                .contains(expected[number])
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

    /// Confidence interval of the number of timeouts.
    pub(super) fn interval(&self) -> Interval {
        scaled_poisson(self.total(), self.clusters(), REPORTED_LEVEL)
    }

    /// Confidence interval of the timeouts per flow, from the count alone.
    pub(super) fn direct(&self) -> Interval {
        let Interval { low, high } = self.interval();
        Interval { low: low / self.flows as f64, high: high / self.flows as f64 }
    }

    /// Variance divided by mean of such a count. A retransmission after a timeout is lost again with the loss
    /// of the path, so timeouts form clusters of geometric size.
    pub(super) fn clusters(&self) -> f64 {
        (1.0 + self.trial.path_loss) / (1.0 - self.trial.path_loss)
    }
}

/// Interval for the mean of a count whose variance is `clusters` times its mean.
pub(super) fn scaled_poisson(count: u64, clusters: f64, level: f64) -> Interval {
    let interval = poisson((count as f64 / clusters).round() as u64, level);
    Interval { low: interval.low * clusters, high: interval.high * clusters }
}
