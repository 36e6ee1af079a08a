//! The two ends and the events between them.

use std::collections::BTreeMap;

use wiremend_proto::engine::{
    Completion, Expiry, Op, Outcome, Purpose, Requester as _, RequesterCounters, Responder as _,
    ResponderCounters, Work,
};
use wiremend_units::{Psn, QpNum, Span, Time};

use crate::host::{Host, Payload, Received, pattern};
use crate::lane::{Direction, Fate, Lane, Luck, Path, Sighting};
use crate::protocol::Protocol;

/// Two hosts with a connection.
pub struct Pair<P: Protocol> {
    protocol: P,
    now: Time,
    hosts: [Host<P>; 2],
    /// What A sends, what B sends.
    lanes: [Lane<P::Packet>; 2],
    /// What arrives when; things of one time in the order in which they were sent.
    under_way: BTreeMap<(Time, u64), Arriving<P::Packet>>,
    order: u64,
    /// Requests leave so long after one another at least.
    pace: Span,
    expired: Vec<Expired>,
    trace: Option<Vec<String>>,
    next_id: u64,
}

/// One of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The first end; sends forward.
    A,
    /// The second end; sends backward.
    B,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both ends have nothing left to do.
    Idle,
    /// Nothing will ever happen again although something is left to do.
    Stuck,
    /// The bound on events or time was reached.
    Bounded,
}

/// Why a retransmission timer expired (JCST §3.1, Figs. 2 to 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The responder has the packet: its acknowledgement was lost.
    TailAck,
    /// The responder has asked for the packet, and the question was lost.
    Nak,
    /// The question arrived, and what was sent because of it was lost.
    Twice,
    /// Nothing came behind the lost packet that would have shown the loss.
    TailPacket,
}

/// An expiry with its time and cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expired {
    /// When.
    pub at: Time,
    /// At which end.
    pub side: Side,
    /// What the requester says.
    pub expiry: Expiry,
    /// What both ends' states show.
    pub cause: Cause,
}

struct Arriving<P> {
    at: Side,
    packet: P,
    payload: Payload,
    path: u16,
}

/// What happens next.
enum Event {
    Arrival,
    RequesterTimer(Side),
    ResponderTimer(Side),
    Pull(Side),
    PortFree,
}

/// Events after which a run is given up.
const EVENTS_MAX: u64 = 3_000_000;
const SIDES: [Side; 2] = [Side::A, Side::B];

impl<P: Protocol> Pair<P> {
    /// Two ends 1 µs apart whose ports send a packet every 100 ns.
    pub fn new(protocol: P) -> Self {
        protocol.check().expect("a test configures what can work");
        let lane = || Lane::new(Span::from_us(1), Span::from_ns(100));
        Self {
            hosts: hosts(&protocol, Psn::new(0)),
            protocol,
            now: Time::ZERO,
            lanes: [lane(), lane()],
            under_way: BTreeMap::new(),
            order: 0,
            pace: Span::ZERO,
            expired: Vec::new(),
            trace: None,
            next_id: 1,
        }
    }

    /// Both ends number their packets from `first` on.
    pub fn starting_at(mut self, first: Psn) -> Self {
        self.hosts = hosts(&self.protocol, first);
        self
    }

    /// One-way delay of both lanes.
    pub fn delay(mut self, delay: Span) -> Self {
        self.lanes.iter_mut().for_each(|lane| lane.paths[0].0.delay = delay);
        self
    }

    /// Time that a full packet occupies the port of a direction. Answers that meet a busy port wait and coalesce.
    pub fn spacing(mut self, direction: Direction, spacing: Span) -> Self {
        self.lanes[direction as usize].spacing = spacing;
        self
    }

    /// What lies between the two ends, both ways. Packets take the path that their sender chooses.
    pub fn paths(mut self, paths: &[Path]) -> Self {
        for lane in &mut self.lanes {
            lane.paths = paths.iter().map(|path| (*path, Time::ZERO)).collect();
        }
        self
    }

    /// Loses these packets of a direction, counted from 1.
    pub fn drop_nth<const COUNT: usize>(self, direction: Direction, nths: [u64; COUNT]) -> Self {
        self.fate(direction, move |sighting| nths.contains(&sighting.nth))
    }

    /// Decides on the packets of a direction. Every rule sees every packet, in order; the first that does not let it pass decides.
    pub fn fate<F: Into<Fate<P::Packet>>>(
        mut self,
        direction: Direction,
        mut rule: impl FnMut(&Sighting<P::Packet>) -> F + 'static,
    ) -> Self {
        self.lanes[direction as usize].rule(Box::new(move |sighting| rule(sighting).into()));
        self
    }

    /// Lets chance act on all paths.
    pub fn impair(mut self, luck: Luck, seed: u64) -> Self {
        for lane in &mut self.lanes {
            lane.paths.iter_mut().for_each(|(path, _)| path.luck = luck);
        }
        self.seed(seed)
    }

    /// What chance depends on.
    pub fn seed(mut self, seed: u64) -> Self {
        self.lanes[0].seed(seed * 2);
        self.lanes[1].seed(seed * 2 + 1);
        self
    }

    /// A lets one packet be under way, and keeps it back for so long after the one before, as congestion control does whose
    /// window is less than a packet.
    pub fn pace(mut self, span: Span) -> Self {
        self.pace = span;
        self.hosts[0].requester.allow(1);
        self
    }

    /// Keeps a line per packet and expiry.
    pub fn traced(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    /// Posts a SEND.
    pub fn send(&mut self, side: Side, len: u32) {
        self.post(side, Op::Send, len, None);
    }

    /// Posts a WRITE into memory of its own at the peer.
    pub fn write(&mut self, side: Side, len: u32) {
        self.post(side, Op::Write, len, None);
    }

    /// Posts a READ of memory of its own at the peer.
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
        }
        let work = Work { id, op, len, addr, rkey: id as u32, imm };
        let host = &mut self.hosts[side as usize];
        host.post(work);
        host.requester.post(self.protocol.config(), self.now, work);
        self.settle();
    }

    /// Runs until both ends are idle, nothing can happen any more, or too much has happened.
    pub fn run_until_idle(&mut self) -> Ending {
        self.run(Time::MAX)
    }

    /// Runs until both ends are idle, and checks that [everything arrived](Self::assert_delivered).
    #[track_caller]
    pub fn run_until_delivered(&mut self) {
        assert_eq!(self.run_until_idle(), Ending::Idle);
        self.assert_delivered();
    }

    /// Runs for so long at most.
    pub fn run_for(&mut self, span: Span) -> Ending {
        let end = self.now + span;
        let ending = self.run(end);
        self.now = self.now.max(end);
        ending
    }

    fn run(&mut self, end: Time) -> Ending {
        for _ in 0..EVENTS_MAX {
            let Some((at, event)) = self.next_event() else {
                let idle = self.hosts.iter().all(Host::is_idle);
                return if idle { Ending::Idle } else { Ending::Stuck };
            };
            if at > end {
                return Ending::Bounded;
            }
            self.now = self.now.max(at);
            match event {
                Event::Arrival => {
                    let arriving = self.under_way.pop_first();
                    self.arrive(arriving.expect("something arrives").1);
                }
                Event::RequesterTimer(side) => self.on_timeout(side),
                Event::ResponderTimer(side) => self.hosts[side as usize].responder.on_timeout(self.now),
                Event::Pull(side) => self.pull(side),
                Event::PortFree => {}
            }
            self.settle();
        }
        Ending::Bounded
    }

    /// What comes first; of things at one time, packets before timers.
    fn next_event(&self) -> Option<(Time, Event)> {
        let arrival = self.under_way.first_key_value().map(|((at, _), _)| (*at, Event::Arrival));
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

    /// Hands a packet to the end that a direction leads to, as if it had come over the wire.
    pub fn inject(&mut self, direction: Direction, packet: P::Packet) {
        let at = if direction == Direction::Forward { Side::B } else { Side::A };
        self.arrive(Arriving { at, packet, payload: Payload::Forged, path: 0 });
        self.settle();
    }

    fn arrive(&mut self, arriving: Arriving<P::Packet>) {
        let Arriving { at, packet, payload, path } = arriving;
        let (host, config) = (&mut self.hosts[at as usize], self.protocol.config());
        if P::is_answer(packet) {
            host.requester.heard_by(path);
            if let Some(arrival) = host.requester.on_packet(config, self.now, &packet) {
                host.arrive(arrival, &payload);
            }
            return;
        }
        host.heard = path;
        let outcome = host.responder.on_packet(config, self.now, &packet);
        (0..P::take_owed(&mut host.responder)).for_each(|_| host.pulls.push(()));
        if let Outcome::Accepted { place, completed } = outcome {
            if let Some(place) = place {
                host.place(self.protocol.placing(), P::is_send(packet), place, &payload);
            }
            if let Some(message) = completed.filter(|_| !packet.into().is_dummy()) {
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

    /// Sends what can be sent, and reports what completed.
    fn settle(&mut self) {
        for side in SIDES {
            let host = &mut self.hosts[side as usize];
            host.completions.extend(std::iter::from_fn(|| host.requester.poll_completion()));
            while self.now >= self.lanes[side as usize].free_at && self.transmit(side) {}
        }
    }

    /// Answers go first.
    fn transmit(&mut self, side: Side) -> bool {
        let (host, config) = (&mut self.hosts[side as usize], self.protocol.config());
        let announced = (host.responder.has_output(), host.requester.ready(config, self.now));
        let (packet, payload, path, copy, again, pace);
        if let Some(answer) = host.responder.poll_transmit(config) {
            assert!(announced.0, "an answer is announced");
            let bytes = P::source(answer).map_or(Vec::new(), |(addr, len)| host.fetch(addr, len));
            (packet, payload, copy, again) = (answer, Payload::Response(bytes), 0, false);
            (path, pace) = (host.heard ^ host.responder.path_of(&answer), Span::ZERO);
        } else if let Some(sent) = host.requester.poll_transmit(config, self.now) {
            assert!(announced.1, "a request is announced");
            (packet, payload) = (sent.packet, Payload::Request(sent.work, sent.offset));
            (copy, again) = (sent.copy, sent.purpose == Purpose::Again);
            (path, pace) = (sent.path, self.pace);
        } else {
            return false;
        }
        let acknowledged = host.requester.acknowledged();
        let lane = &mut self.lanes[side as usize];
        let nth = lane.sent.len() as u64 + 1;
        let sighting = Sighting { at: self.now, packet, nth, copy, again, path, acknowledged };
        let arrivals = lane.carry(sighting, self.protocol.wire_share(packet));
        lane.free_at = lane.free_at.max(self.now + pace);
        self.note(side, &sighting, arrivals.is_empty());
        for (at, packet) in arrivals {
            self.order += 1;
            let arriving = Arriving { at: side.peer(), packet, payload: payload.clone(), path };
            self.under_way.insert((at, self.order), arriving);
        }
        true
    }

    fn on_timeout(&mut self, side: Side) {
        let host = &mut self.hosts[side as usize];
        let Some(expiry) = host.requester.on_timeout(self.protocol.config(), self.now) else { return };
        let (expected, nak_sent) = self.hosts[side.peer() as usize].responder.standing(expiry.path);
        let cause = if expected.distance(expiry.oldest) > 0 {
            Cause::TailAck
        } else if !nak_sent {
            Cause::TailPacket
        } else if expiry.nak_received {
            Cause::Twice
        } else {
            Cause::Nak
        };
        let fatal = if expiry.fatal { " fatal" } else { "" };
        let line = format!("{:?} timeout psn {}: {cause:?}{fatal}", side, expiry.oldest);
        self.trace.iter_mut().for_each(|trace| trace.push(line.clone()));
        self.expired.push(Expired { at: self.now, side, expiry, cause });
    }

    fn note(&mut self, side: Side, sighting: &Sighting<P::Packet>, lost: bool) {
        let Some(trace) = &mut self.trace else { return };
        let copy = if sighting.copy > 0 { format!(" copy {}", sighting.copy) } else { String::new() };
        let packet = P::describe(sighting.packet);
        trace.push(format!("{side:?} {packet}{copy}{}", if lost { " LOST" } else { "" }));
    }

    /// The lines kept by [`Self::traced`], in the order in which packets were sent.
    pub fn trace(&self) -> &[String] {
        self.trace.as_deref().unwrap_or_default()
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// One end.
    pub fn host(&mut self, side: Side) -> &mut Host<P> {
        &mut self.hosts[side as usize]
    }

    /// The requester of A.
    pub fn sender(&self) -> &P::Requester {
        &self.hosts[0].requester
    }

    /// The responder of B.
    pub fn receiver(&self) -> &P::Responder {
        &self.hosts[1].responder
    }

    /// What a requester has counted.
    pub fn requester(&self, side: Side) -> RequesterCounters {
        self.hosts[side as usize].requester.counters()
    }

    /// What a responder has counted.
    pub fn responder(&self, side: Side) -> ResponderCounters {
        self.hosts[side as usize].responder.counters()
    }

    /// What the works posted at an end came to.
    pub fn completions(&self, side: Side) -> &[Completion] {
        &self.hosts[side as usize].completions
    }

    /// Messages that arrived at an end.
    pub fn received(&self, side: Side) -> &[Received] {
        &self.hosts[side as usize].received
    }

    /// Payload bytes of requests that an end has put in their place, repetitions included.
    pub fn placed(&self, side: Side) -> u64 {
        self.hosts[side as usize].placed
    }

    /// Packets that a direction has carried, lost ones included.
    pub fn carried(&self, direction: Direction) -> u64 {
        self.sent(direction).len() as u64
    }

    /// These packets as they left.
    pub fn sent(&self, direction: Direction) -> &[Sighting<P::Packet>] {
        &self.lanes[direction as usize].sent
    }

    /// Packets that a direction has lost.
    pub fn lost(&self, direction: Direction) -> u64 {
        self.lanes[direction as usize].lost
    }

    /// Every expiry.
    pub fn expired(&self) -> &[Expired] {
        &self.expired
    }

    /// The causes of all expiries.
    pub fn causes(&self) -> Vec<Cause> {
        self.expired.iter().map(|expired| expired.cause).collect()
    }

    /// What is wrong with order, completions or memory; everything that completed must be there, byte for byte.
    pub fn check(&self) -> Result<(), String> {
        let ([a, b], placing) = (&self.hosts, self.protocol.placing());
        a.check(b, placing).and_then(|()| b.check(a, placing))
    }

    /// Everything posted completed with success, every byte is in its place, every message arrived once, and nothing is left to do.
    #[track_caller]
    pub fn assert_delivered(&self) {
        self.check().expect("what completed is there");
        for host in &self.hosts {
            assert_eq!(host.completions.len(), host.posted.len(), "everything posted completes");
            let failed = host.completions.iter().find(|completion| completion.status.code() != 0);
            assert_eq!(failed, None, "everything completes with success");
            assert!(host.is_idle(), "nothing is left to do");
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
    /// The other end.
    pub const fn peer(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}
