//! Summary of a run: `summary.json`.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::ser::{SerializeTuple, Serializer};
use serde::{Deserialize, Serialize};

use crate::{
    CdfPoint, Congestion, DeadlockCounts, DeadlockReport, ExtraFrames, Failures, FlowControl, FlowOutcome,
    Goodput, Headline, Histogram, JobSummary, MeanOverSeeds, Origin, Protection, SeedResult, SizeBin,
    SkippedTime, Terms, TimeoutCounts, Trims,
};

/// All variants of one scenario: the content of `summary.json`. Only its [`Origin`] depends on the machine and
/// the number of threads.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this layout. It increases when a field changes its meaning or is removed, not when one is
    /// added.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// The first seed.
    pub seed: u64,
    /// Number of consecutive seeds that were run and merged.
    pub seeds: u64,
    /// Version of the program.
    pub version: String,
    /// Variants in the order of the scenario.
    pub variants: Vec<VariantSummary>,
    /// How the results were made.
    pub origin: Origin,
}

/// Results of one variant. It can be read back from JSON without loss.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct VariantSummary {
    /// The variant's name.
    pub name: String,
    /// Flows that ended.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Failed flows by reason ([`crate::FlowOutcome::key`]).
    #[serde(deserialize_with = "known_reasons")]
    pub failed: BTreeMap<&'static str, u64>,
    /// Completion times of finished flows in nanoseconds; `null` if there are none.
    pub fct_ns: Option<Quantiles>,
    /// Slowdowns of finished flows; `null` if there are none.
    pub slowdown: Option<Quantiles>,
    /// Slowdowns of finished flows by size.
    #[serde(default)]
    pub slowdown_by_size: Vec<SizeBin>,
    /// Timers that fired, by cause.
    pub timeouts: TimeoutCounts,
    /// Flows with at least one timeout.
    pub flows_with_timeout: Share,
    /// Packets sent by hosts: data, acknowledgements, dummies.
    pub packets_sent: u64,
    /// Packets times the links they crossed.
    pub packet_hops: u64,
    /// Simulator events.
    pub events: u64,
    /// Data packets that hosts retransmitted, including those of flows that share a queue pair.
    pub retransmitted_packets: u64,
    /// Frame bytes of retransmitted packets, comparable with `extra_bytes`; a flow's row counts payload.
    pub retransmitted_bytes: u64,
    /// Frame bytes beyond the first copy of each packet and its ACKs: retransmissions, NAKs, and frames of
    /// mending mechanisms.
    pub extra_bytes: u64,
    /// Frames that mending mechanisms added, part of `extra_bytes`.
    pub extra_frames: ExtraFrames,
    /// Counters of protected links; their bytes are part of `extra_bytes`.
    #[serde(default)]
    pub protection: Protection,
    /// Counters of failed links.
    #[serde(default)]
    pub failures: Failures,
    /// Counters of lossless switches.
    #[serde(default)]
    pub flow_control: FlowControl,
    /// Counters of ECN marking and congestion control.
    #[serde(default)]
    pub congestion: Congestion,
    /// Counters of trimming switches.
    #[serde(default)]
    pub trims: Trims,
    /// Counters of deadlocks and their remedies.
    #[serde(default)]
    pub deadlocks: DeadlockCounts,
    /// The first deadlock with the names of its ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_deadlock: Option<DeadlockReport>,
    /// Results of collectives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSummary>,
    /// Conditions of the scenario that affect the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the variant has beside its recovery scheme.
    #[serde(default)]
    pub terms: Terms,
    /// Headline numbers of each seed.
    #[serde(default)]
    pub seeds: Vec<SeedResult>,
    /// Means of headline numbers over seeds, with 95 % intervals; empty for one seed.
    #[serde(default)]
    pub over_seeds: BTreeMap<Headline, MeanOverSeeds>,
    /// Original NAKs that requesters received; each reports a loss.
    pub naks: u64,
    /// NAK copies that requesters received.
    pub nak_copies: u64,
    /// Frames that links corrupted.
    pub corrupted_frames: u64,
    /// Intact frames that nodes dropped.
    pub dropped_frames: DropCounts,
    /// Goodput in the measurement window; the mean of all seeds.
    #[serde(default)]
    pub goodput: Option<Goodput>,
    /// Payload bits of finished flows divided by simulated time: a few late flows decide it.
    pub whole_run_goodput_bps: u64,
    /// Simulated time in nanoseconds, over all seeds.
    pub simulated_ns: u64,
    /// The part of it that was skipped because the network only repeated a pattern.
    #[serde(default, skip_serializing_if = "SkippedTime::is_none")]
    pub skipped: SkippedTime,
    /// [`crate::RowDigest`] of flow rows and counters.
    pub digest: String,
    /// Distribution of completion times: pairs of nanoseconds and the fraction of flows that took at most
    /// that long.
    #[serde(serialize_with = "cdf_in_ns", deserialize_with = "cdf_from_ns")]
    pub fct_cdf: Vec<CdfPoint>,
}

impl Summary {
    /// Version of the layout that this code writes.
    pub const SCHEMA: u32 = 2;
}

/// Percentiles, maximum and mean.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    #[serde(deserialize_with = "nan_if_null")]
    pub p50: f64,
    /// The 99th percentile.
    #[serde(deserialize_with = "nan_if_null")]
    pub p99: f64,
    /// The 99.9th percentile.
    #[serde(deserialize_with = "nan_if_null")]
    pub p999: f64,
    /// The exact maximum.
    pub max: f64,
    /// The exact mean.
    pub mean: f64,
}

impl Quantiles {
    /// Computes the quantiles of a histogram whose values are in units of `1/scale`; `None` if it is empty.
    pub fn from_histogram(histogram: &Histogram, scale: f64) -> Option<Self> {
        let quantile = |q| histogram.quantile(q).map(|value| value as f64 / scale);
        Some(Self {
            p50: quantile(0.5)?,
            p99: quantile(0.99)?,
            p999: quantile(0.999)?,
            max: histogram.max()? as f64 / scale,
            mean: histogram.mean()? / scale,
        })
    }
}

/// A percentile that tables show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Percentile {
    /// The median.
    P50,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
}

impl Percentile {
    /// Whether a sample of `count` values carries the percentile: the sample has a value that exceeds it with a
    /// confidence of 97.5 %, so that a 95 % interval of order statistics exists. That takes 6 values for the median,
    /// 368 for the 99th percentile, and 3688 for the 99.9th.
    pub const fn is_carried_by(self, count: u64) -> bool {
        count
            >= match self {
                Self::P50 => 6,
                Self::P99 => 368,
                Self::P999 => 3_688,
            }
    }
}

impl Quantiles {
    /// Returns a percentile if a sample of `count` values carries it.
    pub fn carried(&self, percentile: Percentile, count: u64) -> Option<f64> {
        let value = match percentile {
            Percentile::P50 => self.p50,
            Percentile::P99 => self.p99,
            Percentile::P999 => self.p999,
        };
        percentile.is_carried_by(count).then_some(value)
    }
}

/// A share of flows. It has no interval of its own: the flows of one run are not independent.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct Share {
    /// Number of cases.
    pub count: u64,
    /// Fraction of all; 0 if there are none.
    pub fraction: f64,
}

impl Share {
    /// `count` of `all`.
    pub fn new(count: u64, all: u64) -> Self {
        Self { count, fraction: if all == 0 { 0.0 } else { count as f64 / all as f64 } }
    }
}

/// Intact frames that nodes dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DropCounts {
    /// The buffer was full.
    pub buffer: u64,
    /// The TTL expired.
    pub ttl: u64,
    /// The connection was closed.
    pub no_connection: u64,
    /// Dropped to end a deadlock or a loop.
    #[serde(default)]
    pub remedy: u64,
    /// The switch had no path to the destination, because links had failed.
    #[serde(default)]
    pub no_route: u64,
}

add_counters!(DropCounts; sum buffer, ttl, no_connection, remedy, no_route);

impl DropCounts {
    /// Frames that were dropped on their way: late frames of a closed connection are not needed any more.
    pub const fn lost(&self) -> u64 {
        self.buffer + self.ttl + self.remedy + self.no_route
    }

    /// Frames dropped for all reasons.
    pub const fn total(&self) -> u64 {
        self.lost() + self.no_connection
    }
}

/// Writes completion times, which are stored in picoseconds, in nanoseconds.
fn cdf_in_ns<S: Serializer>(points: &[CdfPoint], serializer: S) -> Result<S::Ok, S::Error> {
    struct Pair(f64, f64);
    impl Serialize for Pair {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut pair = serializer.serialize_tuple(2)?;
            pair.serialize_element(&self.0)?;
            pair.serialize_element(&self.1)?;
            pair.end()
        }
    }
    serializer.collect_seq(points.iter().map(|point| Pair(point.value as f64 / 1e3, point.at_most)))
}

fn cdf_from_ns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CdfPoint>, D::Error> {
    let pairs = Vec::<(f64, f64)>::deserialize(deserializer)?;
    let point = |(ns, at_most): (f64, f64)| CdfPoint { value: (ns * 1e3).round() as u64, at_most };
    Ok(pairs.into_iter().map(point).collect())
}

/// Files have null for a percentile that the sample does not carry; [`Quantiles::carried`] returns none for it either.
fn nan_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(deserializer).map(|value| value.unwrap_or(f64::NAN))
}

/// Accepts only names of [`FlowOutcome`] as reasons.
fn known_reasons<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, u64>, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let known = |(reason, count): (String, u64)| {
        let outcome = FlowOutcome::ALL.into_iter().find(|outcome| outcome.key() == reason);
        let outcome = outcome.ok_or_else(|| D::Error::custom(format!("unknown reason `{reason}`")))?;
        Ok((outcome.key(), count))
    };
    counts.into_iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collector, Counters, FlowRow, TimeoutCause};

    /// The least counts are those at which the largest value exceeds the percentile with 97.5 %.
    #[test]
    fn a_percentile_needs_values_beyond_it() {
        for (percentile, q) in
            [(Percentile::P50, 0.5_f64), (Percentile::P99, 0.99), (Percentile::P999, 0.999)]
        {
            let least = (1..10_000).find(|count| percentile.is_carried_by(*count)).unwrap();
            assert!(q.powi(least as i32) <= 0.025 && q.powi(least as i32 - 1) > 0.025, "{q}: {least}");
        }
    }

    #[test]
    fn a_summary_is_equal_after_writing_and_reading() {
        let mut collector = Collector::new();
        for flow in 0..5000_u64 {
            let outcome = if flow % 1000 == 0 { FlowOutcome::RetryExceeded } else { FlowOutcome::Finished };
            collector.add(&FlowRow {
                flow,
                src: 0,
                dst: 1,
                class: 0,
                connection: Some(1),
                entropy: None,
                bytes: 1024,
                start_ps: 0,
                end_ps: 1_234_567 + flow * flow * 977,
                delivered_ps: None,
                ideal_ps: 1_000_003,
                outcome,
                timeouts: u32::from(flow % 7 == 0),
                naks: 0,
                retransmitted_packets: 0,
                retransmitted_bytes: 0,
                failed_frames: None,
                tcp: None,
            });
        }
        let mut counters = Counters { simulated_ps: 123_456_789, packets_sent: 77, ..Counters::default() };
        counters.timeouts.add(TimeoutCause::Nak);
        counters.timeouts.add_dummy();
        let summary = collector.summary("lossy", &counters);
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<VariantSummary>(&text).unwrap(), summary);
        let wrong = text.replace("retry_exceeded", "boredom");
        assert!(serde_json::from_str::<VariantSummary>(&wrong).is_err());
    }
}
