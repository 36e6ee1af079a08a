//! Totals of each lane, for reports.

use std::collections::BTreeMap;

use wiremend_measure::{LaneFlows, LaneRow};
use wiremend_units::{Bytes, LaneId, NodeId, Span};

use crate::frame::GAP_BYTES;
use crate::network::FlowPaths;
use crate::protect::LinkEndCounters;
use crate::simulation::Results;
use crate::switch::PauseCounters;

impl Results {
    /// Returns the totals of all lanes, in order. `flows`, by lane: the flows that crossed it, if known.
    pub fn lane_rows<'a>(
        &'a self,
        paths: &'a FlowPaths,
        flows: Option<&'a [LaneFlows]>,
    ) -> impl Iterator<Item = LaneRow> + 'a {
        let ends: BTreeMap<LaneId, &LinkEndCounters> =
            self.link_ends.iter().map(|end| (end.lane, end)).collect();
        let pauses: BTreeMap<LaneId, &PauseCounters> =
            self.port_pauses.iter().map(|port| (port.lane, port)).collect();
        paths.graph().lanes().map(move |lane| LaneRow {
            flows: flows.map(|flows| flows[lane.index()]),
            ..self.lane_row(paths, lane, [ends.get(&lane), ends.get(&lane.reverse())], pauses.get(&lane))
        })
    }

    /// Returns the totals of a lane without its flows. `ends`: the sending and the receiving end of a protected link.
    fn lane_row(
        &self,
        paths: &FlowPaths,
        lane: LaneId,
        [sender, receiver]: [Option<&&LinkEndCounters>; 2],
        pauses: Option<&&PauseCounters>,
    ) -> LaneRow {
        let graph = paths.graph();
        let link = graph.link(lane.link());
        let counters = &self.lanes[lane.index()];
        let NodeId(from) = graph.lane_from(lane);
        let sent = sender.map(|end| end.sum).unwrap_or_default();
        let received = receiver.map(|end| end.sum).unwrap_or_default();
        let wire_bytes = Bytes::new(counters.tx_bytes + counters.tx_frames * GAP_BYTES);
        let paused = pauses.iter().flat_map(|port| port.paused).fold(Span::ZERO, |sum, paused| sum + paused);
        LaneRow {
            lane: lane.0,
            rate_bps: link.rate.bits_per_s(),
            delay_ps: link.delay.as_ps(),
            is_corrupting: paths.is_corrupting(lane),
            frames: counters.tx_frames,
            bytes: counters.tx_bytes,
            busy_ps: link.rate.serialize(wire_bytes).as_ps(),
            simulated_ps: self.end.as_ps(),
            corrupted_frames: counters.corrupted,
            failed_frames: counters.failed,
            dropped_frames: counters.dropped,
            host_retransmitted_packets: self
                .hosts
                .get(from as usize)
                .map_or(0, |host| host.retransmitted_packets),
            marked_frames: counters.marked,
            trimmed_packets: counters.trims.trimmed,
            dropped_headers: counters.trims.headers_dropped,
            pfc_frames: pauses.map_or(0, |port| port.received),
            pfc_corrupted_frames: pauses.map_or(0, |port| port.corrupted),
            paused_ps: paused.as_ps(),
            is_protected: sender.is_some(),
            protected_frames: sent.protected,
            link_retransmitted_frames: sent.resent.frames,
            link_retransmitted_bytes: sent.resent.bytes,
            link_control_frames: sent.control.frames,
            link_missed_frames: received.missed,
            link_recovered_frames: received.recovered,
            link_lost_frames: received.lost,
            flows: None,
        }
    }
}
