//! The two ends and the events between them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wiremend_proto::engine::{
    Completion, Expiry, Op, Outcome, Requester as _, RequesterCounters, Responder as _, ResponderCounters,
    Work,
};
use wiremend_proto::rc::{Config, Event, Packet, Qp};
use wiremend_units::{Psn, QpNum, Span, Time};

use crate::host::{Host, Received, pattern, payload};
use crate::lane::{Direction, Lane, Luck, Sighting};

/// Two connected queue pairs.
pub struct Pair {
    config: Config,
    now: Time,
    hosts: [Host; 2],
    /// What A sends, what B sends.
    lanes: [Lane; 2],
    events: BinaryHeap<Reverse<Due>>,
    order: u64,
    timers: [Time; 2],
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

struct Due {
    at: Time,
    order: u64,
    what: What,
}

enum What {
    Arrive(Side, Packet, Vec<u8>),
    PortFree(Side),
    Timer(Side),
}

/// Events after which a run is given up.
const EVENTS_MAX: u64 = 2_000_000;

impl Pair {
    /// Two ends 1 µs apart whose ports send a packet every 100 ns.
    pub fn new(config: Config) -> Self {
        config.check().expect("a test configures what can work");
        let lane = || Lane::new(Span::from_us(1), Span::from_ns(100));
        Self {
            config,
            now: Time::ZERO,
            hosts: [host(Side::A, Psn::new(0)), host(Side::B, Psn::new(0))],
            lanes: [lane(), lane()],
            events: BinaryHeap::new(),
            order: 0,
            timers: [Time::MAX; 2],
            expired: Vec::new(),
            trace: None,
            next_id: 1,
        }
    }

    /// Both ends number their packets from `first` on.
    pub fn starting_at(mut self, first: Psn) -> Self {
        self.hosts = [host(Side::A, first), host(Side::B, first)];
        self
    }

    /// One-way delay of both lanes.
    pub fn delay(mut self, delay: Span) -> Self {
        self.lanes.iter_mut().for_each(|lane| lane.delay = delay);
        self
    }

    /// Time that a packet occupies the port of a direction. Answers that meet a busy port wait and coalesce.
    pub fn spacing(mut self, direction: Direction, spacing: Span) -> Self {
        self.lanes[direction as usize].spacing = spacing;
        self
    }

    /// Loses the `nth` packet of a direction, counted from 1.
    pub fn drop_nth(self, direction: Direction, nth: u64) -> Self {
        self.drop_if(direction, move |sighting| sighting.nth == nth)
    }

    /// Loses the packets of a direction for which the rule holds. It sees every packet, in order.
    pub fn drop_if(mut self, direction: Direction, rule: impl FnMut(&Sighting) -> bool + 'static) -> Self {
        self.lanes[direction as usize].drop_if(Box::new(rule));
        self
    }

    /// Lets chance act on both lanes.
    pub fn impair(mut self, luck: Luck, seed: u64) -> Self {
        self.lanes[0].impair(luck, seed * 2);
        self.lanes[1].impair(luck, seed * 2 + 1);
        self
    }

    /// Keeps a line per packet and expiry.
    pub fn traced(mut self) -> Self {
        self.trace = Some(Vec::new());
        self
    }

    /// Posts a SEND.
    pub fn send(&mut self, side: Side, len: u32) -> u64 {
        self.post(side, Op::Send, len, None)
    }

    /// Posts a WRITE into memory of its own at the peer.
    pub fn write(&mut self, side: Side, len: u32) -> u64 {
        self.post(side, Op::Write, len, None)
    }

    /// Posts a READ of memory of its own at the peer.
    pub fn read(&mut self, side: Side, len: u32) -> u64 {
        self.post(side, Op::Read, len, None)
    }

    /// Posts a work request and sends what can be sent.
    pub fn post(&mut self, side: Side, op: Op, len: u32, imm: Option<u32>) -> u64 {
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
        host.qp.requester.post(&self.config, self.now, work);
        self.settle(side);
        id
    }

    /// Runs until both ends are idle, nothing can happen any more, or too much has happened.
    pub fn run_until_idle(&mut self) -> Ending {
        self.run(Time::MAX, EVENTS_MAX)
    }

    /// Runs for so long at most.
    pub fn run_for(&mut self, span: Span) -> Ending {
        let end = self.now + span;
        let ending = self.run(end, EVENTS_MAX);
        self.now = self.now.max(end);
        ending
    }

    fn run(&mut self, end: Time, events_max: u64) -> Ending {
        for _ in 0..events_max {
            let Some(Reverse(due)) = self.events.peek() else {
                let idle = self.hosts.iter().all(|host| host.qp.is_idle());
                return if idle { Ending::Idle } else { Ending::Stuck };
            };
            if due.at > end {
                return Ending::Bounded;
            }
            let Some(Reverse(due)) = self.events.pop() else { break };
            self.now = due.at;
            let side = match due.what {
                What::Arrive(side, packet, bytes) => {
                    self.arrive(side, &packet, &bytes);
                    side
                }
                What::PortFree(side) => side,
                What::Timer(side) => {
                    self.timer(side);
                    side
                }
            };
            self.settle(side);
        }
        Ending::Bounded
    }

    /// Hands a packet to the end that a direction leads to, as if it had come over the wire.
    pub fn inject(&mut self, direction: Direction, packet: &Packet) {
        let side = if direction == Direction::Forward { Side::B } else { Side::A };
        self.arrive(side, packet, &vec![0xEE; packet.payload_len as usize]);
        self.settle(side);
    }

    fn arrive(&mut self, side: Side, packet: &Packet, bytes: &[u8]) {
        let host = &mut self.hosts[side as usize];
        match host.qp.on_packet(&self.config, self.now, packet) {
            Event::Request(Outcome::Accepted { place, completed }) => {
                let send = packet.opcode <= wiremend_wire::Opcode::SendOnlyImm;
                if let Some(place) = place {
                    host.place(send, place, bytes, self.config.recovery);
                }
                if let Some(message) = completed.filter(|_| !packet.is_dummy()) {
                    host.complete(message);
                }
            }
            Event::Answer(Some(arrival)) => host.arrive(arrival, bytes),
            Event::Request(_) | Event::Answer(None) => {}
        }
    }

    /// Sends what can be sent, reports what completed, sets the timer.
    fn settle(&mut self, side: Side) {
        let host = &mut self.hosts[side as usize];
        while let Some(completion) = host.qp.requester.poll_completion() {
            host.completions.push(completion);
        }
        while self.now >= self.lanes[side as usize].free_at && self.transmit(side) {}
        let deadline = self.hosts[side as usize].qp.requester.next_timeout();
        if let Some(deadline) = deadline.filter(|deadline| *deadline < self.timers[side as usize]) {
            self.timers[side as usize] = deadline;
            self.schedule(deadline, What::Timer(side));
        }
    }

    /// Answers go first.
    fn transmit(&mut self, side: Side) -> bool {
        let host = &mut self.hosts[side as usize];
        let (packet, bytes, copy) = if let Some(packet) = host.qp.responder.poll_transmit(&self.config) {
            let bytes = packet.source().map(|addr| host.fetch(addr, packet.payload_len));
            (packet, bytes.unwrap_or_default(), 0)
        } else if let Some(transmit) = host.qp.requester.poll_transmit(&self.config, self.now) {
            let bytes = payload(transmit.work, transmit.offset, transmit.packet.payload_len);
            (transmit.packet, bytes, transmit.copy)
        } else {
            return false;
        };
        let lane = &mut self.lanes[side as usize];
        let arrivals = lane.carry(self.now, packet, copy);
        let free_at = lane.free_at;
        self.note(side, &packet, copy, arrivals.is_empty());
        for at in arrivals {
            self.schedule(at, What::Arrive(side.peer(), packet, bytes.clone()));
        }
        if free_at > self.now {
            self.schedule(free_at, What::PortFree(side));
        }
        true
    }

    fn timer(&mut self, side: Side) {
        self.timers[side as usize] = Time::MAX;
        let Some(expiry) = self.hosts[side as usize].qp.requester.on_timeout(&self.config, self.now) else {
            return;
        };
        let responder = &self.hosts[side.peer() as usize].qp.responder;
        let cause = if responder.expected().distance(expiry.oldest) > 0 {
            Cause::TailAck
        } else if !responder.nak_sent() {
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

    fn schedule(&mut self, at: Time, what: What) {
        self.order += 1;
        self.events.push(Reverse(Due { at, order: self.order, what }));
    }

    fn note(&mut self, side: Side, packet: &Packet, copy: u8, lost: bool) {
        let Some(trace) = &mut self.trace else { return };
        let copy = if copy > 0 { format!(" copy {copy}") } else { String::new() };
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

    /// Both cores of an end.
    pub fn qp(&mut self, side: Side) -> &mut Qp {
        &mut self.hosts[side as usize].qp
    }

    /// What a requester has counted.
    pub fn requester(&self, side: Side) -> RequesterCounters {
        self.hosts[side as usize].qp.requester.counters()
    }

    /// What a responder has counted.
    pub fn responder(&self, side: Side) -> ResponderCounters {
        self.hosts[side as usize].qp.responder.counters()
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
        self.lanes[direction as usize].carried
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
        let [a, b] = &self.hosts;
        a.check(b).and_then(|()| b.check(a))
    }

    /// Everything posted completed with success, every byte is in its place, every message arrived once.
    pub fn assert_delivered(&self) {
        self.check().expect("what completed is there");
        for host in &self.hosts {
            assert_eq!(host.completions.len(), host.posted.len(), "everything posted completes");
            let failed = host.completions.iter().find(|completion| completion.status.code() != 0);
            assert_eq!(failed, None, "everything completes with success");
        }
    }
}

fn host(side: Side, first: Psn) -> Host {
    Host::new(Qp::new(QpNum::new(side.peer() as u32 + 1), first, first))
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

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
