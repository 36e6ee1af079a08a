//! A requester, a responder, and a wire between them with a fake clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use wiremend_proto::dcp::{
    Ack, Config, Data, Packet, Progress, Pulls, Requester, Responder, Target, counters,
};
use wiremend_proto::engine::{
    Completion, Message, Op, Outcome, Place, Requester as _, RequesterCounters, Responder as _, Status, Work,
};
use wiremend_testkit::Dice;
use wiremend_units::{Psn, QpNum, Span, Time, mix};

/// One end sends, the other receives.
pub(crate) struct Pair {
    config: Config,
    pub(crate) now: Time,
    pub(crate) requester: Requester,
    pub(crate) responder: Responder,
    pulls: Pulls<()>,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    /// What happens, by the number in `events`.
    happenings: BTreeMap<u64, What>,
    order: u64,
    ports: [Time; 2],
    /// Congestion control keeps packets back for so long after the one before.
    pace: Span,
    timer: Time,
    luck: Luck,
    dice: Dice,
    rule: Rule,
    pub(crate) sent: u64,
    posted: Vec<Work>,
    memory: Vec<u8>,
    buffers: BTreeMap<u64, Vec<u8>>,
    messages: Vec<Message>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) expiries: u32,
    /// The last acknowledgement.
    last: Option<Ack>,
}

type Rule = Box<dyn FnMut(&Data, u64) -> Fate>;

/// What happens to a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Pass,
    Cut,
    Vanish,
    Twice,
    /// Others overtake it for so long.
    Late(Span),
}

/// What chance does, in parts per million.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Luck {
    pub(crate) cut_ppm: u32,
    pub(crate) loss_ppm: u32,
    pub(crate) duplicate_ppm: u32,
    pub(crate) reorder_ppm: u32,
    /// Everything vanishes, both ways, in this time.
    pub(crate) dark: Option<(Time, Time)>,
}

enum What {
    Arrive(Data, u64, u32),
    Answer(Packet),
    PortFree,
    Timer,
    Pull,
}

const DELAY: Span = Span::from_us(1);
const SPACING: Span = Span::from_ns(100);
const EVENTS_MAX: u32 = 3_000_000;

impl Pair {
    pub(crate) fn new(config: Config) -> Self {
        Self::starting_at(config, Psn::new(0))
    }

    pub(crate) fn starting_at(config: Config, first: Psn) -> Self {
        config.check().expect("a test configures what can work");
        Self {
            requester: Requester::new(QpNum::new(2), first),
            responder: Responder::new(&config, QpNum::new(1), first),
            config,
            now: Time::ZERO,
            pulls: Pulls::new(),
            events: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            order: 0,
            ports: [Time::ZERO; 2],
            pace: Span::ZERO,
            timer: Time::MAX,
            luck: Luck::default(),
            dice: Dice::new(0),
            rule: Box::new(|_, _| Fate::Pass),
            sent: 0,
            posted: Vec::new(),
            memory: Vec::new(),
            buffers: BTreeMap::new(),
            messages: Vec::new(),
            completions: Vec::new(),
            expiries: 0,
            last: None,
        }
    }

    pub(crate) fn impair(mut self, luck: Luck, seed: u64) -> Self {
        (self.luck, self.dice) = (luck, Dice::new(seed));
        self
    }

    /// Congestion control lets one packet be under way, and keeps it back for so long after the one before.
    pub(crate) fn pace(mut self, span: Span) -> Self {
        self.pace = span;
        self.requester.allow(1);
        self
    }

    /// Decides on data packets; the number counts those sent, from 1.
    pub(crate) fn rule(mut self, rule: impl FnMut(&Data, u64) -> Fate + 'static) -> Self {
        self.rule = Box::new(rule);
        self
    }

    pub(crate) fn write(&mut self, len: u32) {
        self.post(Op::Write, len, None);
    }

    pub(crate) fn post(&mut self, op: Op, len: u32, imm: Option<u32>) {
        let addr = self.memory.len() as u64;
        if op == Op::Write {
            self.memory.resize(self.memory.len() + len as usize, 0);
        }
        let work = Work { id: self.posted.len() as u64 + 1, op, len, addr, rkey: 5, imm };
        self.posted.push(work);
        self.requester.post(&self.config, self.now, work);
        self.settle();
    }

    pub(crate) fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        self.run(end);
        self.now = self.now.max(end);
    }

    /// Runs until nothing happens any more, or too much has.
    pub(crate) fn run_until_idle(&mut self) {
        self.run(Time::MAX);
    }

    fn run(&mut self, end: Time) {
        for _ in 0..EVENTS_MAX {
            let Some(Reverse((at, order))) = self.events.peek().copied().filter(|due| due.0.0 <= end) else {
                return;
            };
            self.events.pop();
            self.now = at;
            match self.happenings.remove(&order).expect("what is due was scheduled") {
                What::Arrive(data, work, offset) => self.arrive(&data, work, offset),
                What::Answer(packet) => {
                    self.requester.on_packet(&self.config, self.now, &packet);
                }
                What::PortFree => {}
                What::Timer => {
                    self.timer = Time::MAX;
                    let expiry = self.requester.on_timeout(&self.config, self.now);
                    self.expiries += u32::from(expiry.is_some());
                }
                What::Pull => {
                    if self.pulls.pop(self.now, SPACING, |()| true).is_some() {
                        self.responder.grant_pull();
                    }
                    self.schedule_pull();
                }
            }
            self.settle();
        }
        panic!("it does not come to an end");
    }

    /// Hands an arbitrary packet to an end.
    pub(crate) fn inject(&mut self, packet: &Packet) {
        match packet {
            Packet::Data(data) if !data.is_bounced() => self.arrive(data, u64::MAX, 0),
            _ => _ = self.requester.on_packet(&self.config, self.now, packet),
        }
        self.settle();
    }

    /// The responder's last acknowledgement with other numbers in it.
    pub(crate) fn lie(&mut self, psn: u32, expected_unit: u32) -> Ack {
        let progress =
            Progress { expected_unit, ..self.last.map_or(Progress::default(), |last| last.progress) };
        let pulls = self.last.map_or(0, |last| last.pulls);
        Ack { dest_qp: QpNum::new(1), psn: Psn::new(psn), progress, pulls }
    }

    fn arrive(&mut self, data: &Data, work: u64, offset: u32) {
        let outcome = self.responder.on_packet(&self.config, self.now, &Packet::Data(*data));
        for _ in 0..self.responder.take_owed() {
            self.pulls.push(());
        }
        self.schedule_pull();
        let Outcome::Accepted { place, .. } = outcome else { return };
        if let Some(place) = place {
            self.place(data, place, work, offset);
        }
        while let Some(message) = self.responder.poll_message() {
            self.messages.push(message);
        }
    }

    fn place(&mut self, data: &Data, place: Place, work: u64, offset: u32) {
        let bytes = (offset..offset + u32::from(place.len)).map(|at| pattern(work, at));
        let from = place.offset as usize;
        let target = if matches!(data.place(), Target::Memory { .. }) {
            let from = place.addr as usize + from;
            self.memory.get_mut(from..from + place.len as usize)
        } else {
            let buffer = self.buffers.entry(place.addr).or_default();
            let end = from + place.len as usize;
            buffer.resize(buffer.len().max(end), 0);
            Some(&mut buffer[from..end])
        };
        let Some(target) = target else {
            assert_eq!(work, u64::MAX, "payload goes into memory that was given");
            return;
        };
        target.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    }

    fn settle(&mut self) {
        while let Some(completion) = self.requester.poll_completion() {
            self.completions.push(completion);
        }
        while self.now >= self.ports[1]
            && let Some(packet) = self.responder.poll_transmit(&self.config)
        {
            self.ports[1] = self.now + SPACING;
            self.carry_back(packet);
            self.schedule(self.ports[1], What::PortFree);
        }
        while self.now >= self.ports[0] && self.transmit() {}
        let due = self.requester.next_timeout().unwrap_or(Time::MAX);
        if due < self.timer {
            self.timer = due;
            self.schedule(due.max(self.now), What::Timer);
        }
    }

    fn schedule_pull(&mut self) {
        let due = self.pulls.due();
        if due != Time::MAX {
            self.schedule(due.max(self.now), What::Pull);
        }
    }

    fn transmit(&mut self) -> bool {
        let ready = self.requester.ready(&self.config, self.now);
        let Some(transmit) = self.requester.poll_transmit(&self.config, self.now) else { return false };
        assert!(ready, "what is given was announced");
        self.sent += 1;
        self.ports[0] = self.now + SPACING.max(self.pace);
        self.schedule(self.ports[0], What::PortFree);
        let Packet::Data(data) = transmit.packet else { unreachable!("a requester sends data") };
        let mut fate = (self.rule)(&data, self.sent);
        let luck = self.luck;
        if self.is_dark() || self.dice.chance_ppm(luck.loss_ppm) {
            fate = Fate::Vanish;
        } else if self.dice.chance_ppm(luck.cut_ppm) {
            fate = Fate::Cut;
        } else if self.dice.chance_ppm(luck.duplicate_ppm) {
            fate = Fate::Twice;
        }
        let mut at = self.now + SPACING + DELAY;
        if self.dice.chance_ppm(luck.reorder_ppm) {
            at += SPACING * (1 + self.dice.below(40));
        }
        let whole = |data| What::Arrive(data, transmit.work, transmit.offset);
        match fate {
            Fate::Vanish => {}
            Fate::Pass => self.schedule(at, whole(data)),
            Fate::Cut => self.schedule(at, whole(data.trimmed())),
            Fate::Late(by) => self.schedule(at + by, whole(data)),
            Fate::Twice => {
                self.schedule(at, whole(data));
                let later = at + SPACING * self.dice.below(60);
                self.schedule(later, whole(data));
            }
        }
        true
    }

    fn carry_back(&mut self, packet: Packet) {
        if let Packet::Ack(ack) = packet {
            self.last = Some(ack);
        }
        if self.is_dark() || self.dice.chance_ppm(self.luck.loss_ppm) {
            return;
        }
        let mut at = self.ports[1] + DELAY;
        if self.dice.chance_ppm(self.luck.reorder_ppm) {
            at += SPACING * (1 + self.dice.below(40));
        }
        self.schedule(at, What::Answer(packet));
        if self.dice.chance_ppm(self.luck.duplicate_ppm) {
            let later = at + SPACING * self.dice.below(60);
            self.schedule(later, What::Answer(packet));
        }
    }

    fn is_dark(&self) -> bool {
        self.luck.dark.is_some_and(|(from, to)| (from..to).contains(&self.now))
    }

    fn schedule(&mut self, at: Time, what: What) {
        self.order += 1;
        self.happenings.insert(self.order, what);
        self.events.push(Reverse((at, self.order)));
    }

    pub(crate) fn counters(&self) -> RequesterCounters {
        self.requester.counters()
    }

    pub(crate) fn seen(&self) -> &counters::Receiver {
        self.responder.seen()
    }

    /// What is wrong: everything that completed must be there, byte for byte, and each message once and in order.
    pub(crate) fn check(&self) -> Result<(), String> {
        let done = self.completions.iter().filter(|done| done.status == Status::Success).count();
        let ids = self.completions.iter().map(|done| done.id);
        if !ids.eq(1..=self.completions.len() as u64) {
            return Err("completions are not in the order of posts".to_owned());
        }
        if self.messages.len() < done || self.messages.len() > self.posted.len() {
            return Err(format!("{} messages of {done} completed works", self.messages.len()));
        }
        let mut buffers = 0;
        for (work, index) in self.posted.iter().zip(0_u32..) {
            let takes = work.op == Op::Send || work.imm.is_some();
            let buffer = buffers;
            buffers += u64::from(takes);
            let Some(message) = self.messages.get(index as usize) else { continue };
            let right = Message { op: work.op, len: work.len, imm: work.imm, msn: index + 1 };
            if *message != right {
                return Err(format!("{work:?} came as {message:?}"));
            }
            let bytes = match work.op {
                Op::Send => self.buffers.get(&buffer).map_or(&[][..], Vec::as_slice),
                _ => &self.memory[work.addr as usize..][..work.len as usize],
            };
            let wrong = bytes.iter().zip(0..).position(|(byte, at)| *byte != pattern(work.id, at));
            if bytes.len() != work.len as usize || wrong.is_some() {
                return Err(format!("{work:?}: byte {wrong:?} of {} is wrong", bytes.len()));
            }
        }
        Ok(())
    }

    pub(crate) fn assert_delivered(&self) {
        assert_eq!(self.check(), Ok(()));
        assert_eq!(self.completions.len(), self.posted.len(), "everything posted completes");
        assert!(self.completions.iter().all(|done| done.status == Status::Success), "{:?}", self.completions);
        assert!(self.requester.is_idle() && !self.responder.has_output());
    }
}

/// The byte of a message at an offset; never 0, which memory holds before.
fn pattern(work: u64, at: u32) -> u8 {
    (mix(work).wrapping_add(u64::from(at).wrapping_mul(0x9E37_79B9)) >> 13) as u8 | 1
}
