//! A host: one NIC port, many connections, and the applications that use them.
//!
//! The NIC makes a packet when its port can send it, so a NAK can still change what the next packet is. Order on
//! the port: acknowledgements, then connections round robin, each when its pacing allows, but for classes that are
//! paused ([`nic`]).
//! [`connection`] is the requester's side of a connection, [`context`] the responder's; [`engine`] holds their schemes.

mod cause;
mod connection;
mod context;
mod engine;
mod nic;
mod raw;
mod stack;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use wiremend_measure::{Added, FlowRow, Outcome, TimeoutCause, TimeoutCounts};
use wiremend_proto::sr::Steps;
use wiremend_proto::{Packet, dcp, tcp};
use wiremend_units::{HostId, LaneId, Time};
use wiremend_wire::Opcode;

use self::connection::Connection;
use self::context::{Contexts, Responding};
use self::engine::ResponderEngine;
use self::nic::Nic;
use self::stack::Stack;
use crate::app::{Action, Application, Placed};
use crate::frame::{Body, Frame};
use crate::link::Lanes;
use crate::network::{Network, News, Notice, Protocol};

pub(crate) struct Host {
    id: HostId,
    nic: Nic,
    connections: Vec<Connection>,
    free: Vec<u32>,
    /// Connections opened so far: the next one's serial.
    opened: u32,
    /// The open connection to each peer, in each class, of each application that has its own and of each protocol, where flows share one
    /// per pair.
    by_pair: BTreeMap<Pair, u32>,
    contexts: Contexts,
    /// When each connection with a timer asked to be looked at; entries may be early, never late.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// Frames of TCP connections, if there ever were any.
    stack: Option<Box<Stack>>,
    inbox: BinaryHeap<Reverse<Notice>>,
    notices: u32,
    apps: Vec<Placed>,
    /// Kept between calls for its capacity.
    actions: Vec<Action>,
    pub(crate) counters: HostCounters,
}

/// What tells connections apart that flows share.
type Pair = (HostId, u8, Option<u16>, Protocol);

/// What a host counts.
#[derive(Clone, Default, Debug)]
pub struct HostCounters {
    /// Frames sent.
    pub tx_frames: u64,
    /// Frames received.
    pub rx_frames: u64,
    /// Requests received that had been received before: sent again, or copied, in vain.
    pub duplicates: u64,
    /// What tracking packets out of order has cost connections that end here.
    pub steps: Steps,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Frame bytes of these.
    pub retransmitted_bytes: u64,
    /// What protection added here.
    pub added: Added,
    /// NAKs received as they were sent.
    pub naks: u64,
    /// NAKs received as copies that a switch made.
    pub nak_copies: u64,
    /// Frame bytes that exist only because something was lost or may be: retransmissions, NAKs, what protection adds.
    pub extra_bytes: u64,
    /// Frames of connections that were closed already, or never opened here.
    pub late_frames: u64,
    /// Frames of open-loop loads that found the NIC's queue full.
    pub raw_refused: u64,
    /// Frames of open-loop loads received.
    pub raw_frames: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// Congestion notifications sent.
    pub cnps_sent: u64,
    /// Congestion notifications received for open connections.
    pub cnps_received: u64,
    /// Payload bytes of messages completely received.
    pub delivered_bytes: u64,
    /// Messages completely received.
    pub delivered_messages: u64,
    /// Headers sent back, because switches had cut their payload off.
    pub headers_bounced: u64,
    /// Headers of own packets that came back.
    pub headers_returned: u64,
    /// What TCP connections that begin here have done and seen.
    pub tcp: tcp::Counters,
    /// Timeouts of connections that end here, by cause.
    pub timeouts: TimeoutCounts,
}

impl HostCounters {
    /// All of them by name, for the digest.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let plain = [
            ("host.tx_frames", self.tx_frames),
            ("host.rx_frames", self.rx_frames),
            ("host.retransmitted_packets", self.retransmitted_packets),
            ("host.retransmitted_bytes", self.retransmitted_bytes),
            ("host.extra_bytes", self.extra_bytes),
            ("host.naks", self.naks),
            ("host.nak_copies", self.nak_copies),
            ("host.late_frames", self.late_frames),
            ("host.raw_refused", self.raw_refused),
            ("host.raw_frames", self.raw_frames),
            ("host.raw_bytes", self.raw_bytes),
            ("host.delivered_bytes", self.delivered_bytes),
            ("host.delivered_messages", self.delivered_messages),
        ];
        let causes = TimeoutCause::ALL.map(|cause| (cause.key(), self.timeouts.of(cause)));
        let dummy = [("host.dummy_timeouts", self.timeouts.dummy())];
        let cnps = [("host.cnps_sent", self.cnps_sent), ("host.cnps_received", self.cnps_received)];
        let headers = [
            ("host.headers_bounced", self.headers_bounced),
            ("host.headers_returned", self.headers_returned),
        ];
        let rare = cnps.into_iter().chain(headers).chain(self.tcp.named());
        let rare = rare.filter(|(_, count)| *count > 0);
        plain.into_iter().chain(causes).chain(dummy).chain(self.added.named()).chain(rare)
    }
}

/// What a host works with while it handles one event.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) net: &'a Network,
    pub(crate) wires: &'a mut Lanes,
    pub(crate) tally: &'a mut Tally,
}

/// What a part of the fabric reports.
#[derive(Default)]
pub(crate) struct Tally {
    /// Flows that ended since the last collection.
    pub(crate) rows: Vec<FlowRow>,
    /// Applications that may still start flows, and flows under way.
    pub(crate) open: u64,
    pub(crate) dropped_ttl: u64,
}

impl Host {
    pub(crate) fn new(id: HostId, uplink: LaneId) -> Self {
        Self {
            id,
            nic: Nic::new(uplink),
            connections: Vec::new(),
            free: Vec::new(),
            opened: 0,
            by_pair: BTreeMap::new(),
            contexts: Contexts::default(),
            timers: BinaryHeap::new(),
            stack: None,
            inbox: BinaryHeap::new(),
            notices: 0,
            apps: Vec::new(),
            actions: Vec::new(),
            counters: HostCounters::default(),
        }
    }

    pub(crate) fn add_app(&mut self, app: Placed) {
        self.apps.push(app);
    }

    /// Before the first event: applications say when they want to act.
    pub(crate) fn start(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.apps.len() {
            cx.tally.open += 1;
            self.settle_app(cx, index);
        }
    }

    #[inline]
    pub(crate) fn on_frame(&mut self, cx: &mut Context<'_>, frame: &Frame) {
        self.counters.rx_frames += 1;
        match &frame.body {
            Body::Packet(packet @ Packet::Rc(of_rc)) => {
                if of_rc.opcode.is_response() {
                    self.on_response(cx, frame, packet);
                } else if of_rc.opcode == Opcode::Cnp {
                    self.on_cnp(cx, frame, of_rc);
                } else {
                    self.on_request(cx, frame, packet);
                }
            }
            Body::Packet(Packet::Tcp(_)) => self.on_segment(cx, frame),
            Body::Packet(packet) => self.on_other(cx, frame, packet),
            Body::Raw(_) => {
                self.counters.raw_frames += 1;
                self.counters.raw_bytes += u64::from(frame.len);
            }
            Body::Link | Body::Corrupted => unreachable!("it does not reach a host's transport"),
        }
    }

    /// A packet of another protocol than go-back-N, which does not pay for it.
    #[inline(never)]
    fn on_other(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        match packet {
            Packet::Dcp(dcp::Packet::Data(data)) if data.is_bounced() => self.on_returned(cx, frame, packet),
            _ if packet.is_response() => self.on_response(cx, frame, packet),
            _ => self.on_request(cx, frame, packet),
        }
    }

    /// Applications whose time has come.
    pub(crate) fn on_app(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.apps.len() {
            if self.apps[index].app.next_poll() <= cx.now {
                self.with_app(cx, index, |app, now, actions| app.poll(now, actions));
            } else {
                self.settle_app(cx, index);
            }
        }
    }

    /// The run is over: what is still open ends with `outcome`, and timeouts on their way to be named are named.
    pub(crate) fn finish(&mut self, cx: &mut Context<'_>, outcome: Outcome) {
        for Reverse(notice) in std::mem::take(&mut self.inbox).into_sorted_vec().into_iter().rev() {
            // A connection that closes with the run is closed, so that what its tracking has cost is known.
            if matches!(notice.what, News::Expired { .. } | News::Close { .. }) {
                self.on_news(cx, notice.from, notice.what);
            }
        }
        self.cut_off(cx, outcome);
        for steps in self.contexts.steps_of_open() {
            self.counters.steps.add(&steps);
        }
    }

    pub(crate) fn on_inbox(&mut self, cx: &mut Context<'_>) {
        while self.inbox.peek().is_some_and(|Reverse(notice)| notice.at <= cx.now) {
            let Some(Reverse(notice)) = self.inbox.pop() else { break };
            self.on_news(cx, notice.from, notice.what);
        }
        if let Some(Reverse(next)) = self.inbox.peek() {
            cx.wires.queue.arm_by(cx.wires.sources.inbox(self.id), next.at);
        }
    }

    /// A notice has been sent to this host; it is due later.
    pub(crate) fn post_notice(&mut self, wires: &mut Lanes, notice: Notice) {
        wires.queue.arm_by(wires.sources.inbox(self.id), notice.at);
        self.inbox.push(Reverse(notice));
    }

    fn on_news(&mut self, cx: &mut Context<'_>, from: HostId, news: News) {
        match news {
            News::Open { qp, requester, serial, port, class, protocol } => {
                let responder = ResponderEngine::new(&cx.net.transport, protocol, requester);
                let context = Responding::new(from, requester, serial, port, class, responder);
                self.contexts.open(from, qp, context);
            }
            News::Close { qp, serial } => {
                if let Some(steps) = self.contexts.close(from, qp, serial) {
                    self.counters.steps.add(&steps);
                }
            }
            News::Delivered(delivered) => self.on_delivered(&delivered),
            News::Expired { qp, serial, expiry } => {
                let cause = self.contexts.cause(from, qp, serial, &expiry);
                if expiry.dummy {
                    self.counters.timeouts.add_dummy();
                } else {
                    self.counters.timeouts.add(cause);
                }
                cx.wires.watch.on_cause(from, serial, cause);
            }
        }
    }

    /// Tells another host something, outside the network. The part hands it over.
    fn send_notice(&mut self, cx: &mut Context<'_>, to: HostId, what: News) {
        self.notices += 1;
        let at = cx.now + cx.net.notice_delay(self.id, to);
        cx.wires.notices.push(Notice { at, from: self.id, number: self.notices, to, what });
    }

    /// Lets an application act, carries out what it wants, and notes when it wants to act again.
    fn with_app(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        act: impl FnOnce(&mut dyn Application, Time, &mut Vec<Action>),
    ) {
        let mut actions = std::mem::take(&mut self.actions);
        act(&mut *self.apps[index].app, cx.now, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Post(post) => self.post(cx, index, &post),
                Action::End(ended) => {
                    cx.tally.open -= 1;
                    cx.wires.watch.on_end(cx.now, self.id, ended.flow, ended.done.outcome);
                    let protocol = self.apps[index].protocol;
                    cx.tally.rows.push(self.row(cx.net, protocol, &ended));
                }
                Action::Begin => cx.tally.open += 1,
                Action::Raw(raw) => self.send_raw(cx, raw),
            }
        }
        self.actions = actions;
        self.settle_app(cx, index);
    }

    fn settle_app(&mut self, cx: &mut Context<'_>, index: usize) {
        let placed = &mut self.apps[index];
        if !placed.done && placed.app.is_done() {
            placed.done = true;
            cx.tally.open -= 1;
        }
        let next = placed.app.next_poll();
        if next != Time::MAX {
            cx.wires.queue.arm_by(cx.wires.sources.app(self.id), next.max(cx.now));
        }
    }
}
