//! What is left of a run when its rows are on disk: `summary.json`.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::ser::{SerializeTuple, Serializer};
use serde::{Deserialize, Serialize};

use crate::{
    Added, CdfPoint, Congestion, DeadlockFound, Deadlocks, FlowControl, Histogram, Interval, JobSummary,
    Outcome, Protection, TimeoutCounts, Trims, interval,
};

/// All variants of one scenario: the whole of `summary.json`. Nothing in it depends on the machine, its clock or the
/// number of threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Version of this layout. It grows when a field changes its meaning or goes, not when one is added.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed; the first one where there are several.
    pub seed: u64,
    /// How many seeds, counted up from the first, were run and merged.
    pub seeds: u64,
    /// The program's version.
    pub version: String,
    /// The variants, in the scenario's order.
    pub variants: Vec<VariantSummary>,
}

/// One variant of a scenario. What was written can be read again, and is the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VariantSummary {
    /// The variant's name.
    pub name: String,
    /// Flows that ended, well or not.
    pub flows: u64,
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not, by reason ([`crate::Outcome::key`]).
    #[serde(deserialize_with = "known_reasons")]
    pub failed: BTreeMap<&'static str, u64>,
    /// Completion times of the finished flows in nanoseconds; `null` if there are none.
    pub fct_ns: Option<Quantiles>,
    /// Slowdowns of the finished flows; `null` if there are none.
    pub slowdown: Option<Quantiles>,
    /// Timers that fired, by cause.
    pub timeouts: TimeoutCounts,
    /// Flows that met a timeout.
    pub flows_with_timeout: Share,
    /// Packets that hosts sent: data, acknowledgements, dummies.
    pub packets_sent: u64,
    /// Packets times the links that each crossed.
    pub packet_hops: u64,
    /// Events that the simulator handled.
    pub events: u64,
    /// Data packets sent again, those of flows that share a queue pair included.
    pub retransmitted_packets: u64,
    /// Frame bytes of these, comparable with `extra_bytes`; a flow's row counts payload.
    pub retransmitted_bytes: u64,
    /// Frame bytes beyond the first copy of each packet and its ACKs: retransmissions, NAKs, what protection adds.
    pub extra_bytes: u64,
    /// What protection added, part of `extra_bytes`.
    pub added: Added,
    /// What protected links did; its bytes are part of `extra_bytes`.
    #[serde(default)]
    pub protection: Protection,
    /// What lossless switches did.
    #[serde(default)]
    pub flow_control: FlowControl,
    /// What marks and congestion control did.
    #[serde(default)]
    pub congestion: Congestion,
    /// What switches that trim did.
    #[serde(default)]
    pub trims: Trims,
    /// Deadlocks, and what was done about them.
    #[serde(default)]
    pub deadlocks: Deadlocks,
    /// The first deadlock, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlock: Option<DeadlockFound>,
    /// What groups of hosts did together, a collective each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSummary>,
    /// What a reader of the numbers should know of the scenario.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// NAKs that requesters received as they were sent: the ones that tell of losses.
    pub naks: u64,
    /// NAKs that requesters received as copies.
    pub nak_copies: u64,
    /// Frames that links corrupted.
    pub corrupted_frames: u64,
    /// Intact frames that nodes dropped.
    pub dropped_frames: Dropped,
    /// Application bits of finished flows over simulated time.
    pub goodput_bps: u64,
    /// Simulated time in nanoseconds, over all seeds.
    pub simulated_ns: u64,
    /// [`crate::RowDigest`] of flow rows and counters.
    pub digest: String,
    /// The distribution of completion times: pairs of nanoseconds and the fraction of flows that took at most that.
    #[serde(serialize_with = "cdf_in_ns", deserialize_with = "cdf_from_ns")]
    pub fct_cdf: Vec<CdfPoint>,
}

impl Summary {
    /// The version of the layout that this code writes.
    pub const SCHEMA: u32 = 1;
}

/// Percentiles, largest value and mean.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// One in a hundred is above.
    pub p99: f64,
    /// One in a thousand is above.
    pub p999: f64,
    /// The largest, exactly.
    pub max: f64,
    /// The mean, exactly.
    pub mean: f64,
}

impl Quantiles {
    /// Of a histogram whose values are in units of `1/scale`; `None` if it is empty.
    pub fn of(histogram: &Histogram, scale: f64) -> Option<Self> {
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

/// How many of all, with what chance alone leaves open: the Wilson interval at 95 %.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Share {
    /// How many.
    pub count: u64,
    /// The fraction of all; 0 of none.
    pub fraction: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

impl Share {
    /// `count` of `all`.
    pub fn new(count: u64, all: u64) -> Self {
        let Interval { low, high } = interval::wilson(count, all, 0.95);
        Self { count, fraction: if all == 0 { 0.0 } else { count as f64 / all as f64 }, low, high }
    }
}

/// Intact frames that nodes dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Dropped {
    /// No room in a switch.
    pub buffer: u64,
    /// Crossed too many switches.
    pub ttl: u64,
    /// Came for a connection that is gone.
    pub late: u64,
    /// Dropped to end a deadlock or a loop.
    #[serde(default)]
    pub remedy: u64,
}

add_counters!(Dropped; sum buffer, ttl, late, remedy);

impl Dropped {
    /// Of all reasons.
    pub const fn total(&self) -> u64 {
        self.buffer + self.ttl + self.late + self.remedy
    }
}

/// Completion times are kept in picoseconds and told in nanoseconds.
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

/// Reasons are names of [`Outcome`], and no others.
fn known_reasons<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<&'static str, u64>, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let known = |(reason, count): (String, u64)| {
        let outcome = Outcome::ALL.into_iter().find(|outcome| outcome.key() == reason);
        let outcome = outcome.ok_or_else(|| D::Error::custom(format!("no reason `{reason}` is known")))?;
        Ok((outcome.key(), count))
    };
    counts.into_iter().map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collector, Counters, FlowRow, TimeoutCause};

    #[test]
    fn a_summary_survives_being_written_and_read() {
        let mut collector = Collector::new();
        for flow in 0..5000_u64 {
            let outcome = if flow % 1000 == 0 { Outcome::RetryExceeded } else { Outcome::Finished };
            collector.add(&FlowRow {
                flow,
                src: 0,
                dst: 1,
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
