//! Two connected hosts and the events between them.

use std::collections::BTreeMap;

use wiremend_proto::engine::{
    Completion, Expiry, Op, Purpose, RequestOutcome, Requester as _, RequesterCounters, Responder as _,
    ResponderCounters, Work,
};
use wiremend_units::{Psn, QpNum, Span, Time};

use crate::host::{Host, Payload, ReceivedMessage, pattern};
use crate::lane::{Direction, Fate, Lane, Path, RandomFaults, SentPacket};
use crate::protocol::Protocol;

/// Two hosts with a connection.
pub struct Pair<P: Protocol> {
    protocol: P,
    now: Time,
    hosts: [Host<P>; 2],
    /// Lanes from A and from B.
    lanes: [Lane<P::Packet>; 2],
    /// Packets in flight by arrival time and order of departure.
    in_flight: BTreeMap<(Time, u64), Arriving<P::Packet>>,
    order: u64,
    pace: Span,
    expired: Vec<TimeoutRecord>,
    trace: Option<Vec<String>>,
    next_id: u64,
}

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// First host; sends forward.
    A,
    /// Second host; sends backward.
    B,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// Both hosts are idle.
    Idle,
    /// No event is left, but a host is not idle.
    Stuck,
    /// The limit of events or time was reached.
    LimitReached,
}

/// Cause of a retransmission timeout (JCST §3.1, Figs. 2 to 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutCause {
    /// The responder has the packet; its ACK was lost.
    TailAck,
    /// The responder has sent a NAK, which was lost.
    Nak,
    /// The NAK arrived, and the retransmission was lost.
    Twice,
    /// No later packet has shown the loss.
    TailPacket,
}

/// A retransmission timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeoutRecord {
    /// Time.
    pub at: Time,
    /// Host.
    pub side: Side,
    /// Report of the requester.
    pub expiry: Expiry,
    /// Cause, from the states of both ends.
    pub cause: TimeoutCause,
}

struct Arriving<P> {
    at: Side,
    packet: P,
    payload: Payload,
    path: u16,
}

enum Event {
    Arrival,
    RequesterTimer(Side),
    ResponderTimer(Side),
    Pull(Side),
    PortFree,
}

const EVENTS_MAX: u64 = 3_000_000;
const SIDES: [Side; 2] = [Side::A, Side::B];

impl<P: Protocol> Pair<P> {
    /// Two hosts 1 µs apart whose ports send a packet every 100 ns.
    pub fn new(protocol: P) -> Self {
        protocol.check().expect("the configuration is valid");
        let lane = || Lane::new(Span::from_us(1), Span::from_ns(100));
        Self {
            hosts: hosts(&protocol, Psn::new(0)),
            protocol,
            now: Time::ZERO,
            lanes: [lane(), lane()],
            in_flight: BTreeMap::new(),
            order: 0,
            pace: Span::ZERO,
            expired: Vec::new(),
            trace: None,
            next_id: 1,
        }
    }

    /// Sets the first packet number of both hosts.
    pub fn starting_at(mut self, first: Psn) -> Self {
        self.hosts = hosts(&self.protocol, first);
        self
    }

    /// Sets the one-way delay of both lanes.
    pub fn delay(mut self, delay: Span) -> Self {
        self.lanes.iter_mut().for_each(|lane| lane.paths[0].0.delay = delay);
        self
    }

    /// Sets the transmission time of a full packet at the port of a direction. Responses at a busy port wait
    /// and coalesce.
    pub fn spacing(mut self, direction: Direction, spacing: Span) -> Self {
        self.lanes[direction as usize].spacing = spacing;
        self
    }

    /// Sets the paths of both directions. The sender chooses the path of a packet.
    pub fn paths(mut self, paths: &[Path]) -> Self {
        for lane in &mut self.lanes {
            lane.paths = paths.iter().map(|path| (*path, Time::ZERO)).collect();
        }
        self
    }

    /// Drops these packets of a direction, counted from 1.
    pub fn drop_nth<const COUNT: usize>(self, direction: Direction, nths: [u64; COUNT]) -> Self {
        self.fate(direction, move |sent| nths.contains(&sent.nth))
    }

    /// Adds a rule for the packets of a direction. Every rule sees every packet; the first that does not pass
    /// it decides.
    pub fn fate<F: Into<Fate<P::Packet>>>(
        mut self,
        direction: Direction,
        mut rule: impl FnMut(&SentPacket<P::Packet>) -> F + 'static,
    ) -> Self {
        self.lanes[direction as usize].rule(Box::new(move |sent| rule(sent).into()));
        self
    }

    /// Sets random faults on all paths.
    pub fn impair(mut self, faults: RandomFaults, seed: u64) -> Self {
        for lane in &mut self.lanes {
            lane.paths.iter_mut().for_each(|(path, _)| path.faults = faults);
        }
        self.seed(seed)
    }

    /// Sets the seed of random faults.
    pub fn seed(mut self, seed: u64) -> Self {
        self.lanes[0].seed(seed * 2);
        self.lanes[1].seed(seed * 2 + 1);
        self
    }

    /// Limits A to one packet in flight and spaces its requests, as congestion control with a window below
    /// one packet does.
    pub fn pace(mut self, span: Span) -> Self {
        self.pace = span;
        self.hosts[0].requester.set_window(1);
        self
    }

    /// Records a line per packet and timeout.
    pub fn traced(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    /// Posts a SEND.
    pub fn send(&mut self, side: Side, len: u32) {
        self.post(side, Op::Send, len, None);
    }

    /// Posts a WRITE to new memory of the peer.
    pub fn write(&mut self, side: Side, len: u32) {
        self.post(side, Op::Write, len, None);
    }

    /// Posts a READ of new memory of the peer.
    pub fn read(&mut self, side: Side, len: u32) {
        self.post(side, Op::Read, len, None);
    }

    /// Posts a work request and sends what can be sent.
    pub fn post(&mut self, side: Side, op: Op, len: u32, imm: Option<u32>) {
        let id = self.next_id;
        self.next_id += 1;
        let memory = &mut self.hosts[side.peer() as usize].memory;
        let addr = if op == Op::Send { 0 } else { memory.len() as u64 };
        match op {
            Op::Send => {}
            Op::Write => memory.resize(memory.len() + len as usize, 0),
            Op::Read => memory.extend((0..len).map(|at| pattern(id, at))),
            other => panic!("{other:?} is not for these hosts"),
        }
        let work = Work { id, op, len, addr, rkey: id as u32, imm };
        let host = &mut self.hosts[side as usize];
        host.post(work);
        host.requester.post(self.protocol.config(), self.now, work);
        self.settle();
    }

    /// Runs until both hosts are idle, no event is left, or the limit is reached.
    pub fn run_until_idle(&mut self) -> RunEnd {
        self.run(Time::MAX)
    }

    /// Runs until both hosts are idle and [checks delivery](Self::assert_delivered).
    #[track_caller]
    pub fn run_until_delivered(&mut self) {
        assert_eq!(self.run_until_idle(), RunEnd::Idle);
        self.assert_delivered();
    }

    /// Runs for at most this time.
    pub fn run_for(&mut self, span: Span) -> RunEnd {
        let end = self.now + span;
        let ending = self.run(end);
        self.now = self.now.max(end);
        ending
    }

    fn run(&mut self, end: Time) -> RunEnd {
        for _ in 0..EVENTS_MAX {
            let Some((at, event)) = self.next_event() else {
                let idle = self.hosts.iter().all(Host::is_idle);
                return if idle { RunEnd::Idle } else { RunEnd::Stuck };
            };
            if at > end {
                return RunEnd::LimitReached;
            }
            self.now = self.now.max(at);
            match event {
                Event::Arrival => {
                    let arriving = self.in_flight.pop_first();
                    self.arrive(arriving.expect("a packet arrives").1);
                }
                Event::RequesterTimer(side) => self.on_timeout(side),
                Event::ResponderTimer(side) => self.hosts[side as usize].responder.on_timeout(self.now),
                Event::Pull(side) => self.pull(side),
                Event::PortFree => {}
            }
            self.settle();
        }
        RunEnd::LimitReached
    }

    /// Returns the next event. At equal times packets come before timers.
    fn next_event(&self) -> Option<(Time, Event)> {
        let arrival = self.in_flight.first_key_value().map(|((at, _), _)| (*at, Event::Arrival));
        let of_side = |side: Side| {
            let (host, lane) = (&self.hosts[side as usize], &self.lanes[side as usize]);
            let pull = Some(host.pulls.due()).filter(|due| *due != Time::MAX);
            let free = Some(lane.free_at).filter(|at| *at > self.now);
            [
                host.requester.next_timeout().map(|at| (at, Event::RequesterTimer(side))),
                host.responder.next_timeout().map(|at| (at, Event::ResponderTimer(side))),
                pull.map(|at| (at, Event::Pull(side))),
                free.map(|at| (at, Event::PortFree)),
            ]
        };
        let of_sides = SIDES.into_iter().flat_map(of_side);
        std::iter::once(arrival).chain(of_sides).flatten().min_by_key(|(at, _)| *at)
    }

    /// Delivers a packet at the end of a direction, as if it had arrived over the wire.
    pub fn inject(&mut self, direction: Direction, packet: P::Packet) {
        let at = if direction == Direction::Forward { Side::B } else { Side::A };
        self.arrive(Arriving { at, packet, payload: Payload::Forged, path: 0 });
        self.settle();
    }

    fn arrive(&mut self, arriving: Arriving<P::Packet>) {
        let Arriving { at, packet, payload, path } = arriving;
        let (host, config) = (&mut self.hosts[at as usize], self.protocol.config());
        if P::is_answer(packet) {
            host.requester.on_response_path(path);
            if let Some(arrival) = host.requester.on_packet(config, self.now, &packet) {
                host.arrive(arrival, &payload);
            }
            return;
        }
        host.last_path = path;
        let outcome = host.responder.on_packet(config, self.now, &packet);
        (0..P::take_pulls_owed(&mut host.responder)).for_each(|_| host.pulls.push(()));
        if let RequestOutcome::Accepted { placement: place, completed } = outcome {
            if let Some(place) = place {
                host.place(self.protocol.payload_order(), P::is_send_opcode(packet), place, &payload);
            }
            if let Some(message) = completed.filter(|_| !host.is_dummy(&packet.into())) {
                host.complete(message);
            }
        }
        while let Some(message) = host.responder.poll_message() {
            host.complete(message);
        }
    }

    fn pull(&mut self, side: Side) {
        let (host, lane) = (&mut self.hosts[side as usize], &self.lanes[side as usize]);
        if host.pulls.pop(self.now, lane.spacing, |()| true).is_some() {
            P::grant_pull(&mut host.responder);
        }
    }

    /// Sends what can be sent and collects completions.
    fn settle(&mut self) {
        for side in SIDES {
            let host = &mut self.hosts[side as usize];
            host.completions.extend(std::iter::from_fn(|| host.requester.poll_completion()));
            while self.now >= self.lanes[side as usize].free_at && self.transmit(side) {}
        }
    }

    /// Sends one packet, responses first. Returns whether there was one.
    fn transmit(&mut self, side: Side) -> bool {
        let (host, config) = (&mut self.hosts[side as usize], self.protocol.config());
        let announced = (host.responder.has_output(), host.requester.ready(config, self.now));
        let (packet, payload, path, copy, again, pace);
        if let Some(answer) = host.responder.poll_transmit(config) {
            assert!(announced.0, "has_output announces a response");
            let bytes = P::source(answer).map_or(Vec::new(), |(addr, len)| host.fetch(addr, len));
            (packet, payload, copy, again) = (answer, Payload::Response(bytes), 0, false);
            (path, pace) = (host.last_path ^ host.responder.response_path(&answer), Span::ZERO);
        } else if let Some(sent) = host.requester.poll_transmit(config, self.now) {
            assert!(announced.1, "ready announces a request");
            (packet, payload) = (sent.packet, Payload::Request(sent.work, sent.offset));
            (copy, again) = (sent.copy, sent.purpose == Purpose::Retransmission);
            (path, pace) = (sent.path, self.pace);
        } else {
            return false;
        }
        let acknowledged = host.requester.acknowledged();
        let lane = &mut self.lanes[side as usize];
        let nth = lane.sent.len() as u64 + 1;
        let sent = SentPacket { at: self.now, packet, nth, copy, again, path, acknowledged };
        let arrivals = lane.carry(sent, self.protocol.wire_share(packet));
        lane.free_at = lane.free_at.max(self.now + pace);
        self.note(side, &sent, arrivals.is_empty());
        for (at, packet) in arrivals {
            self.order += 1;
            let arriving = Arriving { at: side.peer(), packet, payload: payload.clone(), path };
            self.in_flight.insert((at, self.order), arriving);
        }
        true
    }

    fn on_timeout(&mut self, side: Side) {
        let host = &mut self.hosts[side as usize];
        let Some(expiry) = host.requester.on_timeout(self.protocol.config(), self.now) else { return };
        let (expected, nak_sent) = self.hosts[side.peer() as usize].responder.path_state(expiry.path);
        let cause = if expected.distance(expiry.oldest) > 0 {
            TimeoutCause::TailAck
        } else if !nak_sent {
            TimeoutCause::TailPacket
        } else if expiry.nak_received {
            TimeoutCause::Twice
        } else {
            TimeoutCause::Nak
        };
        let fatal = if expiry.fatal { " fatal" } else { "" };
        let line = format!("{:?} timeout psn {}: {cause:?}{fatal}", side, expiry.oldest);
        self.trace.iter_mut().for_each(|trace| trace.push(line.clone()));
        self.expired.push(TimeoutRecord { at: self.now, side, expiry, cause });
    }

    fn note(&mut self, side: Side, sent: &SentPacket<P::Packet>, lost: bool) {
        let Some(trace) = &mut self.trace else { return };
        let copy = if sent.copy > 0 { format!(" copy {}", sent.copy) } else { String::new() };
        let packet = P::describe(sent.packet);
        trace.push(format!("{side:?} {packet}{copy}{}", if lost { " LOST" } else { "" }));
    }

    /// Lines recorded by [`Self::traced`], in order of departure.
    pub fn trace(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// Current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// A host.
    pub fn host(&mut self, side: Side) -> &mut Host<P> {
        &mut self.hosts[side as usize]
    }

    /// Requester of A.
    pub fn sender(&self) -> &P::Requester {
        &self.hosts[0].requester
    }

    /// Responder of B.
    pub fn receiver(&self) -> &P::Responder {
        &self.hosts[1].responder
    }

    /// Counters of a requester.
    pub fn requester(&self, side: Side) -> RequesterCounters {
        self.hosts[side as usize].requester.counters()
    }

    /// Counters of a responder.
    pub fn responder(&self, side: Side) -> ResponderCounters {
        self.hosts[side as usize].responder.counters()
    }

    /// Completions of a host.
    pub fn completions(&self, side: Side) -> &[Completion] {
        &self.hosts[side as usize].completions
    }

    /// Messages that arrived at a host.
    pub fn received(&self, side: Side) -> &[ReceivedMessage] {
        &self.hosts[side as usize].received
    }

    /// Payload bytes that requests have written at a host, duplicates included.
    pub fn placed(&self, side: Side) -> u64 {
        self.hosts[side as usize].placed
    }

    /// Packets sent in a direction, lost ones included.
    pub fn carried(&self, direction: Direction) -> u64 {
        self.sent(direction).len() as u64
    }

    /// Packets sent in a direction.
    pub fn sent(&self, direction: Direction) -> &[SentPacket<P::Packet>] {
        &self.lanes[direction as usize].sent
    }

    /// Packets lost in a direction.
    pub fn lost(&self, direction: Direction) -> u64 {
        self.lanes[direction as usize].lost
    }

    /// All timeouts.
    pub fn expired(&self) -> &[TimeoutRecord] {
        &self.expired
    }

    /// Causes of all timeouts.
    pub fn causes(&self) -> Vec<TimeoutCause> {
        self.expired.iter().map(|expired| expired.cause).collect()
    }

    /// Checks order, completions and memory: everything that completed must have arrived, byte for byte.
    pub fn check(&self) -> Result<(), String> {
        let ([a, b], payload_order) = (&self.hosts, self.protocol.payload_order());
        a.check(b, payload_order).and_then(|()| b.check(a, payload_order))
    }

    /// Asserts that all works completed with success, all bytes and messages arrived once, and both hosts are
    /// idle.
    #[track_caller]
    pub fn assert_delivered(&self) {
        self.check().expect("completed works have arrived");
        for host in &self.hosts {
            assert_eq!(host.completions.len(), host.posted.len(), "all works complete");
            let failed = host.completions.iter().find(|completion| completion.status.code() != 0);
            assert_eq!(failed, None, "all works succeed");
            assert!(host.is_idle(), "the host is idle");
        }
    }
}

fn hosts<P: Protocol>(protocol: &P, first: Psn) -> [Host<P>; 2] {
    SIDES.map(|side| {
        let peer = QpNum::new(side.peer() as u32 + 1);
        Host::new(protocol.requester(peer, first), protocol.responder(peer, first))
    })
}

impl Side {
    /// The other host.
    pub const fn peer(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}
