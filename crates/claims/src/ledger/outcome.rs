//! The stored outcome of a run. Its size does not depend on the number of flows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiremend_fabric::Graph;
use wiremend_measure::rare::Episodes;
use wiremend_measure::{
    Fate, FlowTrace, Metric, PacketKind, SeriesRow, TraceEvent, TraceRecord, VariantSummary,
};
use wiremend_proto::tcp;
use wiremend_sim::{PauseCounters, Results};
use wiremend_units::LaneId;
use wiremend_wire::WIRE_OVERHEAD_BYTES;

use super::flow_groups::{CountsByGroup, Group, GroupCounts};

/// Outcome of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Flows, completion times, timeouts by cause, packets, the digest.
    pub(crate) summary: VariantSummary,
    /// Counters of each lane (direction of a link) by name: `h0>tor`.
    lanes: BTreeMap<String, Lane>,
    /// Loss episodes of a link with importance sampling (`impair.kind = "tilted"`).
    #[serde(default)]
    pub(crate) episodes: Episodes,
    /// Sampled series by lane and metric, if the scenario samples any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    series: BTreeMap<String, BTreeMap<String, Vec<Sample>>>,
    /// Work of receivers to track received packets.
    #[serde(default)]
    pub(crate) tracking: Tracking,
    /// Counters of TCP connections, and of their flows by group.
    #[serde(default)]
    pub(crate) tcp: Tcp,
    #[serde(default)]
    pub(crate) flow_groups: CountsByGroup,
    /// Steps of the first flow that a ladder diagram would show, if the run was traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<String>,
    /// Computing time in seconds.
    pub(crate) took_s: f64,
}

/// Work of receivers to track received packets: sums and maxima over all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tracking {
    /// Packets that had been received before.
    pub(crate) duplicates: u64,
    /// Tracked packets, and the memory accesses for them.
    pub(crate) packets: u64,
    pub(crate) steps: u64,
    /// Most memory that a host allocated for tracking.
    pub(crate) peak_bytes: u64,
    /// Largest distance of a received packet from the first missing one.
    pub(crate) disorder_max: u64,
    /// Payload of completely received messages.
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

/// Counters of TCP connections, summed over all hosts; see [`tcp::Counters`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tcp {
    pub(crate) recoveries: u64,
    pub(crate) undone: u64,
    pub(crate) probes: u64,
    pub(crate) dsacks: u64,
    /// Window reductions because of ECN.
    pub(crate) reductions: u64,
}

impl Tcp {
    fn new(results: &Results) -> Self {
        let mut sum = Self::default();
        for host in &results.hosts {
            let tcp::Counters { recoveries, undone, probes, dsacks, reductions, .. } = host.tcp;
            sum.recoveries += u64::from(recoveries);
            sum.undone += u64::from(undone);
            sum.probes += u64::from(probes);
            sum.dsacks += u64::from(dsacks);
            sum.reductions += u64::from(reductions);
        }
        sum
    }
}

/// A sample: time in nanoseconds and value.
pub(crate) type Sample = (u64, u64);

/// Counters of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Lane {
    pub(crate) rate_bps: u64,
    /// Transmitted frames, including corrupted ones.
    pub(crate) tx_frames: u64,
    /// Bytes of these frames, MAC header to FCS.
    pub(crate) tx_bytes: u64,
    pub(crate) corrupted: u64,
    pub(crate) dropped: u64,
    /// Time in which PFC paused a class of the sender, summed over classes.
    #[serde(default)]
    pub(crate) paused_ns: u64,
}

impl Outcome {
    pub(crate) fn new(name: &str, graph: &Graph, results: &Results, took_s: f64) -> Self {
        let pause_ns =
            |port: &PauseCounters| (port.lane, port.paused.iter().map(|paused| paused.as_ns()).sum());
        let paused: BTreeMap<LaneId, u64> = results.port_pauses.iter().map(pause_ns).collect();
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
            flow_groups: CountsByGroup::new(),
            steps: Vec::new(),
            took_s,
        }
    }

    /// Adds the steps of a traced flow: losses, NAKs, retransmissions, dummies and timeouts.
    pub(super) fn with_steps(self, trace: &FlowTrace) -> Self {
        Self { steps: trace.records.iter().filter_map(|record| step(trace, record)).collect(), ..self }
    }

    /// Adds the sampled series.
    pub(crate) fn with_series(mut self, graph: &Graph, samples: &[SeriesRow]) -> Self {
        for row in samples {
            let lane = self.series.entry(graph.lane_name(LaneId(row.entity))).or_default();
            let metric = lane.entry(row.metric.key().to_owned()).or_default();
            metric.push((row.time_ps / 1_000, row.value));
        }
        self
    }

    /// Adds the counts of flows by group.
    pub(super) fn with_flow_groups(self, flow_groups: CountsByGroup) -> Self {
        Self { flow_groups, ..self }
    }

    /// Counts of a group.
    pub(crate) fn group_counts(&self, group: Group) -> GroupCounts {
        self.flow_groups.get(&group).copied().unwrap_or_default()
    }

    /// Samples of a metric of a lane.
    pub(crate) fn series(&self, lane: &str, metric: Metric) -> &[Sample] {
        self.series.get(lane).and_then(|metrics| metrics.get(metric.key())).map_or(&[], Vec::as_slice)
    }

    /// Counters of a lane. All are 0 if a change of the scenario removed the link.
    pub(crate) fn lane(&self, name: &str) -> Lane {
        let nothing = Lane { rate_bps: 0, tx_frames: 0, tx_bytes: 0, corrupted: 0, dropped: 0, paused_ns: 0 };
        self.lanes.get(name).copied().unwrap_or(nothing)
    }

    /// All lanes by name.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (&str, &Lane)> {
        self.lanes.iter().map(|(name, lane)| (name.as_str(), lane))
    }

    /// Bytes transmitted on all links, MAC header to FCS.
    pub(crate) fn bytes_on_links(&self) -> u64 {
        self.lanes.values().map(|lane| lane.tx_bytes).sum()
    }

    /// Fraction of the time in which a lane was transmitting.
    pub(crate) fn utilisation(&self, lane: &str) -> f64 {
        let lane = self.lane(lane);
        let wire_bytes = lane.tx_bytes + lane.tx_frames * u64::from(WIRE_OVERHEAD_BYTES);
        let bits_max = lane.rate_bps as f64 * self.summary.simulated_ns as f64 * 1e-9;
        if bits_max > 0.0 { wire_bytes as f64 * 8.0 / bits_max } else { 0.0 }
    }

    /// Highest utilisation of all lanes.
    pub(crate) fn busiest(&self) -> f64 {
        self.lanes.keys().map(|lane| self.utilisation(lane)).fold(0.0, f64::max)
    }
}

/// Describes a step; none if it only repeats another one.
fn step(trace: &FlowTrace, record: &TraceRecord) -> Option<String> {
    Some(match record.event {
        TraceEvent::Sent { packet, fate, .. } => {
            let kind = match packet.kind {
                PacketKind::Data => "packet",
                PacketKind::Ack => "ACK",
                PacketKind::Nak => "NAK",
                PacketKind::Dummy => "dummy",
                PacketKind::Control => return None,
            };
            // A packet has a record for each link. The first one is that of its host.
            let is_first = record.node.0 < trace.hosts;
            match (packet.kind, fate) {
                (_, Fate::Corrupt | Fate::Failed) => format!("{kind} {} lost", packet.psn),
                (PacketKind::Dummy, Fate::Pass) if is_first => format!("{kind} {}", packet.psn),
                (PacketKind::Data, Fate::Pass) if is_first && packet.retransmission => {
                    format!("{kind} {} again", packet.psn)
                }
                _ => return None,
            }
        }
        TraceEvent::NakSent { expected } => format!("NAK {expected}"),
        TraceEvent::TimerFired { oldest, .. } => format!("timeout {oldest}"),
        TraceEvent::Completed => "completed".to_owned(),
        _ => return None,
    })
}
