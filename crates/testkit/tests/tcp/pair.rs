//! The two ends of a TCP connection, a wire each way, and a clock that only moves when nothing is left to do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wiremend_proto::engine::{Completion, Op, Purpose, Requester as _, Responder as _, Work};
use wiremend_proto::tcp::{Config, Data, Receiver, Segment, Sender};
use wiremend_testkit::{Dice, Luck};
use wiremend_units::{QpNum, Span, Time};

/// What a rule does with a data segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Pass,
    Drop,
    Mark,
    /// It arrives so much later.
    Late(Span),
}

/// A data segment that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    pub(crate) at: Time,
    pub(crate) data: Data,
    /// It is the `nth` data segment, counted from 1.
    pub(crate) nth: u64,
    pub(crate) again: bool,
}

type Rule = Box<dyn FnMut(&Sighting) -> Fate>;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    Sender,
    Receiver,
}

pub(crate) struct Pair {
    pub(crate) config: Config,
    pub(crate) now: Time,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Data segments as they left.
    pub(crate) sent: Vec<Sighting>,
    /// Acknowledgements as they arrived.
    pub(crate) acks: u64,
    pub(crate) completions: Vec<Completion>,
    pub(crate) messages: Vec<u32>,
    pub(crate) delay: Span,
    /// A full segment takes so long on the wire, a shorter one less.
    pub(crate) spacing: Span,
    /// A full segment takes so long on a second wire, before which it may have to wait.
    pub(crate) bottleneck: Span,
    bottleneck_free: Time,
    under_way: BinaryHeap<Reverse<(Time, u64, End, usize)>>,
    packets: Vec<Segment>,
    wire_free: Time,
    rule: Rule,
    luck: Luck,
    dice: Dice,
    posted: u64,
}

impl Pair {
    /// 10 µs each way, and a microsecond for a full segment.
    pub(crate) fn new(config: Config) -> Self {
        config.check().unwrap();
        Self {
            sender: Sender::new(&config, QpNum::new(2), 5),
            receiver: Receiver::new(&config, QpNum::new(1)),
            config,
            now: Time::ZERO,
            sent: Vec::new(),
            acks: 0,
            completions: Vec::new(),
            messages: Vec::new(),
            delay: Span::from_us(10),
            spacing: Span::from_us(1),
            bottleneck: Span::ZERO,
            bottleneck_free: Time::ZERO,
            under_way: BinaryHeap::new(),
            packets: Vec::new(),
            wire_free: Time::ZERO,
            rule: Box::new(|_| Fate::Pass),
            luck: Luck::default(),
            dice: Dice::new(0),
            posted: 0,
        }
    }

    pub(crate) fn rule(mut self, rule: impl FnMut(&Sighting) -> Fate + 'static) -> Self {
        self.rule = Box::new(rule);
        self
    }

    /// Loses these data segments, counted from 1.
    pub(crate) fn drop_nth(self, nths: &'static [u64]) -> Self {
        self.rule(move |sighting| if nths.contains(&sighting.nth) { Fate::Drop } else { Fate::Pass })
    }

    pub(crate) fn luck(mut self, luck: Luck, seed: u64) -> Self {
        (self.luck, self.dice) = (luck, Dice::new(seed));
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
        let waits = self.sender.ready(&self.config, self.now).then_some(self.wire_free);
        let next = [arrival, waits].into_iter().chain(timers).flatten().min();
        let Some(next) = next.filter(|next| *next <= end) else {
            self.now = if end == Time::MAX { self.now } else { end };
            return false;
        };
        self.now = self.now.max(next);
        while let Some(Reverse((at, _, to, index))) = self.under_way.peek().copied()
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
                use wiremend_proto::engine::Outcome;
                let outcome = self.receiver.on_packet(&self.config, self.now, &packet);
                if let Outcome::Accepted { completed: Some(message), .. } = outcome {
                    self.messages.push(message.len);
                }
                while let Some(message) = self.receiver.poll_message() {
                    self.messages.push(message.len);
                }
            }
            End::Sender => {
                self.acks += 1;
                self.sender.on_packet(&self.config, self.now, &packet);
            }
        }
    }

    fn drain(&mut self) {
        while let Some(answer) = self.receiver.poll_transmit(&self.config) {
            self.carry(End::Sender, answer, self.now + self.delay);
        }
        while self.wire_free <= self.now
            && let Some(transmit) = self.sender.poll_transmit(&self.config, self.now)
        {
            let Segment::Data(data) = transmit.packet else { unreachable!() };
            let again = transmit.purpose == Purpose::Again;
            let sighting = Sighting { at: self.now, data, nth: self.sent.len() as u64 + 1, again };
            self.sent.push(sighting);
            let share = u64::from(data.len.max(64)) * 1_000 / u64::from(self.config.mss);
            self.wire_free = self.now + self.spacing * share / 1_000;
            self.bottleneck_free = self.bottleneck_free.max(self.wire_free) + self.bottleneck * share / 1_000;
            let arrival = self.bottleneck_free + self.delay;
            match (self.rule)(&sighting) {
                Fate::Pass => self.carry(End::Receiver, transmit.packet, arrival),
                Fate::Drop => {}
                Fate::Mark => self.carry(End::Receiver, transmit.packet.marked(), arrival),
                Fate::Late(by) => self.carry(End::Receiver, transmit.packet, arrival + by),
            }
        }
        while let Some(completion) = self.sender.poll_completion() {
            self.completions.push(completion);
        }
    }

    fn carry(&mut self, to: End, packet: Segment, mut arrival: Time) {
        if self.dice.chance_ppm(self.luck.loss_ppm) {
            return;
        }
        if self.dice.chance_ppm(self.luck.reorder_ppm) {
            arrival += self.spacing * (1 + self.dice.below(20)) + self.delay / 3;
        }
        let copies = 1 + usize::from(self.dice.chance_ppm(self.luck.duplicate_ppm));
        for copy in 0..copies {
            let order = self.packets.len() as u64;
            self.under_way.push(Reverse((arrival + self.delay * copy as u64, order, to, self.packets.len())));
            self.packets.push(packet);
        }
    }

    /// Numbers of segments that were sent again.
    pub(crate) fn again(&self) -> Vec<u32> {
        self.sent.iter().filter(|sighting| sighting.again).map(|sighting| sighting.data.seq).collect()
    }
}
