//! Estimates derived from the counts.

use wiremend_measure::Collector;
use wiremend_measure::interval::{Interval, clopper_pearson};
use wiremend_model::tune::Candidate;

use super::PredictionVerdict;
use super::counted::{REPORTED_LEVEL, TrialCounts, scaled_poisson};

/// Probability of a timeout per flow at the original corruption rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) probability: f64,
    pub(super) interval: Interval,
}

impl Estimate {
    /// Scales the predicted probability of each cause by counted over expected timeouts. The error probability
    /// of the interval is divided among the causes (Bonferroni).
    pub(super) fn new(predicted: &Candidate, counted: &[TrialCounts]) -> Self {
        let whole: f64 = predicted.timeouts.iter().sum();
        let clusters = counted.iter().map(TrialCounts::clusters).fold(1.0, f64::max);
        let level = 1.0 - (1.0 - REPORTED_LEVEL) / predicted.timeouts.len() as f64;
        let (mut middle, mut low, mut high) = (0.0, 0.0, 0.0);
        for (cause, timeouts) in predicted.timeouts.iter().enumerate() {
            let count: u64 = counted.iter().map(|counted| counted.timeouts[cause]).sum();
            let expected: f64 = counted.iter().map(|counted| counted.expected()[cause]).sum();
            if *timeouts <= 0.0 || expected <= 0.0 {
                continue;
            }
            let weight = predicted.timeout * timeouts / whole / expected;
            let interval = scaled_poisson(count, clusters, level);
            middle += weight * count as f64;
            low += weight * interval.low;
            high += weight * interval.high;
        }
        Self { probability: middle, interval: Interval { low, high: high.min(1.0) } }
    }
}

/// Flows that exceed a completion time limit.
pub(super) struct LateFlows {
    pub(super) quantile: f64,
    /// In seconds.
    pub(super) limit: f64,
    pub(super) flows: u64,
    /// Flows that take longer than the limit, or do not finish.
    pub(super) missed: u64,
    /// The quantile in seconds, and its confidence interval.
    pub(super) reached: f64,
    pub(super) interval: Interval,
}

impl LateFlows {
    pub(super) fn new(collector: &Collector, quantile: f64, limit: f64) -> Self {
        let times = collector.fct_ps();
        let (flows, finished) = (collector.flows(), times.count());
        // Bisection over ranks finds the number of flows within the limit.
        let (mut in_time, mut above) = (0, finished + 1);
        while above - in_time > 1 {
            let rank = u64::midpoint(in_time, above);
            let time = times.quantile(rank as f64 / finished as f64).unwrap_or(u64::MAX);
            if time as f64 <= limit * 1e12 { in_time = rank } else { above = rank }
        }
        let ranks = clopper_pearson((quantile * flows as f64) as u64, flows, REPORTED_LEVEL);
        let at = |share: f64| {
            let share = share * flows as f64 / finished as f64;
            let time = (share <= 1.0).then(|| times.quantile(share)).flatten();
            time.map_or(f64::INFINITY, |time| time as f64 * 1e-12)
        };
        Self {
            quantile,
            limit,
            flows,
            missed: flows - in_time,
            reached: at(quantile),
            interval: Interval { low: at(ranks.low), high: at(ranks.high) },
        }
    }

    /// Confidence interval of the share of late flows.
    pub(super) fn share(&self) -> Interval {
        clopper_pearson(self.missed, self.flows, REPORTED_LEVEL)
    }

    pub(super) fn verdict(&self) -> PredictionVerdict {
        let (share, allowed) = (self.share(), 1.0 - self.quantile);
        if share.high <= allowed {
            PredictionVerdict::Confirmed
        } else if share.low > allowed {
            PredictionVerdict::NotConfirmed
        } else {
            PredictionVerdict::Undecided
        }
    }
}
