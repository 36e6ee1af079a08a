//! The numbers of a run that people quote, for each seed and over seeds.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::{Interval, Percentile, Quantiles, VariantSummary, interval};

keyed! {
    /// A number that people quote.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    Headline {
        /// Fraction of flows that finished.
        Finished = "finished_fraction",
        /// Median flow completion time.
        FctP50 = "fct_p50_ns",
        /// 99th percentile of the flow completion time.
        FctP99 = "fct_p99_ns",
        /// 99.9th percentile of the flow completion time.
        FctP999 = "fct_p999_ns",
        /// Longest flow completion time.
        FctMax = "fct_max_ns",
        /// Mean flow completion time.
        FctMean = "fct_mean_ns",
        /// 99th percentile of the slowdown.
        SlowdownP99 = "slowdown_p99",
        /// Mean slowdown.
        SlowdownMean = "slowdown_mean",
        /// Mean job completion time.
        JobMean = "job_mean_ns",
        /// Longest job completion time.
        JobMax = "job_max_ns",
        /// Retransmission timers that fired.
        Timeouts = "timeouts",
        /// Fraction of flows with a timeout.
        FlowsWithTimeout = "flows_with_timeout",
        /// Frames that links corrupted or switches dropped, and packets that switches trimmed.
        Lost = "lost_frames",
        /// Frame bytes that hosts retransmitted.
        Resent = "retransmitted_bytes",
        /// Frame bytes beyond the first copy of each packet and its ACKs.
        Extra = "extra_bytes",
        /// PFC pauses.
        Pauses = "pauses",
        /// Packets that switches trimmed.
        Trimmed = "trimmed",
        /// Goodput in the measurement window.
        Goodput = "goodput_bps",
    }
}

impl Serialize for Headline {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        sink.serialize_str(self.key())
    }
}

impl<'de> Deserialize<'de> for Headline {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let key = String::deserialize(source)?;
        let known = Self::ALL.into_iter().find(|headline| headline.key() == key);
        known.ok_or_else(|| D::Error::custom(format!("unknown number `{key}`")))
    }
}

/// The headline numbers of one seed. A number that the run does not have, or that its flows are too few for, is
/// missing.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SeedResult {
    /// The seed.
    pub seed: u64,
    /// Its digest.
    pub digest: String,
    /// Its headline numbers.
    pub values: BTreeMap<Headline, f64>,
}

/// Mean over seeds and its 95 % interval: [`interval::mean_of_skewed`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct MeanOverSeeds {
    /// The mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl MeanOverSeeds {
    /// Distance from the mean to the farther end of the interval.
    pub fn longer_side(&self) -> f64 {
        (self.high - self.mean).max(self.mean - self.low)
    }
}

impl SeedResult {
    /// The headline numbers of the summary of a single run.
    pub fn new(seed: u64, summary: &VariantSummary) -> Self {
        let value = |headline: Headline| Some((headline, summary.pooled(headline)?));
        let values = Headline::ALL.into_iter().filter_map(value).collect();
        Self { seed, digest: summary.digest.clone(), values }
    }
}

/// Level of intervals over seeds.
const LEVEL: f64 = 0.95;

/// The mean of each headline number that all seeds have, with its interval; empty for one seed. A mean over some
/// seeds would select them: those in which a flow finished, for instance.
pub fn over_seeds(seeds: &[SeedResult]) -> BTreeMap<Headline, MeanOverSeeds> {
    let mean = |headline: Headline| {
        let values: Option<Vec<f64>> = seeds.iter().map(|seed| seed.values.get(&headline).copied()).collect();
        let (mean, Interval { low, high }) = interval::mean_of_skewed(&values?, LEVEL)?;
        // No headline number is negative.
        Some((headline, MeanOverSeeds { mean, low: low.max(0.0), high }))
    };
    Headline::ALL.into_iter().filter_map(mean).collect()
}

impl VariantSummary {
    /// A headline number: the mean over seeds if there are several, the number of the run if there is one.
    pub fn headline(&self, headline: Headline) -> Option<f64> {
        if self.seeds.len() > 1 {
            return self.over_seeds.get(&headline).map(|over| over.mean);
        }
        self.pooled(headline)
    }

    /// Frames that did not arrive whole: corrupted by links, dropped or trimmed by switches.
    pub fn lost_frames(&self) -> u64 {
        self.corrupted_frames + self.failures.lost_frames + self.dropped_frames.lost() + self.trims.trimmed
    }

    /// A headline number over the flows of all seeds together.
    pub fn pooled(&self, headline: Headline) -> Option<f64> {
        let percentile = |of: &Option<Quantiles>, percentile| of.as_ref()?.carried(percentile, self.finished);
        let fct = |of: fn(&Quantiles) -> f64| self.fct_ns.as_ref().map(of);
        let flows = (self.flows > 0).then_some(self.flows as f64);
        let jobs = || self.jobs.iter().filter_map(|jobs| Some((jobs.finished as f64, jobs.jct_ns.as_ref()?)));
        match headline {
            Headline::Finished => flows.map(|flows| self.finished as f64 / flows),
            Headline::FctP50 => percentile(&self.fct_ns, Percentile::P50),
            Headline::FctP99 => percentile(&self.fct_ns, Percentile::P99),
            Headline::FctP999 => percentile(&self.fct_ns, Percentile::P999),
            Headline::FctMax => fct(|fct| fct.max),
            Headline::FctMean => fct(|fct| fct.mean),
            Headline::SlowdownP99 => percentile(&self.slowdown, Percentile::P99),
            Headline::SlowdownMean => self.slowdown.as_ref().map(|slowdown| slowdown.mean),
            Headline::JobMean => {
                let (count, sum) = jobs().fold((0.0, 0.0), |(count, sum), (jobs, jct)| {
                    (count + jobs, jct.mean.mul_add(jobs, sum))
                });
                (count > 0.0).then(|| sum / count)
            }
            Headline::JobMax => jobs().map(|(_, jct)| jct.max).reduce(f64::max),
            Headline::Timeouts => Some(self.timeouts.total() as f64),
            Headline::FlowsWithTimeout => flows.map(|_| self.flows_with_timeout.fraction),
            Headline::Lost => Some(self.lost_frames() as f64),
            Headline::Resent => Some(self.retransmitted_bytes as f64),
            Headline::Extra => Some(self.extra_bytes as f64),
            Headline::Pauses => Some(self.flow_control.pauses as f64),
            Headline::Trimmed => Some(self.trims.trimmed as f64),
            Headline::Goodput => self.goodput.map(|goodput| goodput.bps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::tests::row;
    use crate::{Collector, Counters};

    fn seed(number: u64, flows: u64) -> SeedResult {
        let mut collector = Collector::new();
        for flow in 0..flows {
            collector.add(&row(flow, 1_000_000 * number + flow));
        }
        SeedResult::new(number, &collector.summary("v", &Counters::default()))
    }

    #[test]
    fn a_mean_is_over_seeds_and_not_over_flows() {
        let over = over_seeds(&[seed(1, 4_000), seed(2, 4_000), seed(3, 4_000)]);
        let p99 = over[&Headline::FctP99];
        assert!((p99.mean - 2_004.0).abs() < 3.0, "{p99:?}");
        // Student's quantile of 2 degrees of freedom, 4.303, over the root of three.
        assert!((p99.longer_side() / (1_000.0 * 4.303 / 3_f64.sqrt()) - 1.0).abs() < 1e-3, "{p99:?}");
    }

    #[test]
    fn a_number_that_a_seed_lacks_has_no_mean() {
        let over = over_seeds(&[seed(1, 4_000), seed(2, 300)]);
        assert!(over.contains_key(&Headline::FctMax) && over.contains_key(&Headline::FctP50));
        assert!(!over.contains_key(&Headline::FctP99) && !over.contains_key(&Headline::FctP999));
        assert!(over_seeds(&[seed(1, 10)]).is_empty());
        let over = over_seeds(&[seed(1, 10), seed(2, 0)]);
        assert!(!over.contains_key(&Headline::FctMax) && over.contains_key(&Headline::Timeouts));
    }
}
