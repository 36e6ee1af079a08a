//! What is seen of a run besides its results: frames on chosen links, and every step of one flow.

mod capture;
mod parities;

pub use capture::Capture;

use wiremend_impair::Fate;
use wiremend_measure::{Outcome, PacketKind, TimeoutCause, TraceDrop, TracePacket, TraceRecord, TraceWhat};
use wiremend_proto::Packet;
use wiremend_proto::engine::{self, Expiry, Purpose};
use wiremend_units::{FlowId, HostId, LaneId, NodeId, Psn, Time};

use crate::frame::{Frame, Header};

/// A frame on a captured link.
#[derive(Clone, Copy, Debug)]
pub struct Captured {
    /// When its first bit left.
    pub time: Time,
    /// The direction of the link.
    pub lane: LaneId,
    /// The frame, without its link header.
    pub frame: Frame,
    /// Its header, on a protected link.
    pub header: Option<Header>,
    /// Whether the link corrupted it.
    pub corrupted: bool,
}

/// A frame as it leaves.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) header: Option<&'a Header>,
}

/// Watches lanes that are marked for it, and one connection. Costs nothing where neither is asked for.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) captured: Vec<Captured>,
    /// By lane; empty if nothing is captured.
    capture: Vec<bool>,
    tracer: Option<Box<Tracer>>,
}

/// Follows the connection of one flow, while the flow lasts.
struct Tracer {
    flow: FlowId,
    connection: Option<(HostId, u32)>,
    /// The flow has ended; others may go on over the same connection.
    ended: bool,
    /// The nodes at both ends of each lane.
    ends: Vec<(NodeId, NodeId)>,
    records: Vec<TraceRecord>,
    /// Steps that were not kept.
    left_out: u64,
}

/// More steps of a flow than this are not kept, but for its end.
const RECORDS_MAX: usize = 100_000;

impl Watch {
    pub(crate) fn capture(&mut self, lane: LaneId, lanes: usize) {
        self.capture.resize(lanes, false);
        self.capture[lane.index()] = true;
    }

    pub(crate) fn trace(&mut self, flow: FlowId, ends: Vec<(NodeId, NodeId)>) {
        let records = Vec::new();
        self.tracer =
            Some(Box::new(Tracer { flow, connection: None, ended: false, ends, records, left_out: 0 }));
    }

    /// The steps of the traced flow, and how many more there were.
    pub(crate) fn take_trace(&mut self) -> (Vec<TraceRecord>, u64) {
        self.tracer.take().map_or((Vec::new(), 0), |tracer| (tracer.records, tracer.left_out))
    }

    pub(crate) fn on_transmit(
        &mut self,
        start: Time,
        lane: LaneId,
        arrive: Time,
        seen: Seen<'_>,
        fate: Fate,
    ) {
        let Seen { frame, header } = seen;
        if self.capture.get(lane.index()).is_some_and(|wanted| *wanted) {
            let corrupted = fate == Fate::Corrupt;
            let added = header.map_or(0, Header::added_len) as u16;
            let frame = Frame { len: frame.len - added, ..*frame };
            self.captured.push(Captured { time: start, lane, frame, header: header.copied(), corrupted });
        }
        if let Some(tracer) = &mut self.tracer
            && let Some(packet) = tracer.follows(frame)
        {
            let (from, to) = tracer.ends[lane.index()];
            let fate = if fate == Fate::Corrupt {
                wiremend_measure::Fate::Corrupt
            } else {
                wiremend_measure::Fate::Pass
            };
            let packet = describe(frame, packet);
            tracer.note(start, from, TraceWhat::Sent { packet, to, arrive, fate });
        }
    }

    pub(crate) fn on_drop(&mut self, now: Time, lane: LaneId, frame: &Frame) {
        self.dropped(now, |tracer| tracer.ends[lane.index()].0, frame, TraceDrop::Buffer);
    }

    pub(crate) fn on_ttl(&mut self, now: Time, node: NodeId, frame: &Frame) {
        self.dropped(now, |_| node, frame, TraceDrop::Ttl);
    }

    pub(crate) fn on_post(&mut self, now: Time, src: HostId, serial: u32, flow: FlowId, bytes: u32) {
        if let Some(tracer) = &mut self.tracer
            && tracer.flow == flow
        {
            tracer.connection = Some((src, serial));
            tracer.note(now, NodeId(src.0), TraceWhat::Posted { bytes: u64::from(bytes) });
        }
    }

    /// What a responder made of a request.
    #[inline]
    pub(crate) fn on_request(&mut self, now: Time, frame: &Frame, outcome: &engine::Outcome, expected: Psn) {
        if self.tracer.is_some() {
            self.note_request(now, frame, outcome, expected);
        }
    }

    fn note_request(&mut self, now: Time, frame: &Frame, outcome: &engine::Outcome, expected: Psn) {
        let Some(tracer) = &mut self.tracer else { return };
        let Some(packet) = tracer.follows(frame) else { return };
        let (node, psn) = (NodeId(frame.dst.0), packet.psn());
        match outcome {
            engine::Outcome::Accepted { .. } => tracer.note(now, node, TraceWhat::Accepted { psn }),
            engine::Outcome::Duplicate => tracer.note(now, node, TraceWhat::Duplicate { psn }),
            engine::Outcome::Gap { nak } => {
                tracer.note(now, node, TraceWhat::Gap { psn, expected });
                if *nak {
                    tracer.note(now, node, TraceWhat::NakSent { expected });
                }
            }
            _ => {}
        }
    }

    pub(crate) fn on_timer(&mut self, now: Time, host: HostId, serial: u32, expiry: &Expiry) {
        if let Some(tracer) = &mut self.tracer
            && tracer.connection == Some((host, serial))
            && !tracer.ended
        {
            tracer.note(now, NodeId(host.0), TraceWhat::TimerFired { oldest: expiry.oldest, cause: None });
        }
    }

    /// The cause of a timeout is learned a little after it, and causes are learned in the order of their timeouts.
    pub(crate) fn on_cause(&mut self, host: HostId, serial: u32, named: TimeoutCause) {
        let Some(tracer) = &mut self.tracer else { return };
        if tracer.connection != Some((host, serial)) {
            return;
        }
        for record in &mut tracer.records {
            if let TraceWhat::TimerFired { cause: cause @ None, .. } = &mut record.what {
                *cause = Some(named);
                return;
            }
        }
    }

    pub(crate) fn on_end(&mut self, now: Time, host: HostId, flow: FlowId, outcome: Outcome) {
        if let Some(tracer) = &mut self.tracer
            && tracer.flow == flow
        {
            let what =
                if outcome.is_finished() { TraceWhat::Completed } else { TraceWhat::Failed { outcome } };
            tracer.ended = true;
            tracer.records.push(TraceRecord { time: now, node: NodeId(host.0), what });
        }
    }

    fn dropped(&mut self, now: Time, node: impl FnOnce(&Tracer) -> NodeId, frame: &Frame, why: TraceDrop) {
        if let Some(tracer) = &mut self.tracer
            && let Some(packet) = tracer.follows(frame)
        {
            let node = node(tracer);
            tracer.note(now, node, TraceWhat::Dropped { packet: describe(frame, packet), why });
        }
    }
}

impl Tracer {
    /// The packet, if it is one of the connection.
    fn follows<'a>(&self, frame: &'a Frame) -> Option<&'a Packet> {
        let (host, serial) = self.connection?;
        let packet = frame.packet()?;
        let requester = if packet.is_response() { frame.dst } else { frame.src };
        (!self.ended && requester == host && frame.serial == serial).then_some(packet)
    }

    fn note(&mut self, time: Time, node: NodeId, what: TraceWhat) {
        if self.records.len() < RECORDS_MAX {
            self.records.push(TraceRecord { time, node, what });
        } else {
            self.left_out += 1;
        }
    }
}

fn describe(frame: &Frame, packet: &Packet) -> TracePacket {
    let kind = match packet {
        _ if packet.is_nak() => PacketKind::Nak,
        _ if packet.is_dummy() => PacketKind::Dummy,
        Packet::Rc(packet) if packet.aeth().is_some() && packet.payload_len == 0 => PacketKind::Ack,
        Packet::Rc(_) => PacketKind::Data,
        _ if packet.is_response() => PacketKind::Ack,
        _ => PacketKind::Data,
    };
    let name = match (kind, packet) {
        (PacketKind::Nak, _) => "NAK",
        (PacketKind::Dummy, _) => "DUMMY",
        (PacketKind::Ack, Packet::Tcp(_)) => "ACK",
        (_, Packet::Tcp(_)) => "DATA",
        (_, Packet::Rc(packet)) => packet.opcode.name(),
        (_, Packet::Sr(packet)) => packet.opcode().name(),
        (_, Packet::Dcp(packet)) => packet.opcode().name(),
    };
    let retransmission = frame.copy > 0 || frame.is_replica() || frame.purpose() == Purpose::Repeat;
    TracePacket { name, psn: packet.psn(), kind, retransmission }
}
