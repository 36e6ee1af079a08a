//! The two ends of a connection with several subflows, a wire each way for each of them, and a clock that only moves when nothing is
//! left to do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use wiremend_proto::engine::{Completion, Op, Outcome, Purpose, Requester as _, Responder as _, Work};
use wiremend_proto::tcp::multipath::{Receiver, Sender};
use wiremend_proto::tcp::{Config, Segment};
use wiremend_testkit::{Dice, Luck};
use wiremend_units::{QpNum, Span, Time};

/// The wires of a subflow.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) delay: Span,
    /// A full segment takes so long, a shorter one less.
    pub(crate) spacing: Span,
    /// Whatever would have to wait longer finds no room.
    pub(crate) queue: Span,
    pub(crate) luck: Luck,
    /// Nothing comes through, either way.
    pub(crate) cut: Range<Time>,
    pub(crate) free_at: Time,
}

impl Path {
    pub(crate) fn new(delay: Span, spacing: Span) -> Self {
        let (queue, luck, never) = (Span::from_ms(1_000), Luck::default(), Time::MAX..Time::MAX);
        Self { delay, spacing, queue, luck, cut: never, free_at: Time::ZERO }
    }

    pub(crate) fn cut(self, from: Time, to: Time) -> Self {
        Self { cut: from..to, ..self }
    }
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    pub(crate) at: Time,
    pub(crate) subflow: usize,
    pub(crate) len: u16,
    pub(crate) syn: bool,
    pub(crate) again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    Sender,
    Receiver,
}

pub(crate) struct Bundle {
    pub(crate) config: Config,
    pub(crate) now: Time,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) paths: Vec<Path>,
    pub(crate) sent: Vec<Sighting>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) messages: Vec<u32>,
    /// The most data that were sent and not acknowledged at a time.
    pub(crate) most_open: u64,
    under_way: BinaryHeap<Reverse<(Time, usize, End)>>,
    packets: Vec<Segment>,
    dice: Dice,
    posted: u64,
}

impl Bundle {
    pub(crate) fn new(config: Config, paths: Vec<Path>) -> Self {
        config.check().unwrap();
        let subflows = paths.len() as u8;
        Self {
            sender: Sender::new(&config, QpNum::new(2), 5, subflows),
            receiver: Receiver::new(&config, QpNum::new(1), subflows),
            config,
            now: Time::ZERO,
            paths,
            sent: Vec::new(),
            completions: Vec::new(),
            messages: Vec::new(),
            most_open: 0,
            under_way: BinaryHeap::new(),
            packets: Vec::new(),
            dice: Dice::new(0),
            posted: 0,
        }
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.dice = Dice::new(seed);
        self
    }

    pub(crate) fn post(&mut self, len: u32) {
        self.posted += 1;
        let work = Work { id: self.posted, op: Op::Send, len, addr: 0, rkey: 0, imm: None };
        self.sender.post(&self.config, self.now, work);
    }

    /// Until nothing is under way, nobody waits, or the time has come; false if it takes too many steps.
    pub(crate) fn run_until(&mut self, end: Time) -> bool {
        for _ in 0..3_000_000 {
            if !self.step(end) {
                return true;
            }
        }
        false
    }

    pub(crate) fn run(&mut self) -> bool {
        self.run_until(Time::MAX)
    }

    fn step(&mut self, end: Time) -> bool {
        self.drain();
        let arrival = self.under_way.peek().map(|Reverse((at, ..))| *at);
        let timers = [self.sender.next_timeout(), self.receiver.next_timeout()];
        let next = timers.into_iter().chain([arrival]).flatten().min();
        let Some(next) = next.filter(|next| *next <= end) else {
            self.now = if end == Time::MAX { self.now } else { end };
            return false;
        };
        self.now = self.now.max(next);
        while let Some(Reverse((at, index, to))) = self.under_way.peek().copied()
            && at <= self.now
        {
            self.under_way.pop();
            self.arrive(to, self.packets[index]);
        }
        if self.sender.next_timeout().is_some_and(|due| due <= self.now) {
            self.sender.on_timeout(&self.config, self.now);
        }
        if self.receiver.next_timeout().is_some_and(|due| due <= self.now) {
            self.receiver.on_timeout(self.now);
        }
        true
    }

    fn arrive(&mut self, to: End, packet: Segment) {
        match to {
            End::Receiver => {
                let outcome = self.receiver.on_packet(&self.config, self.now, &packet);
                if let Outcome::Accepted { completed: Some(message), .. } = outcome {
                    self.messages.push(message.len);
                }
                while let Some(message) = self.receiver.poll_message() {
                    self.messages.push(message.len);
                }
            }
            End::Sender => {
                self.sender.on_packet(&self.config, self.now, &packet);
            }
        }
    }

    fn drain(&mut self) {
        while let Some(answer) = self.receiver.poll_transmit(&self.config) {
            let subflow = answer.signal().unwrap().subflow as usize;
            self.carry(subflow, End::Sender, answer, self.now + self.paths[subflow].delay);
        }
        while let Some(transmit) = self.sender.poll_transmit(&self.config, self.now) {
            let signal = transmit.packet.signal().unwrap();
            let Segment::Data(data) = transmit.packet else { unreachable!() };
            let subflow = signal.subflow as usize;
            assert_eq!(usize::from(transmit.path), subflow);
            let again = transmit.purpose == Purpose::Again;
            let (len, syn) = (data.len, data.syn);
            self.sent.push(Sighting { at: self.now, subflow, len, syn, again });
            let open = (u64::from(signal.data) + u64::from(len)).saturating_sub(self.sender.acknowledged());
            self.most_open = self.most_open.max(open);
            let share = u64::from(len.max(64)) * 1_000 / u64::from(self.config.mss);
            let path = &mut self.paths[subflow];
            let start = path.free_at.max(self.now);
            if start.since(self.now) <= path.queue {
                path.free_at = start + path.spacing * share / 1_000;
                let arrival = path.free_at + path.delay;
                self.carry(subflow, End::Receiver, transmit.packet, arrival);
            }
        }
        while let Some(completion) = self.sender.poll_completion() {
            self.completions.push(completion);
        }
    }

    fn carry(&mut self, subflow: usize, to: End, packet: Segment, mut arrival: Time) {
        let path = &self.paths[subflow];
        if path.cut.contains(&self.now) || self.dice.chance_ppm(path.luck.loss_ppm) {
            return;
        }
        if self.dice.chance_ppm(path.luck.reorder_ppm) {
            arrival += path.spacing * (1 + self.dice.below(20)) + path.delay / 3;
        }
        let copies = 1 + u64::from(self.dice.chance_ppm(path.luck.duplicate_ppm));
        for copy in 0..copies {
            self.under_way.push(Reverse((arrival + path.delay * copy, self.packets.len(), to)));
            self.packets.push(packet);
        }
    }

    /// Bytes that a subflow was given.
    pub(crate) fn bytes_of(&self, subflow: usize) -> u64 {
        let own = self.sent.iter().filter(|of| of.subflow == subflow);
        own.map(|of| u64::from(of.len)).sum()
    }
}
