//! A host: one NIC port, its connections, and the applications that use them.
//!
//! The NIC makes a packet when its port can send it, so that a NAK can still change the next packet. The
//! order on the port is: acknowledgements, then connections round robin, each when its pacing allows; paused
//! classes wait ([`nic`]). [`connection`] is the requester's side of a connection, [`responder`] the other
//! side; [`protocol_engine`] has their protocols.

mod connection;
mod nic;
mod processor;
mod protocol_engine;
mod raw_queue;
mod repeat_state;
mod responder;
mod sending_state;
mod tcp_stack;
mod timeout_cause;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use wiremend_measure::{ExtraFrames, FlowOutcome, FlowRow, TimeoutCause, TimeoutCounts};
use wiremend_proto::sr::TrackingCost;
use wiremend_proto::{Packet, dcp, tcp};
use wiremend_units::{HostId, LaneId, Time};
use wiremend_wire::Opcode;

use self::connection::Connection;
use self::nic::Nic;
use self::processor::Processor;
use self::protocol_engine::ResponderEngine;
use self::responder::{ResponderConnection, ResponderTable};
use crate::app::{Action, Application, PlacedApp};
use crate::frame::{Body, Frame};
use crate::link::Lanes;
use crate::memory::{prefetch_all, reserve_first};
use crate::network::{LastIdealTime, Network, Notice, NoticeKind, TransportProtocol};
use crate::observe::{FlowWatch, FoundCause};

pub(crate) struct Host {
    id: HostId,
    nic: Nic,
    connections: Vec<Connection>,
    free: Vec<u32>,
    /// Number of connections opened; the serial of the last one.
    opened: u32,
    /// Open connections that flows share.
    by_key: BTreeMap<ConnectionKey, u32>,
    responders: ResponderTable,
    /// Timers of connections. An entry may be early, never late.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// What waits for the processor; allocated at the first arrival that waits.
    processor: Option<Box<Processor>>,
    inbox: BinaryHeap<Reverse<Notice>>,
    notices: u32,
    apps: Vec<PlacedApp>,
    pub(crate) counters: HostCounters,
}

/// The key of a shared connection: peer, class, port of the application if it has its own connections, protocol, and
/// number if a pair of hosts has several.
type ConnectionKey = (HostId, u8, Option<u16>, TransportProtocol, u16);

/// Counters of a host.
#[derive(Clone, Default, Debug)]
pub struct HostCounters {
    /// Frames sent.
    pub tx_frames: u64,
    /// Frames received.
    pub rx_frames: u64,
    /// Duplicate requests received: retransmissions and copies that were not needed.
    pub duplicates: u64,
    /// Steps of out-of-order tracking of connections that end here.
    pub steps: TrackingCost,
    /// Data packets retransmitted.
    pub retransmitted_packets: u64,
    /// Frame bytes of these.
    pub retransmitted_bytes: u64,
    /// Frames that protection added here.
    pub extra_frames: ExtraFrames,
    /// NAKs received, without copies.
    pub naks: u64,
    /// Copies of NAKs received, which a switch made.
    pub nak_copies: u64,
    /// Frame bytes due to loss or protection: retransmissions, NAKs, and frames that protection adds.
    pub extra_bytes: u64,
    /// Frames received of connections that are closed or were never open.
    pub late_frames: u64,
    /// Frames of open-loop loads rejected because the NIC's queue was full.
    pub raw_refused: u64,
    /// Frames of open-loop loads received.
    pub raw_frames: u64,
    /// Their bytes.
    pub raw_bytes: u64,
    /// Congestion notification packets (CNPs) sent.
    pub cnps_sent: u64,
    /// CNPs received for open connections.
    pub cnps_received: u64,
    /// Payload bytes of complete messages received.
    pub delivered_bytes: u64,
    /// Complete messages received.
    pub delivered_messages: u64,
    /// Header-only packets returned to their senders.
    pub headers_bounced: u64,
    /// Header-only packets that came back from receivers.
    pub headers_returned: u64,
    /// Counters of TCP connections that begin here.
    pub tcp: tcp::Counters,
    /// Timeouts of connections that end here, by cause.
    pub timeouts: TimeoutCounts,
}

impl HostCounters {
    /// Returns the counters by name, for the digest.
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
        let causes = TimeoutCause::ALL.map(|cause| (cause.key(), self.timeouts.get(cause)));
        let dummy = [("host.dummy_timeouts", self.timeouts.dummy())];
        let cnps = [("host.cnps_sent", self.cnps_sent), ("host.cnps_received", self.cnps_received)];
        let headers = [
            ("host.headers_bounced", self.headers_bounced),
            ("host.headers_returned", self.headers_returned),
        ];
        let rare = cnps.into_iter().chain(headers).chain(self.tcp.named());
        let rare = rare.filter(|(_, count)| *count > 0);
        plain.into_iter().chain(causes).chain(dummy).chain(self.extra_frames.named()).chain(rare)
    }
}

/// The context of a host while it handles one event.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) net: &'a Network,
    pub(crate) lanes: &'a mut Lanes,
    pub(crate) tally: &'a mut Tally,
}

/// Flow results and counts of a partition.
#[derive(Default)]
pub(crate) struct Tally {
    /// Flows that ended since the last collection.
    pub(crate) rows: Vec<FlowRow>,
    /// The ideal time of the last one.
    ideal: LastIdealTime,
    /// Applications that may still start flows, plus open flows.
    pub(crate) open: u64,
    pub(crate) dropped_ttl: u64,
    /// Samples of flows, if some are wanted.
    pub(crate) watch: Option<Box<FlowWatch>>,
    /// Frames dropped because a switch had no path to their destination.
    pub(crate) no_route: u64,
    /// Actions of the application that is being called; reused between calls.
    actions: Vec<Action>,
}

impl Tally {
    pub(crate) fn watching(watch: Option<Box<FlowWatch>>) -> Self {
        Self { watch, ..Self::default() }
    }
}

impl Host {
    pub(crate) fn new(id: HostId, uplink: LaneId) -> Self {
        Self {
            id,
            nic: Nic::new(uplink),
            connections: Vec::new(),
            free: Vec::new(),
            opened: 0,
            by_key: BTreeMap::new(),
            responders: ResponderTable::default(),
            timers: BinaryHeap::new(),
            processor: None,
            inbox: BinaryHeap::new(),
            notices: 0,
            apps: Vec::new(),
            counters: HostCounters::default(),
        }
    }

    /// Prefetches what the host needs when its turn is `ahead` turns away: itself, then the first connection in each
    /// direction (most hosts have one of each, or few), then their protocols, then the state of these. Each step uses
    /// what the one before has brought.
    #[inline]
    pub(crate) fn prefetch(&self, ahead: usize) {
        if ahead == 3 {
            prefetch_all(self);
            return;
        }
        let halves = (self.connections.first(), self.responders.first());
        if ahead == 2 {
            self.nic.prefetch_ring();
            halves.0.inspect(|connection| prefetch_all(*connection));
            halves.1.inspect(|connection| prefetch_all(*connection));
        } else {
            self.nic.prefetch_control();
            halves.0.inspect(|connection| connection.requester.prefetch(ahead == 0));
            halves.1.inspect(|connection| connection.responder.prefetch(ahead == 0));
        }
    }

    pub(crate) fn add_app(&mut self, app: PlacedApp) {
        reserve_first!(self.apps);
        self.apps.push(app);
    }

    /// Starts the applications before the first event.
    pub(crate) fn start(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.apps.len() {
            cx.tally.open += 1;
            self.update_app(cx, index);
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
            Body::Packet(packet) => self.on_other_packet(cx, frame, packet),
            Body::Raw(_) => {
                self.counters.raw_frames += 1;
                self.counters.raw_bytes += u64::from(frame.len);
            }
            Body::Link | Body::Lost(_) => {
                unreachable!("link frames and lost frames never reach a host")
            }
        }
    }

    /// Handles a packet of another engine than go-back-N. Not inlined, so that go-back-N does not pay for it.
    #[inline(never)]
    fn on_other_packet(&mut self, cx: &mut Context<'_>, frame: &Frame, packet: &Packet) {
        match packet {
            Packet::Dcp(dcp::Packet::Data(data)) if data.is_bounced() && !data.is_read_data() => {
                self.on_returned(cx, frame, packet);
            }
            _ if packet.is_response() => self.on_response(cx, frame, packet),
            _ => self.on_request(cx, frame, packet),
        }
    }

    /// Polls the applications that are due.
    pub(crate) fn on_app(&mut self, cx: &mut Context<'_>) {
        for index in 0..self.apps.len() {
            if self.apps[index].app.next_poll() <= cx.now {
                self.with_app(cx, index, |app, now, actions| app.poll(now, actions));
            } else {
                self.update_app(cx, index);
            }
        }
    }

    /// Ends the run: open flows end with `outcome`, and pending notices of timeouts are processed.
    pub(crate) fn finish(&mut self, cx: &mut Context<'_>, outcome: FlowOutcome) {
        for Reverse(notice) in std::mem::take(&mut self.inbox).into_sorted_vec().into_iter().rev() {
            // Pending closes are processed too, so that their tracking steps count.
            if matches!(notice.kind, NoticeKind::Expired { .. } | NoticeKind::Close { .. }) {
                self.on_notice(cx, notice.from, notice.kind);
            }
        }
        self.end_open_flows(cx, outcome);
        for steps in self.responders.steps_of_open() {
            self.counters.steps.add(&steps);
        }
    }

    pub(crate) fn on_inbox(&mut self, cx: &mut Context<'_>) {
        while self.inbox.peek().is_some_and(|Reverse(notice)| notice.at <= cx.now) {
            let Some(Reverse(notice)) = self.inbox.pop() else { break };
            self.on_notice(cx, notice.from, notice.kind);
        }
        if let Some(Reverse(next)) = self.inbox.peek() {
            cx.lanes.queue.arm_by(cx.lanes.sources.inbox(self.id), next.at);
        }
    }

    /// Queues a notice until it is due.
    pub(crate) fn post_notice(&mut self, lanes: &mut Lanes, notice: Notice) {
        lanes.queue.arm_by(lanes.sources.inbox(self.id), notice.at);
        reserve_first!(self.inbox);
        self.inbox.push(Reverse(notice));
    }

    fn on_notice(&mut self, cx: &mut Context<'_>, from: HostId, kind: NoticeKind) {
        match kind {
            NoticeKind::Open { qp, requester, serial, port, class, protocol } => {
                let responder = ResponderEngine::new(
                    &cx.net.transport,
                    protocol,
                    requester,
                    cx.net.first_psn(from, serial),
                );
                let connection =
                    ResponderConnection::new((from, qp), requester, serial, port, class, responder);
                self.responders.open(connection);
            }
            NoticeKind::Close { qp, serial } => {
                if let Some(steps) = self.responders.close(from, qp, serial) {
                    self.counters.steps.add(&steps);
                }
            }
            NoticeKind::Delivered(delivered) => self.on_delivered(&delivered),
            NoticeKind::Expired { qp, serial, at, expiry } => {
                let cause = self.responders.cause(from, qp, serial, &expiry);
                if expiry.dummy {
                    self.counters.timeouts.add_dummy();
                } else {
                    self.counters.timeouts.add(cause);
                }
                let found = FoundCause { time: at, requester: from, responder: self.id, qp, expiry, cause };
                cx.lanes.recorder.on_cause(serial, &found);
            }
        }
    }

    /// Sends a notice to another host, outside the network. The partition delivers it.
    fn send_notice(&mut self, cx: &mut Context<'_>, to: HostId, kind: NoticeKind) {
        self.notices += 1;
        let at = cx.now + cx.net.notice_delay(self.id, to);
        cx.lanes.notices.push(Notice { at, from: self.id, number: self.notices, to, kind });
    }

    /// Calls an application, executes its actions, and schedules its next poll.
    fn with_app(
        &mut self,
        cx: &mut Context<'_>,
        index: usize,
        act: impl FnOnce(&mut dyn Application, Time, &mut Vec<Action>),
    ) {
        let mut actions = std::mem::take(&mut cx.tally.actions);
        act(&mut *self.apps[index].app, cx.now, &mut actions);
        for action in actions.drain(..) {
            match action {
                Action::Post(post) => self.post(cx, index, &post),
                Action::EndFlow(ended) => {
                    cx.tally.open -= 1;
                    cx.lanes.recorder.on_end(cx.now, self.id, ended.flow, ended.done.outcome);
                    let PlacedApp { protocol, class, .. } = self.apps[index];
                    self.push_row(cx, protocol, class, &ended);
                }
                Action::BeginFlow => cx.tally.open += 1,
                Action::Raw(raw) => self.send_raw(cx, raw),
            }
        }
        cx.tally.actions = actions;
        self.update_app(cx, index);
    }

    fn update_app(&mut self, cx: &mut Context<'_>, index: usize) {
        let placed = &mut self.apps[index];
        if !placed.done && placed.app.is_done() {
            placed.done = true;
            cx.tally.open -= 1;
        }
        let next = placed.app.next_poll();
        if next != Time::MAX {
            cx.lanes.queue.arm_by(cx.lanes.sources.app(self.id), next.max(cx.now));
        }
    }
}
