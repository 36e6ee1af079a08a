//! The requester's side of connections: posted messages until they complete.
//!
//! Slots are reused. The serial distinguishes the connections of one slot: frames carry it, and late frames
//! of an earlier connection are counted and dropped.

use std::cmp::Reverse;
use std::collections::VecDeque;

use wiremend_measure::{FlowOutcome, FlowRow, TcpStats};
use wiremend_proto::cc::{self, Ack, Controller, Feedback};
use wiremend_proto::engine::{Completion, Op, RequesterCounters, StateVisitor, Status, Work};
use wiremend_proto::tcp::MessageRecovery;
use wiremend_proto::{Packet, rc};
use wiremend_units::{FlowId, HostId, QpNum, Span, Time, stream_seed};
use wiremend_wire::Opcode;

use super::nic::{Half, SenderId};
use super::processor::Arrival;
use super::protocol_engine::RequesterEngine;
use super::{ConnectionKey, Context, Host};
use crate::app::{FlowResult, MessageResult, PlacedApp, Post};
use crate::frame::{self, Frame, connection_sequence};
use crate::memory::reserve_first;
use crate::network::{
    ConnectionPath, DeliveryNotice, FlowKey, IdealFlow, Network, NoticeKind, TransportProtocol, purpose,
};
use crate::observe::PostedFlow;

pub(super) struct Connection {
    pub(super) requester: RequesterEngine,
    /// Congestion control; `None`: line rate.
    pub(super) control: Option<Box<dyn Controller>>,
    pub(super) dst: HostId,
    pub(super) serial: u32,
    pub(super) entropy: u16,
    pub(super) path: ConnectionPath,
    pub(super) class: u8,
    /// Port of the only application that uses it; `None` if all may use it.
    exclusive_port: Option<u16>,
    /// Its number among the connections of the pair of hosts.
    number: u16,
    /// Whether it is in the NIC's ring or waits there for its pacing.
    pub(super) queued: bool,
    open: bool,
    /// The time of its entry in the host's timers, or [`Time::MAX`].
    timer_at: Time,
    /// Time at which its pacing in the NIC is over; `MAX`: it does not wait there.
    pub(super) paced_at: Time,
    /// Posted messages that are not complete, oldest first.
    posted: VecDeque<PostedMessage>,
}

struct PostedMessage {
    app: u16,
    flow: Option<FlowId>,
    bytes: u32,
    /// Its number on the connection; dummies count too.
    message: u64,
    start: Time,
    delivered: Option<Time>,
    /// Segments of it that a link has retransmitted.
    link_retransmits: u16,
    /// The connection's counters when it was posted.
    before: RequesterCounters,
}

impl Connection {
    /// Visits the state, if it may still change. `from` is the connection's host.
    pub(super) fn visit_state(&mut self, visitor: &mut impl StateVisitor, from: HostId) {
        visitor.exact(self.serial);
        visitor.exact(u64::from(self.open) << 1 | u64::from(self.queued));
        if !self.open {
            return;
        }
        visitor.absent(self.control.is_none());
        visitor.exact(self.timer_at.as_ps());
        visitor.length(self.posted.len());
        match &mut self.requester {
            RequesterEngine::GoBack(requester) => {
                requester.visit_state(visitor, connection_sequence(from, self.serial));
            }
            _ => visitor.absent(false),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Returns whether the connection can be closed.
    #[inline]
    fn is_over(&self, shared: bool) -> bool {
        self.requester.is_error() || !shared && self.exclusive_port.is_none() && self.requester.is_idle()
    }

    /// Updates congestion control and the window after a response.
    fn update_window(&mut self, now: Time, is_nak: bool, feedback: Option<&Feedback>) {
        let Some(control) = &mut self.control else { return };
        control.on_ack(now, &Ack { acknowledged: self.requester.acknowledged(), feedback });
        if is_nak {
            control.on_nak(now);
        }
        self.requester.set_window(control.window());
    }
}

impl PostedMessage {
    fn done(
        &self,
        serial: u32,
        after: &RequesterCounters,
        recovery: Option<MessageRecovery>,
        outcome: FlowOutcome,
    ) -> MessageResult {
        let before = &self.before;
        MessageResult {
            outcome,
            connection: Some(serial),
            delivered: self.delivered,
            timeouts: after.timeouts - before.timeouts,
            naks: after.naks - before.naks,
            retransmitted_packets: (after.retransmitted_packets - before.retransmitted_packets) as u32,
            retransmitted_bytes: after.retransmitted_bytes - before.retransmitted_bytes,
            tcp: recovery.map(|recovery| tcp_row(&recovery, self.link_retransmits)),
        }
    }
}

/// Returns which of the connections of a pair of hosts carries a flow: one at random.
fn shared_number(net: &Network, post: &Post) -> u16 {
    let (queue_pairs, flow) = (u64::from(net.transport.queue_pairs), post.flow.map_or(0, |flow| flow.0));
    if queue_pairs == 1 {
        0
    } else {
        (stream_seed(net.seed, purpose::QUEUE_PAIRS, flow) % queue_pairs) as u16
    }
}

impl Host {
    /// Posts a message of an application.
    pub(super) fn post(&mut self, cx: &mut Context<'_>, app: usize, post: &Post) {
        let (port, class, protocol) = (self.apps[app].port, self.apps[app].class, self.apps[app].protocol);
        let shares = self.apps[app].app.shares_connections(cx.net.transport.per_pair);
        let exclusive_port = (!shares).then_some(port);
        let key = (post.dst, class, exclusive_port, protocol, shared_number(cx.net, post));
        let slot = match self.by_key.get(&key) {
            Some(slot) => *slot,
            None => self.open_connection(cx, key, port),
        };
        let connection = &mut self.connections[slot as usize];
        let message = connection.requester.messages() + 1;
        reserve_first!(connection.posted);
        connection.posted.push_back(PostedMessage {
            app: app as u16,
            flow: post.flow.filter(|_| post.ends_flow),
            bytes: post.bytes,
            message,
            start: cx.now,
            delivered: None,
            link_retransmits: 0,
            before: connection.requester.counters(),
        });
        cx.tally.open += u64::from(post.ends_flow);
        if let Some(flow) = post.flow {
            if let Some(watch) = &mut cx.tally.watch {
                let posted = PostedFlow { host: self.id, slot, message, flow, bytes: post.bytes };
                watch.on_post(cx.now, posted, connection.sent_bytes(&cx.net.transport));
            }
            cx.lanes.recorder.on_post(cx.now, self.id, connection.serial, flow, post.bytes);
        }
        let transport = &cx.net.transport;
        let work = Work {
            id: message,
            op: transport.op,
            len: post.bytes,
            addr: 0,
            rkey: connection.serial,
            imm: None,
        };
        connection.requester.post(transport, cx.now, work);
        self.update_connection(cx, slot);
    }

    fn open_connection(&mut self, cx: &mut Context<'_>, key: ConnectionKey, port: u16) -> u32 {
        let (dst, class, exclusive_port, protocol, number) = key;
        let transport = &cx.net.transport;
        let slot = self.free.pop().unwrap_or(self.connections.len() as u32);
        assert!(slot < QpNum::MAX / 2, "a host has room for 2^23 connections");
        self.opened += 1;
        let serial = self.opened;
        let qp = responder_qp(self.id, slot);
        let random = stream_seed(cx.net.seed ^ u64::from(serial), purpose::ENTROPY, u64::from(self.id.0));
        let entropy = 0xC000 | random as u16;
        let control = match protocol {
            TransportProtocol::Rdma => self.control(cx.net, dst, entropy),
            TransportProtocol::Tcp | TransportProtocol::Multipath(_) => None,
        };
        let mut requester =
            RequesterEngine::new(transport, protocol, qp, cx.net.first_psn(self.id, serial), random >> 16);
        if let Some(control) = &control {
            requester.set_window(control.window());
        }
        let connection = Connection {
            requester,
            control,
            dst,
            serial,
            entropy,
            path: ConnectionPath::default(),
            class,
            exclusive_port,
            number,
            queued: false,
            open: true,
            timer_at: Time::MAX,
            paced_at: Time::MAX,
            posted: VecDeque::new(),
        };
        if let Some(old) = self.connections.get_mut(slot as usize) {
            // Entries of the slot in the NIC's ring and in the timers stay valid.
            let (queued, timer_at, paced_at) = (old.queued, old.timer_at, old.paced_at);
            *old = Connection { queued, timer_at, paced_at, ..connection };
        } else {
            reserve_first!(self.connections);
            self.connections.push(connection);
        }
        if transport.per_pair || exclusive_port.is_some() {
            self.by_key.insert(key, slot);
        }
        self.send_notice(
            cx,
            dst,
            NoticeKind::Open { qp, requester: QpNum::new(slot), serial, port, class, protocol },
        );
        slot
    }

    /// Returns the congestion control of a new connection.
    fn control(&self, net: &Network, dst: HostId, entropy: u16) -> Option<Box<dyn Controller>> {
        let transport = &net.transport;
        let algorithm = transport.congestion.as_ref()?;
        let full = rc::frame_len(Opcode::WriteMiddle, transport.config.mtu);
        let key = FlowKey { src: self.id, dst, entropy };
        let hops = if transport.needs.path { net.path(key).len() as u32 - 1 } else { 0 };
        Some(algorithm.new_controller(&cc::PathProperties {
            line_rate: net.lanes[net.uplink(self.id).index()].rate,
            packet_bytes: u32::from(full) + frame::GAP_BYTES as u32,
            hops,
            round_trip: transport.longest_round_trip,
        }))
    }

    #[cold]
    pub(super) fn on_cnp(&mut self, cx: &Context<'_>, frame: &Frame, packet: &rc::Packet) {
        match self.connections.get_mut(packet.dest_qp.get() as usize) {
            Some(connection) if connection.serial == frame.serial && connection.open => {
                self.counters.cnps_received += 1;
                if let Some(control) = &mut connection.control {
                    control.on_cnp(cx.now);
                }
            }
            _ => self.counters.late_frames += 1,
        }
    }

    /// Handles a header-only packet that came back: a loss due to congestion.
    #[cold]
    pub(super) fn on_returned(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        let slot = packet.dest_qp().get();
        match self.connections.get_mut(slot as usize) {
            Some(connection) if connection.serial == frame.serial && connection.open => {
                self.counters.headers_returned += 1;
                let path = frame.entropy ^ connection.entropy;
                connection.requester.on_answer(&cx.net.transport, cx.now, packet, path);
                if cx.net.transport.needs.acks {
                    connection.update_window(cx.now, true, cx.lanes.feedback.as_deref());
                }
                self.update_connection(cx, slot);
            }
            _ => self.counters.late_frames += 1,
        }
    }

    /// Handles an acknowledgement or a READ response.
    #[inline]
    pub(super) fn on_response(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        let slot = packet.dest_qp().get();
        match self.connections.get_mut(slot as usize) {
            Some(connection) if connection.serial == frame.serial && connection.open => {
                let is_nak = packet.is_nak();
                // The header of READ data returns to their sender.
                self.counters.headers_bounced += u64::from(packet.is_trimmed());
                if is_nak {
                    let copied = frame.is_replica();
                    self.counters.naks += u64::from(!copied);
                    self.counters.nak_copies += u64::from(copied);
                }
                let path = frame.entropy ^ connection.entropy;
                connection.requester.on_answer(&cx.net.transport, cx.now, packet, path);
                if cx.net.transport.needs.acks {
                    connection.update_window(cx.now, is_nak, cx.lanes.feedback.as_deref());
                    if let Some(control) = &connection.control {
                        cx.lanes.recorder.on_window(cx.now, self.id, frame.serial, control.window());
                    }
                }
                self.update_connection(cx, slot);
            }
            _ => self.counters.late_frames += 1,
        }
    }

    /// Updates a connection after any change of its requester: completions, timer, place in the NIC's ring.
    #[inline]
    pub(super) fn update_connection(&mut self, cx: &mut Context<'_>, slot: u32) {
        let transport = &cx.net.transport;
        while let Some(completion) = self.connections[slot as usize].requester.poll_completion() {
            if transport.host_delay.is_some()
                && self.connections[slot as usize].requester.protocol() == TransportProtocol::Rdma
            {
                self.defer(cx, Span::ZERO, Arrival::Completion { slot, completion });
                continue;
            }
            self.complete(cx, slot, completion);
            if !self.connections[slot as usize].open {
                return;
            }
        }
        // Dummies may outlast the messages that they protect.
        let connection = &self.connections[slot as usize];
        if connection.posted.is_empty() && connection.is_over(cx.net.transport.per_pair) {
            self.close_connection(cx, slot);
            return;
        }
        self.arm_timer(cx, slot);
        let connection = &mut self.connections[slot as usize];
        // A packet that does not wait for pacing leaves an entry behind that the NIC ignores.
        let is_held = connection.paced_at < Time::MAX && connection.requester.is_urgent(transport, cx.now);
        if (!connection.queued || is_held) && connection.requester.ready(transport, cx.now) {
            (connection.queued, connection.paced_at) = (true, Time::MAX);
            let class = connection.class;
            self.nic.ring(class).ready.push_back(SenderId::requester(slot));
        }
        self.try_send(cx);
    }

    #[inline]
    pub(super) fn arm_timer(&mut self, cx: &mut Context<'_>, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        if let Some(due) = connection.requester.next_timeout()
            && due < connection.timer_at
        {
            // A timer that is overdue behind an older one is due when that one is done.
            let due = due.max(cx.now);
            connection.timer_at = due;
            self.timers.push(Reverse((due, slot)));
            cx.lanes.queue.arm_by(cx.lanes.sources.timer(self.id), due);
        }
    }

    /// Handles the timers that are due. Entries may be stale.
    pub(crate) fn on_timer(&mut self, cx: &mut Context<'_>) {
        while let Some(Reverse((due, slot))) = self.timers.peek().copied()
            && due <= cx.now
        {
            self.timers.pop();
            if let Half::Responder(slot) = SenderId(slot).half() {
                self.on_ack_timer(cx, due, slot);
                continue;
            }
            let connection = &mut self.connections[slot as usize];
            if connection.timer_at != due {
                continue;
            }
            connection.timer_at = Time::MAX;
            if !connection.open {
                continue;
            }
            if let Some(expiry) = connection.requester.on_timeout(&cx.net.transport, cx.now) {
                let (dst, serial) = (connection.dst, connection.serial);
                if let Some(control) = &mut connection.control {
                    control.on_timeout(cx.now);
                    connection.requester.set_window(control.window());
                }
                cx.lanes.recorder.on_timer(cx.now, self.id, serial, &expiry);
                self.send_notice(
                    cx,
                    dst,
                    NoticeKind::Expired { qp: responder_qp(self.id, slot), serial, at: cx.now, expiry },
                );
            }
            self.update_connection(cx, slot);
        }
        if let Some(Reverse((next, _))) = self.timers.peek() {
            cx.lanes.queue.arm_by(cx.lanes.sources.timer(self.id), *next);
        }
        if self.processor.is_some() {
            self.react(cx);
        }
    }

    pub(super) fn complete(&mut self, cx: &mut Context<'_>, slot: u32, completion: Completion) {
        let connection = &mut self.connections[slot as usize];
        let posted = connection.posted.pop_front().expect("every completion has a post");
        assert_eq!(posted.message, completion.id, "completions come in the order of posts");
        let outcome = outcome_of(completion.status);
        let requester = &connection.requester;
        let after = requester.counters();
        let mut done = posted.done(connection.serial, &after, requester.completed_recovery(), outcome);
        let protocol = connection.requester.protocol();
        if let Some(watch) = &mut cx.tally.watch {
            let message = (self.id, slot, posted.message);
            watch.on_completion(cx.now, message, || connection.sending_state(&cx.net.transport));
        }
        if cx.net.transport.op == Op::Read
            && protocol == TransportProtocol::Rdma
            && outcome == FlowOutcome::Finished
        {
            // READ data is delivered at the requester.
            done.delivered = Some(cx.now);
        }
        let (dst, entropy, class) = (connection.dst, connection.entropy, connection.class);
        if connection.posted.is_empty() && connection.is_over(cx.net.transport.per_pair) {
            self.close_connection(cx, slot);
        }
        if let Some(flow) = posted.flow {
            cx.tally.open -= 1;
            cx.lanes.recorder.on_end(cx.now, self.id, flow, outcome);
            let (bytes, start) = (posted.bytes, posted.start);
            let ended = FlowResult { flow, dst, bytes, start, end: cx.now, entropy, round_trip: false, done };
            self.push_row(cx, protocol, class, &ended);
        }
        self.with_app(cx, usize::from(posted.app), |app, now, actions| app.on_completion(now, done, actions));
    }

    fn close_connection(&mut self, cx: &mut Context<'_>, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        connection.open = false;
        if let Some(seen) = connection.requester.seen() {
            self.counters.tcp.add(&seen);
        }
        let (dst, serial) = (connection.dst, connection.serial);
        let protocol = connection.requester.protocol();
        let key = (dst, connection.class, connection.exclusive_port, protocol, connection.number);
        self.by_key.remove(&key);
        self.free.push(slot);
        self.send_notice(cx, dst, NoticeKind::Close { qp: responder_qp(self.id, slot), serial });
    }

    pub(super) fn on_delivered(&mut self, delivered: &DeliveryNotice) {
        let DeliveryNotice { requester, serial, message, link_retransmits, at } = *delivered;
        let Some(connection) = self.connections.get_mut(requester.get() as usize) else { return };
        if connection.serial != serial {
            return;
        }
        // The responder counts messages in 24 bits (IBA 9.7.7.1), and a requester has fewer outstanding.
        let Some(first) = connection.posted.front().map(|posted| posted.message) else { return };
        let message = first + (u64::from(message).wrapping_sub(first) & 0xFF_FFFF);
        if let Ok(index) = connection.posted.binary_search_by_key(&message, |posted| posted.message) {
            connection.posted[index].delivered = Some(at);
            connection.posted[index].link_retransmits = link_retransmits;
        }
    }

    /// Ends all open flows with `outcome` at the end of the run.
    pub(crate) fn end_open_flows(&mut self, cx: &mut Context<'_>, outcome: FlowOutcome) {
        for slot in 0..self.connections.len() {
            let connection = &mut self.connections[slot];
            let (dst, entropy, after) = (connection.dst, connection.entropy, connection.requester.counters());
            let (serial, class) = (connection.serial, connection.class);
            let protocol = connection.requester.protocol();
            if let Some(seen) = connection.requester.seen().filter(|_| connection.open) {
                self.counters.tcp.add(&seen);
            }
            for posted in std::mem::take(&mut connection.posted) {
                let Some(flow) = posted.flow else { continue };
                cx.lanes.recorder.on_end(cx.now, self.id, flow, outcome);
                let recovery = self.connections[slot].requester.message_recovery(posted.message);
                let done = posted.done(serial, &after, recovery, outcome);
                let (bytes, start) = (posted.bytes, posted.start);
                let ended =
                    FlowResult { flow, dst, bytes, start, end: cx.now, entropy, round_trip: false, done };
                self.push_row(cx, protocol, class, &ended);
            }
        }
        for index in 0..self.apps.len() {
            if let Some(ended) = self.apps[index].app.on_run_end(cx.now, outcome) {
                let PlacedApp { protocol, class, .. } = self.apps[index];
                self.push_row(cx, protocol, class, &ended);
            }
        }
    }

    /// Adds the row of a flow that has ended.
    pub(super) fn push_row(
        &self,
        Context { net, tally, .. }: &mut Context<'_>,
        protocol: TransportProtocol,
        class: u8,
        ended: &FlowResult,
    ) {
        let (entropy, bytes) = (ended.entropy, ended.bytes);
        let (src, dst, round_trip) = (self.id, ended.dst, ended.round_trip);
        let ideal = tally.ideal.of(net, IdealFlow { protocol, src, dst, entropy, bytes, round_trip });
        tally.rows.push(FlowRow {
            flow: ended.flow.0,
            src: self.id.0,
            dst: ended.dst.0,
            class,
            connection: ended.done.connection,
            // The reply of a round trip has another connection.
            entropy: (!ended.round_trip && net.transport.has_one_entropy(protocol)).then_some(entropy),
            bytes: u64::from(bytes),
            start_ps: ended.start.as_ps(),
            end_ps: ended.end.as_ps(),
            delivered_ps: ended.done.delivered.map(Time::as_ps),
            ideal_ps: ideal.as_ps(),
            outcome: ended.done.outcome,
            timeouts: ended.done.timeouts,
            naks: ended.done.naks,
            retransmitted_packets: ended.done.retransmitted_packets,
            retransmitted_bytes: ended.done.retransmitted_bytes,
            failed_frames: None,
            tcp: ended.done.tcp,
        });
    }
}

/// Returns the destination QP number of a requester's packets. It is needed before the responder knows the
/// connection, so it is computed: distinct for the connections of one host, and rarely equal for two hosts.
/// Responders also distinguish connections by host.
fn responder_qp(host: HostId, slot: u32) -> QpNum {
    QpNum::new(1 << 23 | (host.0.wrapping_mul(0x009E_3779).wrapping_add(slot) & 0x7F_FFFF))
}

fn tcp_row(recovery: &MessageRecovery, link_retransmits: u16) -> TcpStats {
    TcpStats {
        link_recovered: u32::from(link_retransmits),
        sacked_bytes_max: recovery.sacked_bytes,
        after_gap_bytes: recovery.gap_bytes,
        unsent_bytes: recovery.unsent_bytes,
        recoveries: recovery.recoveries,
        spurious_recoveries: recovery.undone,
        tail_probes: recovery.probes,
        dsacks: recovery.dsacks,
    }
}

fn outcome_of(status: Status) -> FlowOutcome {
    match status {
        Status::Success => FlowOutcome::Finished,
        // A flushed message has the outcome of the one that broke the connection.
        Status::RetryExceeded | Status::Flushed => FlowOutcome::RetryExceeded,
        Status::RnrRetryExceeded => FlowOutcome::RnrRetryExceeded,
        Status::RemoteInvalidRequest | Status::RemoteAccess | Status::RemoteOperation => {
            FlowOutcome::RemoteError
        }
    }
}
