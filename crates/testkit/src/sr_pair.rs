//! A requester and a responder that repeat selectively, and the events between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use wiremend_proto::engine::{
    Completion, Expiry, Message, Op, Outcome, Place, Requester as _, Responder as _, Status, Work,
};
use wiremend_proto::sr::{Config, Packet, Requester, Responder};
use wiremend_units::{Psn, QpNum, Span, Time};

use crate::host::{pattern, payload};
use crate::lane::{Direction, Lane, Luck, Sighting};
use crate::pair::Ending;

/// A connection whose requester is at one end and whose responder is at the other.
pub struct SrPair {
    config: Config,
    now: Time,
    /// The cores.
    pub requester: Requester,
    /// The cores.
    pub responder: Responder,
    lanes: [Lane<Packet>; 2],
    events: BinaryHeap<Reverse<(Time, u64, What)>>,
    order: u64,
    timer: Time,
    /// Congestion control lets a packet go so long after the one before, from when on the next may.
    pace: Span,
    eligible: Time,
    posted: Vec<Work>,
    completions: Vec<Completion>,
    received: Vec<Message>,
    /// What WRITEs have put there.
    memory: Vec<u8>,
    /// The receive buffers of SENDs, by the number that packets name.
    buffers: BTreeMap<u64, Vec<u8>>,
    placed: u64,
    expired: Vec<Expiry>,
    wrong: Option<String>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum What {
    PortFree,
    Timer,
    Arrive(u8, Arriving),
}

/// A packet under way with its bytes, and the path it takes.
struct Arriving(Packet, Vec<u8>, u16);

/// Events after which a run is given up.
const EVENTS_MAX: u64 = 1_000_000;

impl SrPair {
    /// Two ends 1 µs apart whose ports send a packet every 100 ns.
    pub fn new(config: Config, first: Psn) -> Self {
        config.check().expect("a test configures what can work");
        let lane = || Lane::new(Span::from_us(1), Span::from_ns(100));
        Self {
            requester: Requester::new(&config, QpNum::new(2), first),
            responder: Responder::new(&config, QpNum::new(1), first),
            config,
            now: Time::ZERO,
            lanes: [lane(), lane()],
            events: BinaryHeap::new(),
            order: 0,
            timer: Time::MAX,
            pace: Span::ZERO,
            eligible: Time::ZERO,
            posted: Vec::new(),
            completions: Vec::new(),
            received: Vec::new(),
            memory: Vec::new(),
            buffers: BTreeMap::new(),
            placed: 0,
            expired: Vec::new(),
            wrong: None,
        }
    }

    /// Lets chance act on both lanes.
    pub fn impair(mut self, luck: Luck, seed: u64) -> Self {
        self.lanes[0].impair(luck, seed * 2);
        self.lanes[1].impair(luck, seed * 2 + 1);
        self
    }

    /// Keeps packets back for so long after the one before, as congestion control does whose window is less than a packet.
    pub fn pace(mut self, span: Span) -> Self {
        self.pace = span;
        self.requester.allow(1);
        self
    }

    /// Loses the packets of a direction for which the rule holds. It sees every packet, in order.
    pub fn drop_if(
        mut self,
        direction: Direction,
        rule: impl FnMut(&Sighting<Packet>) -> bool + 'static,
    ) -> Self {
        self.lanes[direction as usize].drop_if(Box::new(rule));
        self
    }

    /// Posts a SEND, or a WRITE into memory of its own.
    pub fn post(&mut self, op: Op, len: u32, imm: Option<u32>) {
        let id = self.posted.len() as u64 + 1;
        let addr = if op == Op::Send { 0 } else { self.memory.len() as u64 };
        if op == Op::Write {
            self.memory.resize(self.memory.len() + len as usize, 0);
        }
        let work = Work { id, op, len, addr, rkey: id as u32, imm };
        self.posted.push(work);
        self.requester.post(&self.config, self.now, work);
        self.settle();
    }

    /// Runs until nothing is left to do, nothing can happen any more, or too much has happened.
    pub fn run_until_idle(&mut self) -> Ending {
        self.run(Time::MAX)
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
            let Some(Reverse((at, ..))) = self.events.peek() else {
                return if self.requester.is_idle() { Ending::Idle } else { Ending::Stuck };
            };
            if *at > end {
                return Ending::Bounded;
            }
            let Some(Reverse((at, _, what))) = self.events.pop() else { break };
            self.now = at;
            match what {
                What::PortFree => {}
                What::Timer => {
                    self.timer = Time::MAX;
                    self.expired.extend(self.requester.on_timeout(&self.config, self.now));
                }
                What::Arrive(0, Arriving(packet, bytes, path)) => self.on_request(&packet, &bytes, path),
                What::Arrive(_, Arriving(packet, _, path)) => {
                    self.requester.heard_by(path);
                    self.requester.on_packet(&self.config, self.now, &packet);
                }
            }
            self.settle();
        }
        Ending::Bounded
    }

    fn on_request(&mut self, packet: &Packet, bytes: &[u8], path: u16) {
        let outcome = self.responder.on_packet(&self.config, self.now, packet);
        if let Outcome::Accepted { place: Some(place), .. } = outcome {
            self.place(packet, place, bytes);
        }
        while let Some(message) = self.responder.poll_message() {
            self.received.push(message);
        }
        while let Some(answer) = self.responder.poll_transmit(&self.config) {
            self.carry(1, answer, &[], 0, path);
        }
    }

    /// No byte is placed twice.
    fn place(&mut self, packet: &Packet, place: Place, bytes: &[u8]) {
        self.placed += place.len as u64;
        let from = place.offset as usize;
        let is_send = packet.opcode() <= wiremend_wire::Opcode::SendOnlyImm;
        let (memory, from) = if is_send {
            let buffer = self.buffers.entry(place.addr).or_default();
            buffer.resize(buffer.len().max(from + bytes.len()), 0);
            (buffer, from)
        } else {
            (&mut self.memory, place.addr as usize + from)
        };
        match memory.get_mut(from..from + bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => self.wrong = Some(format!("placed outside of memory: {place:?}")),
        }
    }

    /// Sends what can be sent, reports what completed, sets the timer.
    fn settle(&mut self) {
        self.completions.extend(std::iter::from_fn(|| self.requester.poll_completion()));
        while self.now >= self.lanes[0].free_at.max(self.eligible)
            && let Some(sent) = self.requester.poll_transmit(&self.config, self.now)
        {
            let bytes = payload(sent.work, sent.offset, sent.packet.payload_len());
            self.carry(0, sent.packet, &bytes, sent.copy, sent.path);
            self.eligible = self.now + self.pace;
            self.schedule(self.lanes[0].free_at.max(self.eligible), What::PortFree);
        }
        if let Some(due) = self.requester.next_timeout().filter(|due| *due < self.timer) {
            self.timer = due.max(self.now);
            self.schedule(self.timer, What::Timer);
        }
    }

    fn carry(&mut self, lane: u8, packet: Packet, bytes: &[u8], copy: u8, path: u16) {
        for at in self.lanes[usize::from(lane)].carry(self.now, packet, copy) {
            self.schedule(at, What::Arrive(lane, Arriving(packet, bytes.to_vec(), path)));
        }
    }

    fn schedule(&mut self, at: Time, what: What) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, what)));
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the works posted came to.
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// Payload bytes that were put in their place, repetitions included.
    pub fn placed(&self) -> u64 {
        self.placed
    }

    /// Every expiry of the retransmission timer.
    pub fn expired(&self) -> &[Expiry] {
        &self.expired
    }

    /// Packets that a direction has carried, lost ones included.
    pub fn carried(&self, direction: Direction) -> u64 {
        self.lanes[direction as usize].carried
    }

    /// What is wrong: every message that completed was received once, in order, with all its bytes; completions are in
    /// order and end with a reason.
    pub fn check(&self) -> Result<(), String> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let ids = self.completions.iter().map(|completion| completion.id);
        if !ids.eq(self.posted.iter().take(self.completions.len()).map(|work| work.id)) {
            return Err("completions are not in the order of posting".to_owned());
        }
        let done = self.completions.iter().take_while(|done| done.status == Status::Success).count();
        let rest = &self.completions[done..];
        if rest.iter().skip(1).any(|completion| completion.status != Status::Flushed) {
            return Err(format!("after a failure all is flushed: {rest:?}"));
        }
        if self.received.len() < done || self.received.len() > self.posted.len() {
            return Err(format!("{} received of {done} completed", self.received.len()));
        }
        for (work, message) in self.posted.iter().zip(&self.received) {
            if (message.op, message.len, message.imm) != (work.op, work.len, work.imm) {
                return Err(format!("{work:?} arrived as {message:?}"));
            }
        }
        self.check_bytes()
    }

    fn check_bytes(&self) -> Result<(), String> {
        let mut buffers = self.buffers.values();
        for work in &self.posted[..self.received.len()] {
            let region = work.addr as usize..work.addr as usize + work.len as usize;
            let bytes = match work.op {
                _ if work.len == 0 => &[],
                Op::Send => buffers.next().map_or(&[][..], Vec::as_slice),
                _ => &self.memory[region],
            };
            let right = bytes.len() == work.len as usize
                && bytes.iter().zip(0..).all(|(byte, at)| *byte == pattern(work.id, at));
            if !right {
                return Err(format!("bytes of {work:?} are wrong"));
            }
        }
        Ok(())
    }
}

/// Events at one time are told apart by their order.
impl PartialEq for Arriving {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Arriving {}

impl PartialOrd for Arriving {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Arriving {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}
