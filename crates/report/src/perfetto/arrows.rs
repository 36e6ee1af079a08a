//! Which events an arrow connects: a lost packet, the timer that fired for it, and its retransmission.

use std::collections::BTreeMap;

use wiremend_measure::{Fate, FlowTrace, PacketKind, TraceEvent, TracePacket, TraceRecord};
use wiremend_units::NodeId;

use super::events::Arrow;

pub(super) struct Arrows {
    requester: NodeId,
    /// Lost packets that nothing has followed yet, by PSN: the number of the arrow.
    open: BTreeMap<u32, u64>,
    /// Retransmissions that are still to come, by PSN.
    to_come: BTreeMap<u32, u64>,
    next: u64,
}

impl Arrows {
    pub(super) fn new(trace: &FlowTrace, requester: NodeId) -> Self {
        let mut to_come = BTreeMap::new();
        for record in &trace.records {
            if let TraceEvent::Sent { packet, .. } = &record.event
                && is_sent_again(record, packet, trace.hosts)
            {
                *to_come.entry(packet.psn.get()).or_default() += 1;
            }
        }
        Self { requester, open: BTreeMap::new(), to_come, next: 1 }
    }

    /// Returns the arrow that begins or ends at a packet.
    pub(super) fn of_packet(
        &mut self,
        record: &TraceRecord,
        packet: &TracePacket,
        fate: Fate,
    ) -> Option<Arrow> {
        let psn = packet.psn.get();
        let is_from_requester = packet.src.0 == self.requester.0;
        if packet.retransmission && record.node == NodeId(packet.src.0) {
            let left = self.to_come.entry(psn).or_default();
            *left = left.saturating_sub(1);
            if let Some(number) = self.open.remove(&psn) {
                // The packet may be lost on its first link; a further arrow then begins at its end.
                return Some(Arrow { number, is_last: true });
            }
        }
        let is_lost = fate != Fate::Pass && packet.kind == PacketKind::Data || is_lost_answer(packet, fate);
        if is_lost && is_from_requester == (packet.kind == PacketKind::Data) {
            let number = self.next;
            self.next += 1;
            self.open.insert(psn, number);
            return Some(Arrow { number, is_last: false });
        }
        None
    }

    /// Returns the arrow to a timer: from the lost packet with its PSN, or from the oldest lost one.
    pub(super) fn of_event(&mut self, record: &TraceRecord) -> Option<Arrow> {
        let TraceEvent::TimerFired { oldest, .. } = record.event else { return None };
        let psn = oldest.get();
        let lost = if self.open.contains_key(&psn) { psn } else { *self.open.keys().next()? };
        let number = self.open[&lost];
        let is_last = self.to_come.get(&lost).is_none_or(|left| *left == 0);
        if is_last {
            self.open.remove(&lost);
        }
        Some(Arrow { number, is_last })
    }
}

fn is_sent_again(record: &TraceRecord, packet: &TracePacket, hosts: u32) -> bool {
    packet.retransmission && record.node.0 < hosts
}

fn is_lost_answer(packet: &TracePacket, fate: Fate) -> bool {
    fate != Fate::Pass && matches!(packet.kind, PacketKind::Ack | PacketKind::Nak)
}
