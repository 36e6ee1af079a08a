//! The packets of a trace, to find what came before an event.

use std::collections::BTreeMap;

use wiremend_units::{NodeId, Span, Time};

use crate::trace::{Fate, FlowTrace, PacketKind, TraceEvent, TracePacket};

/// A packet on one link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// Number of its record in the trace.
    pub(super) record: usize,
    pub(super) node: NodeId,
    pub(super) to: NodeId,
    pub(super) start: Time,
    pub(super) wire: Span,
    pub(super) arrive: Time,
    pub(super) busy_since: Time,
    pub(super) packet: TracePacket,
    passes: bool,
}

impl Hop {
    /// When its last bit had left.
    pub(super) fn sent(&self) -> Time {
        self.start + self.wire
    }

    fn key(&self) -> (u16, u32) {
        (self.packet.number, self.packet.psn.get())
    }
}

/// All hops of a trace.
pub(super) struct Packets {
    hops: Vec<Hop>,
    hosts: u32,
    /// By sending host, in order of time.
    sends: BTreeMap<NodeId, Vec<usize>>,
    /// By receiving host, in order of time; only packets that passed.
    arrivals: BTreeMap<NodeId, Vec<usize>>,
    /// Those of them that carry data.
    data_arrivals: BTreeMap<NodeId, Vec<usize>>,
    /// By number and PSN, in order of time.
    journeys: BTreeMap<(u16, u32), Vec<usize>>,
}

impl Packets {
    pub(super) fn new(trace: &FlowTrace) -> Self {
        let mut hops: Vec<Hop> = trace
            .records
            .iter()
            .enumerate()
            .filter_map(|(number, record)| {
                let TraceEvent::Sent { packet, to, arrive, wire, busy_since, fate } = record.event else {
                    return None;
                };
                let (node, start, passes) = (record.node, record.time, fate == Fate::Pass);
                Some(Hop { record: number, node, to, start, wire, arrive, busy_since, packet, passes })
            })
            .collect();
        hops.sort_by_key(|hop| hop.start);
        let mut packets = Self {
            hosts: trace.hosts,
            sends: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            data_arrivals: BTreeMap::new(),
            journeys: BTreeMap::new(),
            hops,
        };
        for (index, hop) in packets.hops.iter().enumerate() {
            packets.journeys.entry(hop.key()).or_default().push(index);
            if hop.node.0 < trace.hosts {
                packets.sends.entry(hop.node).or_default().push(index);
            }
            if hop.to.0 < trace.hosts && hop.passes {
                packets.arrivals.entry(hop.to).or_default().push(index);
                if hop.packet.kind == PacketKind::Data {
                    packets.data_arrivals.entry(hop.to).or_default().push(index);
                }
            }
        }
        for arrivals in packets.arrivals.values_mut().chain(packets.data_arrivals.values_mut()) {
            arrivals.sort_by_key(|index| packets.hops[*index].arrive);
        }
        packets
    }

    pub(super) fn all(&self) -> &[Hop] {
        &self.hops
    }

    pub(super) fn is_host(&self, node: NodeId) -> bool {
        node.0 < self.hosts
    }

    /// The last packet that left a host at or before `at`, and started before `before`.
    pub(super) fn last_sent(&self, host: NodeId, at: Time, before: Time) -> Option<Hop> {
        let sends = self.sends.get(&host)?;
        let end = sends.partition_point(|index| self.hops[*index].start < before);
        sends[..end].iter().rev().map(|index| self.hops[*index]).find(|hop| hop.sent() <= at)
    }

    /// The last packet that arrived at a host at or before `at`.
    pub(super) fn last_arrival(&self, host: NodeId, at: Time) -> Option<Hop> {
        self.last(self.arrivals.get(&host)?, at)
    }

    /// The last packet with data that arrived at a host at or before `at`.
    pub(super) fn last_data_arrival(&self, host: NodeId, at: Time) -> Option<Hop> {
        self.last(self.data_arrivals.get(&host)?, at)
    }

    fn last(&self, arrivals: &[usize], at: Time) -> Option<Hop> {
        let end = arrivals.partition_point(|index| self.hops[*index].arrive <= at);
        arrivals[..end].last().map(|index| self.hops[*index])
    }

    /// The hop by which a packet came to the node that sends it by `hop`.
    pub(super) fn before(&self, hop: &Hop) -> Option<Hop> {
        let journey = self.journeys[&hop.key()].iter().map(|index| self.hops[*index]);
        journey
            .filter(|other| other.to == hop.node && other.passes && other.arrive <= hop.start)
            .max_by_key(|other| other.arrive)
    }

    /// When a packet was first sent over the link of `hop` after `arrived`: earlier than `hop` if the link itself
    /// sent it again.
    pub(super) fn first_on_link(&self, hop: &Hop, arrived: Time) -> Time {
        let journey = self.journeys[&hop.key()].iter().map(|index| &self.hops[*index]);
        let on_link = journey.filter(|other| (other.node, other.to) == (hop.node, hop.to));
        on_link.map(|other| other.start).filter(|start| *start >= arrived).min().unwrap_or(hop.start)
    }
}
