//! The responder's side of connections.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasherDefault;

use wiremend_measure::TimeoutCause;
use wiremend_proto::cc::dcqcn::CnpLimiter;
use wiremend_proto::cc::{AckFeedback, Feedback};
use wiremend_proto::engine::{Expiry, Message, Op, RequestOutcome, StateVisitor};
use wiremend_proto::{Packet, rc, sr};
use wiremend_units::{HostId, Psn, QpNum, Span, Time};
use wiremend_wire::Ecn;

use super::nic::SenderId;
use super::processor::Arrival;
use super::protocol_engine::ResponderEngine;
use super::timeout_cause;
use super::{Context, Host};
use crate::frame::{Frame, connection_sequence};
use crate::memory::{MixHasher, reserve_first};
use crate::network::{ConnectionPath, DeliveryNotice, NoticeKind, TransportProtocol};

/// A connection that ends at this host.
pub(super) struct ResponderConnection {
    pub(super) responder: ResponderEngine,
    pub(super) peer: HostId,
    /// The destination QP number of its requests.
    qp: QpNum,
    pub(super) serial: u32,
    /// The requester's number of the connection.
    requester: QpNum,
    port: u16,
    pub(super) entropy: u16,
    pub(super) path: ConnectionPath,
    /// The class of the last request; responses use it too.
    pub(super) class: u8,
    /// Segments since the last message that a link had to retransmit.
    pub(super) link_retransmits: u16,
    cnp_limiter: CnpLimiter,
    /// The PSN after the last READ response sent for the first time.
    pub(super) next_new_response: Option<Psn>,
    /// Feedback that the next response carries to the requester, if its congestion control needs any.
    pub(super) echo: Option<Box<Feedback>>,
    /// Whether it is in one of the NIC's rings.
    pub(super) queued: bool,
    /// Whether the requester has not closed it.
    open: bool,
    /// The time of its entry in the host's timers, or [`Time::MAX`].
    pub(super) timer_at: Time,
}

impl ResponderConnection {
    pub(super) fn new(
        (peer, qp): (HostId, QpNum),
        requester: QpNum,
        serial: u32,
        port: u16,
        class: u8,
        responder: ResponderEngine,
    ) -> Self {
        Self {
            responder,
            peer,
            qp,
            serial,
            requester,
            port,
            entropy: 0,
            path: ConnectionPath::default(),
            class,
            link_retransmits: 0,
            cnp_limiter: CnpLimiter::default(),
            next_new_response: None,
            echo: None,
            queued: false,
            open: true,
            timer_at: Time::MAX,
        }
    }

    /// Visits the state, if it may still change.
    pub(super) fn visit_state(&mut self, visitor: &mut impl StateVisitor) {
        visitor.exact(self.serial);
        visitor.exact(u64::from(self.open) << 1 | u64::from(self.queued));
        if !self.open && !self.queued {
            return;
        }
        visitor.absent(self.echo.is_none() && self.next_new_response.is_none());
        visitor.exact(self.entropy);
        visitor.exact(u64::from(self.class) << 16 | u64::from(self.link_retransmits));
        match &mut self.responder {
            ResponderEngine::GoBack(responder) => {
                responder.visit_state(visitor, connection_sequence(self.peer, self.serial));
            }
            _ => visitor.absent(false),
        }
    }

    /// Stores the feedback of a request for the next response. If one response answers several requests, it
    /// carries the newest feedback, and the marks of all.
    #[cold]
    fn keep_echo(&mut self, mut feedback: Box<Feedback>, is_marked: bool) {
        let was_marked = self.echo.take().is_some_and(|echo| echo.is_marked);
        feedback.on_arrival(is_marked || was_marked);
        self.echo = Some(feedback);
    }
}

/// All connections that end here, by peer and QP number. The map is never iterated.
#[derive(Default)]
pub(super) struct ResponderTable {
    slots: Vec<ResponderConnection>,
    free: Vec<u32>,
    by_peer: HashMap<u64, u32, BuildHasherDefault<MixHasher>>,
    /// The slot that was found last.
    last: u32,
}

impl ResponderTable {
    pub(super) fn open(&mut self, connection: ResponderConnection) {
        let key = key(connection.peer, connection.qp);
        let slot = if let Some(slot) = self.free.pop() {
            let queued = self.slots[slot as usize].queued;
            self.slots[slot as usize] = ResponderConnection { queued, ..connection };
            slot
        } else {
            reserve_first!(self.slots);
            self.slots.push(connection);
            self.slots.len() as u32 - 1
        };
        self.by_peer.insert(key, slot);
    }

    /// Closes a connection. Returns the steps of its out-of-order tracking.
    pub(super) fn close(&mut self, peer: HostId, qp: QpNum, serial: u32) -> Option<sr::TrackingCost> {
        if let Some(slot) = self.by_peer.get(&key(peer, qp)).copied()
            && self.slots[slot as usize].serial == serial
        {
            self.by_peer.remove(&key(peer, qp));
            self.free.push(slot);
            self.slots[slot as usize].timer_at = Time::MAX;
            self.slots[slot as usize].open = false;
            return self.slots[slot as usize].responder.tracking_cost();
        }
        None
    }

    pub(super) fn visit_state(&mut self, visitor: &mut impl StateVisitor) {
        visitor.length(self.slots.len());
        visitor.length(self.free.len());
        for connection in &mut self.slots {
            connection.visit_state(visitor);
        }
    }

    pub(super) fn steps_of_open(&self) -> impl Iterator<Item = sr::TrackingCost> {
        let free: BTreeSet<u32> = self.free.iter().copied().collect();
        let open = self.slots.iter().zip(0..).filter(move |(_, slot)| !free.contains(slot));
        open.filter_map(|(connection, _)| connection.responder.tracking_cost())
    }

    pub(super) fn cause(&self, peer: HostId, qp: QpNum, serial: u32, expiry: &Expiry) -> TimeoutCause {
        match self.by_peer.get(&key(peer, qp)).map(|slot| &self.slots[*slot as usize]) {
            Some(connection) if connection.serial == serial => {
                let (expected, nak_sent) = connection.responder.path_state(expiry.path);
                timeout_cause::classify(expiry, expected, nak_sent)
            }
            _ => TimeoutCause::Other,
        }
    }

    /// Returns whether the connection that had this slot is still open.
    pub(super) fn is_open(&self, slot: u32, serial: u32) -> bool {
        let connection = &self.slots[slot as usize];
        connection.open && connection.serial == serial
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut ResponderConnection {
        &mut self.slots[slot as usize]
    }

    #[inline]
    pub(super) fn first(&self) -> Option<&ResponderConnection> {
        self.slots.first()
    }

    #[inline]
    pub(super) fn find(&mut self, peer: HostId, qp: QpNum) -> Option<u32> {
        let is_last = |slot: &ResponderConnection| slot.open && slot.peer == peer && slot.qp == qp;
        if !self.slots.get(self.last as usize).is_some_and(is_last) {
            self.last = *self.by_peer.get(&key(peer, qp))?;
        }
        Some(self.last)
    }
}

impl Host {
    /// Handles a request: data or a READ request.
    #[inline]
    pub(super) fn on_request(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        let Some(slot) = self.responders.find(frame.src, packet.dest_qp()) else {
            self.counters.late_frames += 1;
            return;
        };
        let connection = self.responders.get_mut(slot);
        if connection.serial != frame.serial {
            self.counters.late_frames += 1;
            return;
        }
        let transport = &cx.net.transport;
        let marked = frame.ecn() == Ecn::Ce;
        let outcome = connection.responder.on_request(transport, cx.now, packet, marked);
        connection.entropy = frame.entropy;
        if transport.needs.ack_feedback != AckFeedback::None
            && let Some(feedback) = cx.lanes.feedback.take()
        {
            connection.keep_echo(feedback, marked);
        }
        if packet.is_trimmed() {
            self.counters.headers_bounced += u64::from(outcome == RequestOutcome::Gap { nak: true });
            self.counters.headers_returned += u64::from(packet.is_read_data());
        } else if !matches!(packet, Packet::Dcp(packet) if !packet.is_data()) {
            connection.class = frame.class();
        }
        cx.lanes.recorder.on_request(cx.now, frame, &outcome, connection.responder.expected());
        match outcome {
            RequestOutcome::Accepted { completed: Some(message), .. } if !packet.is_dummy() => {
                self.on_message(cx, slot, message);
            }
            RequestOutcome::Duplicate => self.counters.duplicates += 1,
            _ => {}
        }
        if self.responders.get_mut(slot).responder.has_messages() {
            self.on_messages(cx, slot);
        }
        let owed = self.responders.get_mut(slot).responder.take_pulls_owed();
        if owed > 0 {
            self.queue_pulls(cx, slot, owed);
        }
        if transport.trimmable && transport.op == Op::Read {
            self.arm_ack_timer(cx, slot);
        }
        let connection = self.responders.get_mut(slot);
        if connection.responder.has_output() {
            let ring = self.nic.ring(connection.class);
            if !transport.coalesce_acks && !connection.responder.has_read_responses() {
                let answer = connection.responder.poll_transmit(transport).expect("has_output was true");
                let answer = super::nic::response_frame(self.id, connection, answer, cx.net);
                ring.control.push_back(answer);
                if transport.needs.ack_feedback != AckFeedback::None {
                    ring.echoes.push_back(connection.echo.take());
                }
            }
            if connection.responder.has_output() && !connection.queued {
                connection.queued = true;
                if connection.responder.has_read_responses() {
                    ring.ready.push_back(SenderId::responder(slot));
                } else {
                    ring.acks.push_back(slot);
                }
            }
            self.try_send(cx);
        }
        if marked && !matches!(packet, Packet::Tcp(_)) {
            self.on_mark(cx, slot);
        }
    }

    /// Handles the messages that a request has completed by filling a gap.
    #[inline(never)]
    fn on_messages(&mut self, cx: &mut Context<'_>, slot: u32) {
        while let Some(message) = self.responders.get_mut(slot).responder.poll_message() {
            self.on_message(cx, slot, message);
        }
    }

    /// Handles a marked packet: sends a CNP if one is due.
    #[cold]
    fn on_mark(&mut self, cx: &mut Context<'_>, slot: u32) {
        let transport = &cx.net.transport;
        let Some(interval) = transport.needs.cnp_interval else { return };
        let connection = self.responders.get_mut(slot);
        if !connection.cnp_limiter.on_mark(cx.now, interval) {
            return;
        }
        let packet = Packet::Rc(rc::Packet::cnp(connection.requester));
        let answer = super::nic::response_frame(self.id, connection, (packet, 0), cx.net);
        let class = transport.cnp_class.unwrap_or(answer.class());
        self.counters.cnps_sent += 1;
        let ring = self.nic.ring(class);
        ring.control.push_back(answer.with_class(class));
        if transport.needs.ack_feedback != AckFeedback::None {
            ring.echoes.push_back(None);
        }
        self.try_send(cx);
    }

    #[inline(never)]
    fn on_message(&mut self, cx: &mut Context<'_>, slot: u32, message: Message) {
        let connection = self.responders.get_mut(slot);
        let (peer, port) = (connection.peer, connection.port);
        let (requester, serial) = (connection.requester, connection.serial);
        let link_retransmits = std::mem::take(&mut connection.link_retransmits);
        if message.op == Op::Read {
            return;
        }
        self.counters.delivered_bytes += u64::from(message.len);
        self.counters.delivered_messages += 1;
        let delivered =
            DeliveryNotice { requester, serial, message: message.msn, link_retransmits, at: cx.now };
        self.send_notice(cx, peer, NoticeKind::Delivered(delivered));
        if let Some(index) = self.apps.iter().position(|placed| placed.port == port) {
            if cx.net.transport.host_delay.is_some() && self.apps[index].protocol == TransportProtocol::Rdma {
                self.defer(cx, Span::ZERO, Arrival::Message { app: index, from: peer });
            } else {
                self.with_app(cx, index, |app, now, actions| app.on_receive(now, peer, actions));
            }
        }
    }
}

#[inline]
fn key(peer: HostId, qp: QpNum) -> u64 {
    u64::from(peer.0) << 32 | u64::from(qp.get())
}
