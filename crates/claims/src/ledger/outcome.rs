//! What is kept of a run: enough to judge and to draw, and no more for more flows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiremend_fabric::Graph;
use wiremend_measure::rare::Episodes;
use wiremend_measure::{Metric, SeriesRow, VariantSummary};
use wiremend_proto::tcp;
use wiremend_sim::{PauseCounters, Results};
use wiremend_units::LaneId;
use wiremend_wire::WIRE_OVERHEAD_BYTES;

use super::affected::{Affected, Group, Met};

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Flows, times, causes, packets, the digest.
    pub(crate) summary: VariantSummary,
    /// What each direction of each link carried, by its name: `h0>tor`.
    lanes: BTreeMap<String, Lane>,
    /// Of a link whose rare losses are made frequent.
    #[serde(default)]
    pub(crate) episodes: Episodes,
    /// What was sampled, if the run samples something: by direction of a link and by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    series: BTreeMap<String, BTreeMap<String, Vec<Sample>>>,
    /// What receivers had to do to know what they have.
    #[serde(default)]
    pub(crate) tracking: Tracking,
    /// What TCP connections did, and their flows by what they met.
    #[serde(default)]
    pub(crate) tcp: Tcp,
    #[serde(default)]
    pub(crate) affected: Affected,
    /// How long it took to compute.
    pub(crate) took_s: f64,
}

/// What receivers had to do to know what they have, over all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tracking {
    /// Packets that had been received before: sent again, or copied, in vain.
    pub(crate) duplicates: u64,
    /// Packets that were looked up, and the accesses to memory that this took.
    pub(crate) packets: u64,
    pub(crate) steps: u64,
    /// The most bytes in use at once, of what is taken as needed.
    pub(crate) peak_bytes: u64,
    /// The largest distance of a packet from the first missing one.
    pub(crate) disorder_max: u64,
    /// Payload of messages completely received.
    pub(crate) delivered_bytes: u64,
    pub(crate) delivered_messages: u64,
}

impl Tracking {
    fn new(results: &Results) -> Self {
        let mut sum = Self::default();
        for host in &results.hosts {
            sum.duplicates += host.duplicates;
            sum.packets += host.steps.packets;
            sum.steps += host.steps.steps;
            sum.peak_bytes = sum.peak_bytes.max(host.steps.peak_bytes);
            sum.disorder_max = sum.disorder_max.max(host.steps.disorder_max);
            sum.delivered_bytes += host.delivered_bytes;
            sum.delivered_messages += host.delivered_messages;
        }
        sum
    }
}

/// What TCP connections did, over all hosts; see [`tcp::Counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tcp {
    pub(crate) recoveries: u64,
    pub(crate) undone: u64,
    pub(crate) probes: u64,
    pub(crate) twice: u64,
    /// Answers to marks.
    pub(crate) reductions: u64,
}

impl Tcp {
    fn new(results: &Results) -> Self {
        let mut sum = Self::default();
        for host in &results.hosts {
            let tcp::Counters { recoveries, undone, probes, twice, reductions, .. } = host.tcp;
            sum.recoveries += u64::from(recoveries);
            sum.undone += u64::from(undone);
            sum.probes += u64::from(probes);
            sum.twice += u64::from(twice);
            sum.reductions += u64::from(reductions);
        }
        sum
    }
}

/// A point of a series: when in nanoseconds, and what.
pub(crate) type Sample = (u64, u64);

/// What one direction of a link carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lane {
    pub(crate) rate_bps: u64,
    /// Frames that have crossed, corrupted ones included.
    pub(crate) tx_frames: u64,
    /// Bytes of these, MAC header to FCS.
    pub(crate) tx_bytes: u64,
    pub(crate) corrupted: u64,
    pub(crate) dropped: u64,
    /// How long its sender had to hold a class.
    #[serde(default)]
    pub(crate) paused_ns: u64,
}

impl Outcome {
    pub(crate) fn new(name: &str, graph: &Graph, results: &Results, took_s: f64) -> Self {
        let held = |port: &PauseCounters| (port.lane, port.paused.iter().map(|paused| paused.as_ns()).sum());
        let paused: BTreeMap<LaneId, u64> = results.pauses.iter().map(held).collect();
        let lane = |lane: LaneId| {
            let counted = &results.lanes[lane.index()];
            let carried = Lane {
                rate_bps: graph.link(lane.link()).rate.bits_per_s(),
                tx_frames: counted.tx_frames,
                tx_bytes: counted.tx_bytes,
                corrupted: counted.corrupted,
                dropped: counted.dropped,
                paused_ns: paused.get(&lane).copied().unwrap_or(0),
            };
            (graph.lane_name(lane), carried)
        };
        Self {
            summary: results.summary(name),
            lanes: graph.lanes().map(lane).collect(),
            episodes: results.episodes,
            series: BTreeMap::new(),
            tracking: Tracking::new(results),
            tcp: Tcp::new(results),
            affected: Affected::new(),
            took_s,
        }
    }

    /// The same, with what was sampled.
    pub(crate) fn with_series(mut self, graph: &Graph, samples: &[SeriesRow]) -> Self {
        for row in samples {
            let lane = self.series.entry(graph.lane_name(LaneId(row.entity))).or_default();
            let metric = lane.entry(row.metric.key().to_owned()).or_default();
            metric.push((row.time_ps / 1_000, row.value));
        }
        self
    }

    /// The same, with what its flows met.
    pub(super) fn with_affected(self, affected: Affected) -> Self {
        Self { affected, ..self }
    }

    /// What the flows of a group met.
    pub(crate) fn met(&self, group: Group) -> Met {
        self.affected.get(&group).copied().unwrap_or_default()
    }

    /// What was sampled of a direction of a link.
    pub(crate) fn series(&self, lane: &str, metric: Metric) -> &[Sample] {
        self.series.get(lane).and_then(|metrics| metrics.get(metric.key())).map_or(&[], Vec::as_slice)
    }

    /// What a direction of a link carried. Nothing, if there is no such link in the scenario any more.
    pub(crate) fn lane(&self, name: &str) -> Lane {
        let nothing = Lane { rate_bps: 0, tx_frames: 0, tx_bytes: 0, corrupted: 0, dropped: 0, paused_ns: 0 };
        self.lanes.get(name).copied().unwrap_or(nothing)
    }

    /// Every direction of every link by its name.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (&str, &Lane)> {
        self.lanes.iter().map(|(name, lane)| (name.as_str(), lane))
    }

    /// Bytes on all links, MAC header to FCS, each link that a frame crossed counted.
    pub(crate) fn bytes_on_links(&self) -> u64 {
        self.lanes.values().map(|lane| lane.tx_bytes).sum()
    }

    /// The part of the time that a direction of a link was busy.
    pub(crate) fn utilisation(&self, lane: &str) -> f64 {
        let lane = self.lane(lane);
        let wire_bytes = lane.tx_bytes + lane.tx_frames * u64::from(WIRE_OVERHEAD_BYTES);
        let bits_max = lane.rate_bps as f64 * self.summary.simulated_ns as f64 * 1e-9;
        if bits_max > 0.0 { wire_bytes as f64 * 8.0 / bits_max } else { 0.0 }
    }

    /// The same of the busiest direction of all links.
    pub(crate) fn busiest(&self) -> f64 {
        self.lanes.keys().map(|lane| self.utilisation(lane)).fold(0.0, f64::max)
    }
}
