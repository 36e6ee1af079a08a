//! Recording of frames on captured links, and of all events of one flow.

mod capture;
mod flow_watch;
mod parity_encoder;
mod truth;

pub use capture::Capture;
pub(crate) use flow_watch::{FlowWatch, PostedFlow, SendingState, SentBytes, WantedFlows};

use wiremend_measure::{
    Fate, FlowOutcome, FlowTrace, PacketKind, TimeoutCause, TraceDropReason, TraceEvent, TracePacket,
    TraceRecord, TracedPause,
};
use wiremend_proto::Packet;
use wiremend_proto::engine::{self, Expiry, Purpose};
use wiremend_units::{FlowId, HostId, LaneId, NodeId, Psn, QpNum, Time};

use crate::frame::{Body, Frame, Header, LossCause};
use crate::network::Network;

/// A frame on a captured link.
#[derive(Clone, Copy, Debug)]
pub struct CapturedFrame {
    /// Time at which its first bit was sent.
    pub time: Time,
    /// The direction of the link.
    pub lane: LaneId,
    /// The frame, without its link header.
    pub frame: Frame,
    /// Its link header, on a protected link.
    pub header: Option<Header>,
    /// Whether the link corrupted or lost it.
    pub corrupted: bool,
}

/// A retransmission timer that fired, and why.
#[derive(Clone, Copy, Debug)]
pub struct FoundCause {
    /// When it fired.
    pub time: Time,
    /// The host whose timer it is.
    pub requester: HostId,
    /// The host that should have answered.
    pub responder: HostId,
    /// Destination queue pair of the requests.
    pub qp: QpNum,
    /// The requester's state.
    pub expiry: Expiry,
    /// The cause, from the state of both ends.
    pub cause: TimeoutCause,
}

#[derive(Clone, Copy)]
pub(crate) struct SentFrame<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) header: Option<&'a Header>,
    /// When its last bit leaves.
    pub(crate) done: Time,
}

/// Records captured lanes and one traced connection. Costs nothing if neither is requested.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) captured: Vec<CapturedFrame>,
    /// Timers that fired.
    pub(crate) causes: Vec<FoundCause>,
    /// Whether to record them: if any lane of the run is captured.
    pub(crate) keeps_causes: bool,
    /// Whether to capture, by lane; empty if nothing is captured.
    capture: Vec<bool>,
    tracer: Option<Box<Tracer>>,
}

/// Traces the connection of one flow until the flow ends.
struct Tracer {
    flow: FlowId,
    connection: Option<(HostId, u32)>,
    /// Whether the flow has ended. Other flows may continue on the same connection.
    ended: bool,
    /// The nodes at both ends of each lane.
    ends: Vec<(NodeId, NodeId)>,
    /// By lane, the last time in which its port sent without a break.
    busy: Vec<(Time, Time)>,
    /// Whether to record frames of other connections too.
    with_others: bool,
    trace: FlowTrace,
}

/// Limits of trace records and of pauses; the end of the flow is always kept.
const RECORDS_MAX: usize = 1_000_000;
/// Limit of frames of other connections.
const OTHERS_MAX: usize = 100_000;

impl Recorder {
    pub(crate) fn capture(&mut self, lane: LaneId, lanes: usize) {
        self.capture.resize(lanes, false);
        self.capture[lane.index()] = true;
    }

    pub(crate) fn trace(&mut self, flow: FlowId, with_others: bool, net: &Network) {
        let graph = &net.graph;
        let ends: Vec<_> = graph.lanes().map(|lane| (graph.lane_from(lane), graph.lane_to(lane))).collect();
        let busy = vec![(Time::ZERO, Time::ZERO); ends.len()];
        let trace = FlowTrace { hosts: graph.host_count(), ..FlowTrace::default() };
        self.tracer =
            Some(Box::new(Tracer { flow, connection: None, ended: false, ends, busy, with_others, trace }));
    }

    /// Returns whether something is captured or traced.
    pub(crate) fn is_on(&self) -> bool {
        !self.capture.is_empty() || self.tracer.is_some()
    }

    pub(crate) fn take_trace(&mut self) -> FlowTrace {
        self.tracer.take().map_or_else(FlowTrace::default, |tracer| tracer.trace)
    }

    pub(crate) fn on_transmit(
        &mut self,
        start: Time,
        lane: LaneId,
        arrive: Time,
        sent: SentFrame<'_>,
        lost: Option<LossCause>,
    ) {
        let SentFrame { frame, header, done } = sent;
        if self.capture.get(lane.index()).is_some_and(|wanted| *wanted) {
            let corrupted = lost.is_some();
            let added = header.map_or(0, Header::added_len) as u16;
            let frame = Frame { len: frame.len - added, ..*frame };
            self.captured.push(CapturedFrame {
                time: start,
                lane,
                frame,
                header: header.copied(),
                corrupted,
            });
        }
        let Some(tracer) = &mut self.tracer else { return };
        let busy_since = tracer.record_busy(lane, start, done);
        let is_traced = tracer.traced_packet(frame).is_some();
        if is_traced || tracer.records_others() {
            let (from, to) = tracer.ends[lane.index()];
            let fate = match lost {
                None => Fate::Pass,
                Some(LossCause::Corruption) => Fate::Corrupt,
                Some(LossCause::Failure { .. } | LossCause::Kept) => Fate::Failed,
            };
            let (packet, wire) = (describe_frame(frame), done.since(start));
            let sent = TraceEvent::Sent { packet, to, arrive, wire, busy_since, fate };
            if is_traced {
                tracer.record(start, from, sent);
            } else {
                tracer.record_other(TraceRecord { time: start, node: from, event: sent });
            }
        }
    }

    pub(crate) fn on_drop(&mut self, now: Time, lane: LaneId, frame: &Frame) {
        self.dropped(now, |tracer| tracer.ends[lane.index()].0, frame, TraceDropReason::Buffer);
    }

    pub(crate) fn on_ttl(&mut self, now: Time, node: NodeId, frame: &Frame) {
        self.dropped(now, |_| node, frame, TraceDropReason::Ttl);
    }

    pub(crate) fn on_no_route(&mut self, now: Time, node: NodeId, frame: &Frame) {
        self.dropped(now, |_| node, frame, TraceDropReason::NoRoute);
    }

    pub(crate) fn on_post(&mut self, now: Time, src: HostId, serial: u32, flow: FlowId, bytes: u32) {
        if let Some(tracer) = &mut self.tracer
            && tracer.flow == flow
        {
            tracer.connection = Some((src, serial));
            tracer.record(now, NodeId(src.0), TraceEvent::Posted { bytes: u64::from(bytes) });
        }
    }

    /// Records how a responder handled a request.
    #[inline]
    pub(crate) fn on_request(
        &mut self,
        now: Time,
        frame: &Frame,
        outcome: &engine::RequestOutcome,
        expected: Psn,
    ) {
        if self.tracer.is_some() {
            self.record_request(now, frame, outcome, expected);
        }
    }

    fn record_request(&mut self, now: Time, frame: &Frame, outcome: &engine::RequestOutcome, expected: Psn) {
        let Some(tracer) = &mut self.tracer else { return };
        let Some(packet) = tracer.traced_packet(frame) else { return };
        let (node, psn) = (NodeId(frame.dst.0), packet.psn());
        match outcome {
            engine::RequestOutcome::Accepted { .. } => tracer.record(now, node, TraceEvent::Accepted { psn }),
            engine::RequestOutcome::Duplicate => tracer.record(now, node, TraceEvent::Duplicate { psn }),
            engine::RequestOutcome::Gap { nak } => {
                tracer.record(now, node, TraceEvent::Gap { psn, expected });
                if *nak {
                    tracer.record(now, node, TraceEvent::NakSent { expected });
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
            tracer.record(now, NodeId(host.0), TraceEvent::TimerFired { oldest: expiry.oldest, cause: None });
        }
    }

    /// Records that the rate of a connection holds its next packet back.
    #[inline]
    pub(crate) fn on_paced(&mut self, now: Time, host: HostId, serial: u32, until: Time) {
        if let Some(tracer) = &mut self.tracer
            && tracer.connection == Some((host, serial))
            && !tracer.ended
        {
            tracer.record(now, NodeId(host.0), TraceEvent::Paced { until });
        }
    }

    /// Records the window that congestion control allows a connection.
    #[inline]
    pub(crate) fn on_window(&mut self, now: Time, host: HostId, serial: u32, packets: u32) {
        if let Some(tracer) = &mut self.tracer
            && tracer.connection == Some((host, serial))
            && !tracer.ended
        {
            tracer.record(now, NodeId(host.0), TraceEvent::Window { packets });
        }
    }

    /// Records that `lane` does not start frames of a class from `from`, before `until`.
    pub(crate) fn on_pause(&mut self, now: Time, lane: LaneId, class: u8, (from, until): (Time, Time)) {
        let Some(tracer) = &mut self.tracer else { return };
        if tracer.trace.pauses.len() == RECORDS_MAX {
            tracer.trace.left_out += 1;
            return;
        }
        let (node, to) = tracer.ends[lane.index()];
        tracer.trace.pauses.push(TracedPause { node, to, class, told: now, from, until });
    }

    /// Records the cause of a timeout. It is known a little later than the timeout; causes come in the order
    /// of timeouts.
    pub(crate) fn on_cause(&mut self, serial: u32, found: &FoundCause) {
        if self.keeps_causes {
            self.causes.push(*found);
        }
        let (host, named) = (found.requester, found.cause);
        let Some(tracer) = &mut self.tracer else { return };
        if tracer.connection != Some((host, serial)) {
            return;
        }
        for record in &mut tracer.trace.records {
            if let TraceEvent::TimerFired { cause: cause @ None, .. } = &mut record.event {
                *cause = Some(named);
                return;
            }
        }
    }

    pub(crate) fn on_end(&mut self, now: Time, host: HostId, flow: FlowId, outcome: FlowOutcome) {
        if let Some(tracer) = &mut self.tracer
            && tracer.flow == flow
        {
            let what =
                if outcome.is_finished() { TraceEvent::Completed } else { TraceEvent::Failed { outcome } };
            tracer.ended = true;
            tracer.trace.records.push(TraceRecord { time: now, node: NodeId(host.0), event: what });
        }
    }

    fn dropped(
        &mut self,
        now: Time,
        node: impl FnOnce(&Tracer) -> NodeId,
        frame: &Frame,
        why: TraceDropReason,
    ) {
        if let Some(tracer) = &mut self.tracer
            && let Some(packet) = tracer.traced_packet(frame)
        {
            let node = node(tracer);
            tracer.record(now, node, TraceEvent::Dropped { packet: describe(frame, packet), reason: why });
        }
    }
}

impl Tracer {
    /// Returns the packet, if it belongs to the traced connection.
    fn traced_packet<'a>(&self, frame: &'a Frame) -> Option<&'a Packet> {
        let (host, serial) = self.connection?;
        let packet = frame.packet()?;
        let requester = if packet.is_response() { frame.dst } else { frame.src };
        (!self.ended && requester == host && frame.serial == serial).then_some(packet)
    }

    fn record(&mut self, time: Time, node: NodeId, what: TraceEvent) {
        if self.trace.records.len() < RECORDS_MAX {
            self.trace.records.push(TraceRecord { time, node, event: what });
        } else {
            self.trace.left_out += 1;
        }
    }

    fn records_others(&self) -> bool {
        self.with_others && self.connection.is_some() && !self.ended
    }

    fn record_other(&mut self, record: TraceRecord) {
        if self.trace.others.len() < OTHERS_MAX {
            self.trace.others.push(record);
        } else {
            self.trace.others_left_out += 1;
        }
    }

    /// Returns since when the port of a lane has sent without a break when it starts a frame.
    fn record_busy(&mut self, lane: LaneId, start: Time, done: Time) -> Time {
        let (since, until) = &mut self.busy[lane.index()];
        if *until < start {
            *since = start;
        }
        *until = done;
        *since
    }
}

/// Describes a frame of any kind.
fn describe_frame(frame: &Frame) -> TracePacket {
    if let Some(packet) = frame.packet() {
        return describe(frame, packet);
    }
    TracePacket {
        name: if matches!(frame.body, Body::Raw(_)) { "frame" } else { "link control" },
        psn: Psn::new(0),
        kind: PacketKind::Control,
        retransmission: false,
        number: frame.ip_id,
        class: frame.class(),
        bytes: frame.len,
        src: frame.src,
        dst: frame.dst,
    }
}

fn describe(frame: &Frame, packet: &Packet) -> TracePacket {
    let kind = match packet {
        _ if packet.is_nak() => PacketKind::Nak,
        _ if packet.is_dummy() => PacketKind::Dummy,
        Packet::Rc(packet) if packet.aeth().is_some() && packet.payload_len == 0 => PacketKind::Ack,
        Packet::Rc(_) => PacketKind::Data,
        Packet::Dcp(packet) if packet.is_data() => PacketKind::Data,
        Packet::Dcp(_) => PacketKind::Ack,
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
    TracePacket {
        name,
        psn: packet.psn(),
        kind,
        retransmission,
        number: frame.ip_id,
        class: frame.class(),
        bytes: frame.len,
        src: frame.src,
        dst: frame.dst,
    }
}
