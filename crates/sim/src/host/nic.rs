//! The NIC port of a host: it chooses the next frame.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wiremend_measure::TimeoutCause;
use wiremend_proto::cc::{AckFeedback, Feedback, SentPacket};
use wiremend_proto::dcp::PullQueue;
use wiremend_proto::engine::{Expiry, Op, Purpose, StateKind, StateVisitor};
use wiremend_proto::{Packet, rc};
use wiremend_units::{Bytes, HostId, LaneId, Psn, Time};
use wiremend_wire::{Ecn, Opcode};

use super::raw_queue::RawQueue;
use super::responder::ResponderConnection;
use super::{Context, Host};
use crate::app::RawFrame;
use crate::frame::{self, Body, Frame, PathPorts, Tags, TrimState};
use crate::memory::{prefetch_all, reserve_first};
use crate::network::{FlowKey, Network};
use crate::port::{ClassPauses, PauseWindow};

pub(super) struct Nic {
    uplink: LaneId,
    ip_id: u16,
    /// Connections with something to send, one ring per class; usually there is one class.
    rings: Vec<ClassRing>,
    last_ring: usize,
    /// Requesters that wait for their pacing, by the time at which they may send.
    paced: BinaryHeap<Reverse<(Time, u32)>>,
    /// Pulls owed to senders, if a protocol uses them.
    pulls: Option<Box<PullQueue<(u32, u32)>>>,
    /// Frames of open-loop loads; allocated at the first one.
    raw: Option<Box<RawQueue>>,
    /// Pauses of classes; allocated at the first one.
    pauses: Option<Box<ClassPauses>>,
    /// Feedback that the next frame carries to a requester.
    echo: Option<Box<Feedback>>,
}

/// The connections of one class that have something to send.
pub(super) struct ClassRing {
    class: u8,
    /// Acknowledgements and CNPs that are already made.
    pub(super) control: VecDeque<Frame>,
    /// Feedback of each of these frames; empty if no congestion control needs it.
    pub(super) echoes: VecDeque<Option<Box<Feedback>>>,
    /// Responders whose acknowledgement is made when it is sent, so that a newer one can replace it.
    pub(super) acks: VecDeque<u32>,
    pub(super) ready: VecDeque<SenderId>,
}

impl ClassRing {
    fn new(class: u8) -> Self {
        Self {
            class,
            control: VecDeque::new(),
            echoes: VecDeque::new(),
            acks: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    #[inline]
    fn has_work(&self) -> bool {
        !self.ready.is_empty() || !self.control.is_empty() || !self.acks.is_empty()
    }
}

/// A half of a connection with something to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderId(pub(super) u32);

pub(super) enum Half {
    Requester(u32),
    Responder(u32),
}

impl SenderId {
    const RESPONDER: u32 = 1 << 31;

    pub(super) const fn requester(slot: u32) -> Self {
        Self(slot)
    }

    pub(super) const fn responder(slot: u32) -> Self {
        Self(slot | Self::RESPONDER)
    }

    #[inline]
    pub(super) const fn half(self) -> Half {
        if self.0 & Self::RESPONDER == 0 {
            Half::Requester(self.0)
        } else {
            Half::Responder(self.0 & !Self::RESPONDER)
        }
    }
}

impl Nic {
    pub(super) fn new(uplink: LaneId) -> Self {
        Self {
            uplink,
            ip_id: 0,
            rings: Vec::new(),
            last_ring: 0,
            paced: BinaryHeap::new(),
            pulls: None,
            raw: None,
            pauses: None,
            echo: None,
        }
    }

    /// Visits the state. `frames` names the sequence of the frames that the port sends.
    pub(super) fn visit_state(&mut self, visitor: &mut impl StateVisitor, frames: u64) {
        let kind = StateKind::Sequence { of: frames, bits: 16, room: u64::MAX };
        self.ip_id = visitor.visit(kind, self.ip_id.into()) as u16;
        let has_others = self.pulls.is_some() || self.raw.is_some() || self.pauses.is_some();
        visitor.absent(!has_others && self.echo.is_none() && self.paced.is_empty());
        visitor.length(self.last_ring);
        visitor.length(self.rings.len());
        for ring in &mut self.rings {
            visitor.exact(ring.class);
            visitor.absent(ring.echoes.is_empty());
            visitor.length(ring.control.len());
            visitor.length(ring.acks.len());
            visitor.length(ring.ready.len());
            // The port numbers a frame when it sends it.
            ring.control.iter_mut().for_each(|frame| frame.visit_state(visitor, None));
            ring.acks.iter().for_each(|slot| visitor.exact(*slot));
            ring.ready.iter().for_each(|sender| visitor.exact(sender.0));
        }
    }

    #[inline]
    pub(super) fn prefetch_ring(&self) {
        if let Some(ring) = self.rings.first() {
            prefetch_all(ring);
        }
    }

    /// Prefetches the next response that is already made.
    #[inline]
    pub(super) fn prefetch_control(&self) {
        self.rings.first().and_then(|ring| ring.control.front()).inspect(|frame| prefetch_all(*frame));
    }

    #[inline]
    fn has_work(&self) -> bool {
        self.connections_have_work() || self.raw.as_ref().is_some_and(|raw| !raw.is_empty())
    }

    #[inline]
    fn connections_have_work(&self) -> bool {
        match self.rings.as_slice() {
            [only] => only.has_work(),
            several => several.iter().any(ClassRing::has_work),
        }
    }

    #[inline]
    pub(super) fn ring(&mut self, class: u8) -> &mut ClassRing {
        let index = match self.rings.first() {
            Some(first) if first.class == class => 0,
            _ => self.ring_index(class),
        };
        &mut self.rings[index]
    }

    #[cold]
    fn ring_index(&mut self, class: u8) -> usize {
        self.rings.iter().position(|ring| ring.class == class).unwrap_or_else(|| {
            reserve_first!(self.rings);
            self.rings.push(ClassRing::new(class));
            self.rings.len() - 1
        })
    }

    #[inline]
    fn is_paused(&self, class: u8, at: Time) -> bool {
        self.pauses.as_ref().is_some_and(|pauses| pauses.is_paused(class, at))
    }

    /// Returns when a frame may start, if the port is free from `free_at` on.
    #[inline]
    fn next_start(&self, free_at: Time) -> Option<Time> {
        if let Some(pauses) = &self.pauses {
            return self.next_start_with(pauses, free_at);
        }
        if self.has_work() { Some(free_at) } else { self.next_paced().map(|time| free_at.max(time)) }
    }

    /// A connection that waits for its pacing is checked when that is over, and may find its class paused.
    #[cold]
    fn next_start_with(&self, pauses: &ClassPauses, free_at: Time) -> Option<Time> {
        let rings = self.rings.iter().filter(|ring| ring.has_work()).map(|ring| ring.class);
        let raw = self.raw.iter().flat_map(|raw| raw.classes());
        let starts = rings.chain(raw).map(|class| pauses.earliest_start(class, free_at));
        let paced = self.next_paced().map(|time| free_at.max(time));
        starts.chain(paced).min().filter(|start| *start < Time::MAX)
    }

    #[inline]
    fn next_paced(&self) -> Option<Time> {
        let paced = self.paced.peek().map(|Reverse((time, _))| *time);
        match &self.pulls {
            None => paced,
            Some(pulls) => Some(pulls.due().min(paced.unwrap_or(Time::MAX))).filter(|time| *time < Time::MAX),
        }
    }
}

impl Host {
    /// Sends the next frame if the port is free, or schedules it for when the port becomes free.
    #[inline]
    pub(super) fn try_send(&mut self, cx: &mut Context<'_>) {
        if !self.nic.has_work() {
            return;
        }
        let free_at = cx.lanes.ports[self.nic.uplink.index()].busy_until;
        if free_at <= cx.now {
            self.send_next(cx);
        } else {
            let source = cx.lanes.sources.port_free(self.nic.uplink);
            cx.lanes.queue.arm_by(source, free_at);
        }
    }

    /// Handles the event that the port is free or a paced connection may send.
    #[inline]
    pub(crate) fn on_port_free(&mut self, cx: &mut Context<'_>) {
        while let Some(Reverse((time, slot))) = self.nic.paced.peek().copied()
            && time <= cx.now
        {
            self.nic.paced.pop();
            let connection = &mut self.connections[slot as usize];
            if connection.paced_at == time {
                connection.paced_at = Time::MAX;
                let class = connection.class;
                self.nic.ring(class).ready.push_back(SenderId::requester(slot));
            }
        }
        if self.nic.pulls.is_some() {
            self.grant_pulls(cx);
        }
        if cx.lanes.ports[self.nic.uplink.index()].busy_until <= cx.now {
            self.send_next(cx);
        } else {
            self.arm_port(cx);
        }
    }

    /// Queues the pulls owed to the sender of a connection. They are sent at the rate at which the port can
    /// receive the data.
    #[cold]
    pub(super) fn queue_pulls(&mut self, cx: &mut Context<'_>, slot: u32, owed: u32) {
        let serial = self.responders.get_mut(slot).serial;
        let pulls = self.nic.pulls.get_or_insert_default();
        (0..owed).for_each(|_| pulls.push((slot, serial)));
        self.grant_pulls(cx);
        self.arm_port(cx);
    }

    /// Sends the pulls that are due with the acknowledgements.
    fn grant_pulls(&mut self, cx: &Context<'_>) {
        let Some(pulls) = &mut self.nic.pulls else { return };
        let full = rc::frame_len(Opcode::WriteOnly, cx.net.transport.config.mtu);
        let line = cx.net.lanes[self.nic.uplink.index()].rate;
        let spacing = line.serialize(Bytes::new(u64::from(full) + frame::GAP_BYTES));
        // Closed connections need no pulls.
        let wanted = |&(slot, serial): &(u32, u32)| self.responders.is_open(slot, serial);
        let Some((slot, _)) = pulls.pop(cx.now, spacing, wanted) else { return };
        let connection = self.responders.get_mut(slot);
        connection.responder.grant_pull();
        let class = connection.class;
        if !std::mem::replace(&mut connection.queued, true) {
            self.nic.ring(class).acks.push_back(slot);
        }
    }

    fn send_next(&mut self, cx: &mut Context<'_>) {
        if let Some(mut frame) = self.next_frame(cx) {
            frame.ip_id = self.nic.ip_id;
            self.nic.ip_id = self.nic.ip_id.wrapping_add(1);
            self.counters.tx_frames += 1;
            let len = u64::from(frame.len);
            match frame.purpose() {
                Purpose::New if frame.packet().is_some_and(Packet::is_nak) => {
                    self.counters.extra_bytes += len;
                }
                Purpose::New => {}
                other => self.count_extra(other, len),
            }
            if cx.net.transport.needs.ack_feedback == AckFeedback::None {
                cx.lanes.send(cx.now, self.nic.uplink, frame);
            } else {
                self.send_with_feedback(cx, frame);
            }
        }
        self.arm_port(cx);
    }

    /// Requests of RDMA connections carry new feedback; responses carry the echoed one.
    #[inline(never)]
    fn send_with_feedback(&mut self, cx: &mut Context<'_>, frame: Frame) {
        let asks = match frame.packet() {
            Some(Packet::Rc(packet)) => !packet.opcode.is_response() && packet.opcode != Opcode::Cnp,
            Some(Packet::Tcp(_)) | None => false,
            Some(packet) => !packet.is_response(),
        };
        let feedback = self.nic.echo.take().or_else(|| asks.then(|| Box::new(Feedback::new(cx.now))));
        let id = cx.lanes.frames.insert(frame);
        if let Some(feedback) = feedback {
            cx.lanes.frames.attach(id, feedback);
        }
        cx.lanes.transmit(cx.now, self.nic.uplink, id);
    }

    #[cold]
    fn count_extra(&mut self, purpose: Purpose, len: u64) {
        self.counters.extra_bytes += len;
        match purpose {
            Purpose::New => {}
            Purpose::Retransmission => {
                self.counters.retransmitted_packets += 1;
                self.counters.retransmitted_bytes += len;
            }
            Purpose::Dummy => self.counters.extra_frames.dummies.add(len),
            Purpose::Repeat => self.counters.extra_frames.repeats.add(len),
        }
    }

    /// Schedules the time at which the port is free and has something to send.
    #[inline]
    fn arm_port(&mut self, cx: &mut Context<'_>) {
        let free_at = cx.lanes.ports[self.nic.uplink.index()].busy_until.max(cx.now);
        if let Some(due) = self.nic.next_start(free_at) {
            let source = cx.lanes.sources.port_free(self.nic.uplink);
            cx.lanes.queue.arm_by(source, due);
        }
    }

    pub(crate) fn pause(&mut self, cx: &mut Context<'_>, class: u8, window: PauseWindow) {
        self.nic.pauses.get_or_insert_with(|| Box::new(ClassPauses::new())).pause(class, window);
        self.arm_port(cx);
    }

    fn next_frame(&mut self, cx: &mut Context<'_>) -> Option<Frame> {
        let rings = self.nic.rings.len();
        let mut index = self.nic.last_ring;
        for _ in 0..rings {
            // Classes are served round robin.
            index = if index + 1 >= rings { 0 } else { index + 1 };
            if !self.nic.is_paused(self.nic.rings[index].class, cx.now)
                && let Some(frame) = self.next_of_ring(cx, index)
            {
                self.nic.last_ring = index;
                return Some(frame);
            }
        }
        let Nic { raw, pauses, .. } = &mut self.nic;
        let is_open = |class| !pauses.as_ref().is_some_and(|pauses| pauses.is_paused(class, cx.now));
        raw.as_mut()?.pop(is_open)
    }

    #[inline]
    fn next_of_ring(&mut self, cx: &mut Context<'_>, index: usize) -> Option<Frame> {
        if let Some(frame) = self.nic.rings[index].control.pop_front() {
            if cx.net.transport.needs.ack_feedback != AckFeedback::None {
                self.nic.echo = self.nic.rings[index].echoes.pop_front().flatten();
            }
            return Some(frame);
        }
        let transport = &cx.net.transport;
        while let Some(slot) = self.nic.rings[index].acks.pop_front() {
            let connection = self.responders.get_mut(slot);
            let packet = connection.responder.poll_transmit(transport);
            connection.queued = connection.responder.has_output();
            if connection.queued {
                self.nic.rings[index].ready.push_back(SenderId::responder(slot));
            }
            if let Some(packet) = packet {
                if transport.needs.ack_feedback != AckFeedback::None {
                    self.nic.echo = connection.echo.take();
                }
                return Some(response_frame(self.id, connection, packet, cx.net));
            }
        }
        while let Some(sender) = self.nic.rings[index].ready.pop_front() {
            let frame = match sender.half() {
                Half::Requester(slot) => self.next_request(cx, slot, index),
                Half::Responder(slot) => self.next_response(cx, slot, index),
            };
            if frame.is_some() {
                return frame;
            }
        }
        None
    }

    #[inline]
    fn next_request(&mut self, cx: &mut Context<'_>, slot: u32, index: usize) -> Option<Frame> {
        let transport = &cx.net.transport;
        let connection = &mut self.connections[slot as usize];
        let is_urgent = connection.requester.is_urgent(transport, cx.now);
        if let Some(control) = connection.control.as_ref().filter(|_| !is_urgent) {
            let eligible = control.eligible();
            if eligible > cx.now {
                connection.paced_at = eligible;
                self.nic.paced.push(Reverse((eligible, slot)));
                cx.lanes.recorder.on_paced(cx.now, self.id, connection.serial, eligible);
                return None;
            }
        }
        let Some(transmit) = connection.requester.poll_transmit(transport, cx.now) else {
            connection.queued = false;
            return None;
        };
        let len = transport.frame_len(&transmit.packet);
        if let Some(control) = connection.control.as_mut().filter(|_| !is_urgent) {
            control.on_transmit(
                cx.now,
                SentPacket {
                    wire_bytes: u32::from(len) + frame::GAP_BYTES as u32,
                    number: connection.requester.next_number() - 1,
                    is_retransmission: transmit.purpose != Purpose::New,
                },
            );
        }
        let key = FlowKey { src: self.id, dst: connection.dst, entropy: connection.entropy ^ transmit.path };
        let is_ready = connection.requester.ready(transport, cx.now);
        let frame = Frame {
            body: Body::Packet(transmit.packet),
            src: self.id,
            dst: connection.dst,
            serial: connection.serial,
            len,
            ip_id: 0,
            entropy: key.entropy,
            tags: Tags::new(connection.class, connection.requester.ecn(transport), transmit.purpose),
            ttl: transport.ttl,
            copy: transmit.copy,
            bounces: 0,
            has_header: false,
            ports: connection.path.next(cx.net, key, is_ready),
            trimmed: transport.trimmable && transmit.packet.is_trimmed(),
        };
        if is_ready {
            self.nic.rings[index].ready.push_back(SenderId::requester(slot));
        } else {
            connection.queued = false;
        }
        self.arm_timer(cx, slot);
        Some(frame)
    }

    fn next_response(&mut self, cx: &mut Context<'_>, slot: u32, index: usize) -> Option<Frame> {
        let transport = &cx.net.transport;
        let connection = self.responders.get_mut(slot);
        let packet = connection.responder.poll_transmit(transport);
        self.nic.echo = connection.echo.take();
        let frame = packet.map(|packet| response_frame(self.id, connection, packet, cx.net));
        if connection.responder.has_output() {
            self.nic.rings[index].ready.push_back(SenderId::responder(slot));
        } else {
            connection.queued = false;
        }
        if transport.trimmable && transport.op == Op::Read {
            // The data have a timer here.
            if let Some(expiry) = connection.responder.take_expiry() {
                self.on_read_timeout(cx, slot, &expiry);
            }
            self.arm_ack_timer(cx, slot);
        }
        frame
    }

    /// Handles a timeout of the data of a READ.
    #[cold]
    fn on_read_timeout(&mut self, cx: &mut Context<'_>, slot: u32, expiry: &Expiry) {
        self.counters.timeouts.add(TimeoutCause::Other);
        let connection = self.responders.get_mut(slot);
        cx.lanes.recorder.on_timer(cx.now, connection.peer, connection.serial, expiry);
    }

    /// Sends one frame of an open-loop load.
    pub(super) fn send_raw(&mut self, cx: &mut Context<'_>, raw: RawFrame) {
        let frame = Frame {
            body: Body::Raw(if raw.trimmable { TrimState::Trimmable } else { TrimState::Whole }),
            src: self.id,
            dst: raw.dst,
            serial: 0,
            len: raw.len,
            ip_id: 0,
            entropy: 0xC000 | raw.dst.0 as u16 & 0x3FFF,
            tags: Tags::new(raw.class, Ecn::Ect0, Purpose::New),
            ttl: raw.ttl,
            copy: 0,
            bounces: 0,
            has_header: false,
            ports: PathPorts::default(),
            trimmed: false,
        };
        if self.nic.raw.get_or_insert_default().push(frame) {
            self.try_send(cx);
        } else {
            self.counters.raw_refused += 1;
        }
    }
}

/// Makes the frame of a response. `path` is the difference of its path to that of the last received frame.
#[inline]
pub(super) fn response_frame(
    from: HostId,
    connection: &mut ResponderConnection,
    (packet, path): (Packet, u16),
    net: &Network,
) -> Frame {
    let key = FlowKey { src: from, dst: connection.peer, entropy: connection.entropy ^ path };
    let (copy, ecn) = match &packet {
        packet if packet.is_read_data() && !packet.is_trimmed() => {
            (copy_of_response(connection, packet.psn()), Ecn::Ect0)
        }
        _ => (0, Ecn::NotEct),
    };
    let trimmed = packet.is_trimmed();
    Frame {
        body: Body::Packet(packet),
        src: from,
        dst: connection.peer,
        serial: connection.serial,
        len: net.transport.frame_len(&packet),
        ip_id: 0,
        entropy: key.entropy,
        tags: Tags::new(connection.class, ecn, if copy > 0 { Purpose::Retransmission } else { Purpose::New }),
        ttl: net.transport.ttl,
        copy,
        bounces: 0,
        has_header: false,
        ports: connection.path.next(net, key, false),
        trimmed,
    }
}

/// Returns 1 if a READ response was sent before, otherwise 0: a responder does not count copies.
fn copy_of_response(connection: &mut ResponderConnection, psn: Psn) -> u8 {
    if connection.next_new_response.is_some_and(|next_new_response| psn.distance(next_new_response) < 0) {
        return 1;
    }
    connection.next_new_response = Some(psn.ahead(1));
    0
}
