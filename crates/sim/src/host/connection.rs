//! The requester's side of a connection: what an application posted, until it is done.
//!
//! Slots are reused. The serial tells connections of one slot apart: frames carry it, and what comes late for an
//! earlier one is counted and dropped.

use std::cmp::Reverse;
use std::collections::VecDeque;

use wiremend_measure::{FlowRow, Outcome, TcpTrouble};
use wiremend_proto::cc::{self, Ack, Controller, Feedback};
use wiremend_proto::engine::{Completion, Op, RequesterCounters, Status, Work};
use wiremend_proto::tcp::Trouble;
use wiremend_proto::{Packet, rc};
use wiremend_units::{FlowId, HostId, QpNum, Time, stream_seed};
use wiremend_wire::Opcode;

use super::engine::RequesterEngine;
use super::nic::{Half, Sender};
use super::{Context, Host, Pair};
use crate::app::{Done, Ended, Post};
use crate::frame::{self, Frame};
use crate::network::{Delivered, Network, News, Protocol, Way, ideal, purpose};

pub(super) struct Connection {
    pub(super) requester: RequesterEngine,
    /// What governs it, if it does not send as fast as it can.
    pub(super) control: Option<Box<dyn Controller>>,
    pub(super) dst: HostId,
    pub(super) serial: u32,
    pub(super) entropy: u16,
    pub(super) class: u8,
    /// The port of the one application that uses it; `None` if all may.
    own: Option<u16>,
    /// It stands in the NIC's ring, or waits there for its pacing.
    pub(super) queued: bool,
    open: bool,
    /// The time of its entry in the host's timers, or never.
    timer_at: Time,
    /// What was posted and is not done, oldest first.
    posted: VecDeque<Posted>,
}

/// A message under way.
struct Posted {
    app: u16,
    /// The flow that ends with it.
    flow: Option<FlowId>,
    bytes: u32,
    /// Its number on the connection, dummies counted.
    message: u64,
    start: Time,
    delivered: Option<Time>,
    /// Segments of it that a link has sent again.
    mended: u16,
    /// The connection's counters when it was posted.
    before: RequesterCounters,
}

impl Connection {
    /// Nothing more will come of it, and nobody else wants it.
    #[inline]
    fn is_over(&self, shared: bool) -> bool {
        self.requester.is_error() || !shared && self.own.is_none() && self.requester.is_idle()
    }

    /// An answer came: the window follows.
    fn follow(&mut self, now: Time, is_nak: bool, feedback: Option<&Feedback>) {
        let Some(control) = &mut self.control else { return };
        control.on_ack(now, &Ack { acknowledged: self.requester.acknowledged(), feedback });
        if is_nak {
            control.on_nak(now);
        }
        self.requester.allow(control.window());
    }
}

impl Posted {
    fn done(&self, after: &RequesterCounters, trouble: Option<Trouble>, outcome: Outcome) -> Done {
        let before = &self.before;
        Done {
            outcome,
            delivered: self.delivered,
            timeouts: after.timeouts - before.timeouts,
            naks: after.naks - before.naks,
            retransmitted_packets: (after.retransmitted_packets - before.retransmitted_packets) as u32,
            retransmitted_bytes: after.retransmitted_bytes - before.retransmitted_bytes,
            tcp: trouble.map(|trouble| told(&trouble, self.mended)),
        }
    }
}

impl Host {
    /// Carries out an application's wish to move a message.
    pub(super) fn post(&mut self, cx: &mut Context<'_>, app: usize, post: &Post) {
        let (port, class, protocol) = (self.apps[app].port, self.apps[app].class, self.apps[app].protocol);
        let shares = self.apps[app].app.shares_connections(cx.net.transport.per_pair);
        let own = (!shares).then_some(port);
        let pair = (post.dst, class, own, protocol);
        let slot = match self.by_pair.get(&pair) {
            Some(slot) => *slot,
            None => self.open(cx, pair, port),
        };
        let connection = &mut self.connections[slot as usize];
        let message = connection.requester.messages() + 1;
        connection.posted.push_back(Posted {
            app: app as u16,
            flow: post.flow.filter(|_| post.ends_flow),
            bytes: post.bytes,
            message,
            start: cx.now,
            delivered: None,
            mended: 0,
            before: connection.requester.counters(),
        });
        cx.tally.open += u64::from(post.ends_flow);
        if let Some(flow) = post.flow {
            cx.wires.watch.on_post(cx.now, self.id, connection.serial, flow, post.bytes);
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
        self.settle(cx, slot);
    }

    fn open(&mut self, cx: &mut Context<'_>, pair: Pair, port: u16) -> u32 {
        let (dst, class, own, protocol) = pair;
        let transport = &cx.net.transport;
        let slot = self.free.pop().unwrap_or(self.connections.len() as u32);
        assert!(slot < QpNum::MAX / 2, "a host has room for 2^23 connections");
        self.opened += 1;
        let serial = self.opened;
        let qp = responder_number(self.id, slot);
        let random = stream_seed(cx.net.seed ^ u64::from(serial), purpose::ENTROPY, u64::from(self.id.0));
        let entropy = 0xC000 | random as u16;
        let control = match protocol {
            Protocol::Rdma => self.control(cx.net, dst, entropy),
            Protocol::Tcp | Protocol::Multipath(_) => None,
        };
        let mut requester = RequesterEngine::new(transport, protocol, qp, random >> 16);
        if let Some(control) = &control {
            requester.allow(control.window());
        }
        let connection = Connection {
            requester,
            control,
            dst,
            serial,
            entropy,
            class,
            own,
            queued: false,
            open: true,
            timer_at: Time::MAX,
            posted: VecDeque::new(),
        };
        if let Some(old) = self.connections.get_mut(slot as usize) {
            // Entries of the slot in the NIC's ring and in the timers stay where they are.
            let (queued, timer_at) = (old.queued, old.timer_at);
            *old = Connection { queued, timer_at, ..connection };
        } else {
            self.connections.push(connection);
        }
        if transport.per_pair || own.is_some() {
            self.by_pair.insert(pair, slot);
        }
        self.send_notice(
            cx,
            dst,
            News::Open { qp, requester: QpNum::new(slot), serial, port, class, protocol },
        );
        slot
    }

    /// What governs a new connection.
    fn control(&self, net: &Network, dst: HostId, entropy: u16) -> Option<Box<dyn Controller>> {
        let transport = &net.transport;
        let algorithm = transport.congestion.as_ref()?;
        let full = rc::frame_len(Opcode::WriteMiddle, transport.config.mtu);
        let way = Way { src: self.id, dst, entropy };
        let hops = if transport.needs.path { net.path(way).len() as u32 - 1 } else { 0 };
        Some(algorithm.start(&cc::Path {
            line: net.lanes[net.uplink(self.id).index()].rate,
            packet_bytes: u32::from(full) + frame::GAP_BYTES as u32,
            hops,
            round_trip: transport.longest_round_trip,
        }))
    }

    /// A congestion notification.
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

    /// The header of an own packet, which came back without its payload: a loss that congestion has caused.
    #[cold]
    pub(super) fn on_returned(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        let slot = packet.dest_qp().get();
        match self.connections.get_mut(slot as usize) {
            Some(connection) if connection.serial == frame.serial && connection.open => {
                self.counters.headers_returned += 1;
                let path = frame.entropy ^ connection.entropy;
                connection.requester.on_answer(&cx.net.transport, cx.now, packet, path);
                if cx.net.transport.needs.acks {
                    connection.follow(cx.now, true, cx.wires.feedback.as_deref());
                }
                self.settle(cx, slot);
            }
            _ => self.counters.late_frames += 1,
        }
    }

    /// An acknowledgement, or the data that a READ asked for.
    #[inline]
    pub(super) fn on_response(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        let slot = packet.dest_qp().get();
        match self.connections.get_mut(slot as usize) {
            Some(connection) if connection.serial == frame.serial && connection.open => {
                let is_nak = packet.is_nak();
                if is_nak {
                    let copied = frame.is_replica();
                    self.counters.naks += u64::from(!copied);
                    self.counters.nak_copies += u64::from(copied);
                }
                let path = frame.entropy ^ connection.entropy;
                connection.requester.on_answer(&cx.net.transport, cx.now, packet, path);
                if cx.net.transport.needs.acks {
                    connection.follow(cx.now, is_nak, cx.wires.feedback.as_deref());
                }
                self.settle(cx, slot);
            }
            _ => self.counters.late_frames += 1,
        }
    }

    /// After anything happened to a requester: completions, its timer, its place in the NIC's ring.
    #[inline]
    pub(super) fn settle(&mut self, cx: &mut Context<'_>, slot: u32) {
        let transport = &cx.net.transport;
        while let Some(completion) = self.connections[slot as usize].requester.poll_completion() {
            self.complete(cx, slot, completion);
            if !self.connections[slot as usize].open {
                return;
            }
        }
        // Dummies may outlast the messages that they protect.
        let connection = &self.connections[slot as usize];
        if connection.posted.is_empty() && connection.is_over(cx.net.transport.per_pair) {
            self.close(cx, slot);
            return;
        }
        self.note_timer(cx, slot);
        let connection = &mut self.connections[slot as usize];
        if !connection.queued && connection.requester.ready(transport, cx.now) {
            connection.queued = true;
            let class = connection.class;
            self.nic.ring(class).ready.push_back(Sender::requester(slot));
        }
        self.kick(cx);
    }
}

impl Host {
    /// Sees to it that a connection is looked at when its timer is due, or before.
    #[inline]
    pub(super) fn note_timer(&mut self, cx: &mut Context<'_>, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        if let Some(due) = connection.requester.next_timeout()
            && due < connection.timer_at
        {
            // What was overdue behind something older is due as soon as that is done.
            let due = due.max(cx.now);
            connection.timer_at = due;
            self.timers.push(Reverse((due, slot)));
            cx.wires.queue.arm_by(cx.wires.sources.timer(self.id), due);
        }
    }

    /// Timers that are due, or were when they were set.
    pub(crate) fn on_timer(&mut self, cx: &mut Context<'_>) {
        while let Some(Reverse((due, slot))) = self.timers.peek().copied()
            && due <= cx.now
        {
            self.timers.pop();
            if let Half::Responder(slot) = Sender(slot).half() {
                self.on_answer_due(cx, due, slot);
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
                    connection.requester.allow(control.window());
                }
                cx.wires.watch.on_timer(cx.now, self.id, serial, &expiry);
                self.send_notice(
                    cx,
                    dst,
                    News::Expired { qp: responder_number(self.id, slot), serial, expiry },
                );
            }
            self.settle(cx, slot);
        }
        if let Some(Reverse((next, _))) = self.timers.peek() {
            cx.wires.queue.arm_by(cx.wires.sources.timer(self.id), *next);
        }
        if self.stack.is_some() {
            self.work_stack(cx);
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, slot: u32, completion: Completion) {
        let connection = &mut self.connections[slot as usize];
        let posted = connection.posted.pop_front().expect("a completion answers a post");
        assert_eq!(posted.message, completion.id, "completions come in the order of posts");
        let outcome = outcome_of(completion.status);
        let requester = &connection.requester;
        let mut done = posted.done(&requester.counters(), requester.trouble(), outcome);
        let protocol = connection.requester.protocol();
        if cx.net.transport.op == Op::Read && protocol == Protocol::Rdma && outcome == Outcome::Finished {
            // What a READ asks for is delivered where it completes.
            done.delivered = Some(cx.now);
        }
        let (dst, entropy) = (connection.dst, connection.entropy);
        if connection.posted.is_empty() && connection.is_over(cx.net.transport.per_pair) {
            self.close(cx, slot);
        }
        if let Some(flow) = posted.flow {
            cx.tally.open -= 1;
            cx.wires.watch.on_end(cx.now, self.id, flow, outcome);
            let (bytes, start) = (posted.bytes, posted.start);
            let ended = Ended { flow, dst, bytes, start, end: cx.now, entropy, round_trip: false, done };
            cx.tally.rows.push(self.row(cx.net, protocol, &ended));
        }
        self.with_app(cx, usize::from(posted.app), |app, now, actions| app.on_completion(now, done, actions));
    }

    fn close(&mut self, cx: &mut Context<'_>, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        connection.open = false;
        if let Some(seen) = connection.requester.seen() {
            self.counters.tcp.add(&seen);
        }
        let (dst, serial) = (connection.dst, connection.serial);
        let protocol = connection.requester.protocol();
        self.by_pair.remove(&(dst, connection.class, connection.own, protocol));
        self.free.push(slot);
        self.send_notice(cx, dst, News::Close { qp: responder_number(self.id, slot), serial });
    }

    pub(super) fn on_delivered(&mut self, delivered: &Delivered) {
        let Delivered { requester, serial, message, mended, at } = *delivered;
        let Some(connection) = self.connections.get_mut(requester.get() as usize) else { return };
        if connection.serial != serial {
            return;
        }
        // The responder counts messages in 24 bits (IBA 9.7.7.1), and a requester has fewer outstanding.
        let Some(first) = connection.posted.front().map(|posted| posted.message) else { return };
        let message = first + (u64::from(message).wrapping_sub(first) & 0xFF_FFFF);
        if let Ok(index) = connection.posted.binary_search_by_key(&message, |posted| posted.message) {
            connection.posted[index].delivered = Some(at);
            connection.posted[index].mended = mended;
        }
    }

    /// The run ends: rows of everything still under way.
    pub(crate) fn cut_off(&mut self, cx: &mut Context<'_>, outcome: Outcome) {
        for slot in 0..self.connections.len() {
            let connection = &mut self.connections[slot];
            let (dst, entropy, after) = (connection.dst, connection.entropy, connection.requester.counters());
            let protocol = connection.requester.protocol();
            if let Some(seen) = connection.requester.seen().filter(|_| connection.open) {
                self.counters.tcp.add(&seen);
            }
            for posted in std::mem::take(&mut connection.posted) {
                let Some(flow) = posted.flow else { continue };
                let trouble = self.connections[slot].requester.trouble_of(posted.message);
                let done = posted.done(&after, trouble, outcome);
                let (bytes, start) = (posted.bytes, posted.start);
                let ended = Ended { flow, dst, bytes, start, end: cx.now, entropy, round_trip: false, done };
                cx.tally.rows.push(self.row(cx.net, protocol, &ended));
            }
        }
        for index in 0..self.apps.len() {
            if let Some(ended) = self.apps[index].app.cut_off(cx.now, outcome) {
                let protocol = self.apps[index].protocol;
                cx.tally.rows.push(self.row(cx.net, protocol, &ended));
            }
        }
    }

    pub(super) fn row(&self, net: &Network, protocol: Protocol, ended: &Ended) -> FlowRow {
        let entropy = ended.entropy;
        let ways = [(self.id, ended.dst), (ended.dst, self.id)]
            .map(|(src, dst)| net.path(Way { src, dst, entropy }));
        let bytes = ended.bytes;
        let ideal = if ended.round_trip {
            ideal::one_way(net, protocol, &ways[0], bytes) + ideal::one_way(net, protocol, &ways[1], bytes)
        } else {
            ideal::alone(net, protocol, &ways[0], &ways[1], bytes)
        };
        FlowRow {
            flow: ended.flow.0,
            src: self.id.0,
            dst: ended.dst.0,
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
            tcp: ended.done.tcp,
        }
    }
}

/// The number by which a requester's packets name the other end. It is settled before the other end knows of the
/// connection, so it is computed: distinct for the connections of one host, and rarely shared by two hosts'.
/// Responders tell them apart by host anyway.
fn responder_number(host: HostId, slot: u32) -> QpNum {
    QpNum::new(1 << 23 | (host.0.wrapping_mul(0x009E_3779).wrapping_add(slot) & 0x7F_FFFF))
}

/// What a message of TCP has met, as rows tell it.
fn told(trouble: &Trouble, mended: u16) -> TcpTrouble {
    TcpTrouble {
        mended: u32::from(mended),
        sacked_bytes: trouble.sacked_bytes,
        gap_bytes: trouble.gap_bytes,
        unsent_bytes: trouble.unsent_bytes,
        recoveries: trouble.recoveries,
        undone: trouble.undone,
        probes: trouble.probes,
        twice: trouble.twice,
    }
}

fn outcome_of(status: Status) -> Outcome {
    match status {
        Status::Success => Outcome::Finished,
        // A flushed message shares the fate of the one that broke the connection.
        Status::RetryExceeded | Status::Flushed => Outcome::RetryExceeded,
        Status::RnrRetryExceeded => Outcome::RnrRetryExceeded,
        Status::RemoteInvalidRequest | Status::RemoteAccess | Status::RemoteOperation => Outcome::RemoteError,
    }
}
