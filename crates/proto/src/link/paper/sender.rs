//! The sender switch: numbers frames as they leave, and judges the copies that circle in its TX buffer.

use std::cmp::Ordering;

use wiremend_units::Time;
use wiremend_wire::Quanta;

use super::{Ack, Config, Number, Signal};

/// The registers of the sender switch for one protected port.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    next: Number,
    dummies_owed: u8,
    leading: Number,
    requests: Requests,
    paused_until: Option<Time>,
    counters: SenderCounters,
}

/// What becomes of a buffered copy after a turn of the loop (LG figure 18).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It was asked for: so many copies leave, each behind [`Signal::sent_again`] of its header, and the buffered one is gone.
    Resend {
        /// How many.
        copies: u8,
    },
    /// It is acknowledged and not asked for.
    Drop,
    /// Nothing is known yet: another turn.
    Again,
}

/// What the sender has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Frames that got a number.
    pub protected: u64,
    /// Dummies on the wire.
    pub dummies: u64,
    /// Notifications that arrived.
    pub notifications: u64,
    /// Numbers in them for which there was no slot.
    pub unrequested: u64,
    /// Frames sent again, a frame of several copies once.
    pub resent: u64,
    /// Pause frames that arrived, without resumes.
    pub pauses: u64,
}

/// `reTxReqs`. The prototype has five 1-bit registers, the i-th for the i-th frame of a hole, because one pass can write each
/// once. They are read and cleared together, so one table says the same, written at most five times a notification. It is indexed by the
/// number alone: not by era.
#[derive(Clone, Debug)]
struct Requests(Box<[u64; 1 << 10]>);

const SLOTS: u8 = 5;

impl Sender {
    /// As after a reset: the first frame has number 0. Nothing tells the other end.
    pub fn new(config: Config) -> Self {
        let next = Number::default();
        Self {
            config,
            next,
            dummies_owed: 0,
            leading: next.previous(),
            requests: Requests(Box::new([0; 1 << 10])),
            paused_until: None,
            counters: SenderCounters::default(),
        }
    }

    /// A frame of the normal queue leaves behind this header, which its copy in the TX loop keeps. `ack` is what a receiver
    /// at this end has for it.
    pub fn on_egress(&mut self, ack: Option<Ack>) -> Signal {
        let number = self.next;
        self.next = number.next();
        self.dummies_owed = self.config.dummies_max;
        self.counters.protected += 1;
        Signal::Data { number, again: false, blocking: self.config.ordered, ack }
    }

    /// The normal queue is empty or paused and it is the dummy's turn: its header, or nothing if no more are owed.
    pub fn on_egress_dummy(&mut self) -> Option<Signal> {
        self.dummies_owed = self.dummies_owed.checked_sub(1)?;
        self.counters.dummies += 1;
        Some(Signal::Dummy { number: self.next, blocking: self.config.ordered })
    }

    /// What arrived from the other end; data and dummies mean nothing to this half but for an ACK on their back.
    pub fn on_signal(&mut self, signal: &Signal) {
        match *signal {
            Signal::Ack(ack) | Signal::Piggyback(ack) | Signal::Data { ack: Some(ack), .. } => {
                self.on_ack(ack);
            }
            Signal::Notification { ack, hole_size, first_lost } => {
                self.on_ack(ack);
                self.on_hole(hole_size, first_lost);
            }
            Signal::Data { ack: None, .. } | Signal::Dummy { .. } => {}
        }
    }

    /// Whatever was known before is overwritten, be it later.
    fn on_ack(&mut self, ack: Ack) {
        self.leading = ack.0;
    }

    fn on_hole(&mut self, hole_size: u8, first_lost: u16) {
        self.counters.notifications += 1;
        self.counters.unrequested += u64::from(hole_size.saturating_sub(SLOTS));
        for slot in 0..hole_size.min(SLOTS) {
            self.requests.set(first_lost.wrapping_add(slot.into()));
        }
    }

    /// A copy has come round in the TX loop; `number` is that of its header.
    pub fn judge_copy(&mut self, number: Number) -> Judgement {
        if number.compare(self.leading) == Ordering::Greater {
            Judgement::Again
        } else if self.requests.take(number.seq) {
            self.counters.resent += 1;
            Judgement::Resend { copies: self.config.copies }
        } else {
            Judgement::Drop
        }
    }

    /// A PFC frame for the class of the normal queue: it holds until the quanta run out, and a resume has none.
    pub fn on_pause(&mut self, now: Time, quanta: Quanta) {
        self.counters.pauses += u64::from(quanta != Quanta::RESUME);
        self.paused_until = Some(now.saturating_add(quanta.span(self.config.rate)));
    }

    /// Whether the normal queue must wait.
    pub fn is_paused(&self, now: Time) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// When it need not wait any longer, if nothing comes before.
    pub fn paused_until(&self) -> Option<Time> {
        self.paused_until
    }

    /// Dummies that may still leave: with none, the dummy queue is silent.
    pub fn dummies_owed(&self) -> u8 {
        self.dummies_owed
    }

    /// The mode travels in every frame, so it can change between any two.
    pub fn set_ordered(&mut self, ordered: bool) {
        self.config.ordered = ordered;
    }

    /// The number of the next frame.
    pub fn next_number(&self) -> Number {
        self.next
    }

    /// What was counted.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }
}

impl Requests {
    fn set(&mut self, seq: u16) {
        self.0[seq as usize / 64] |= 1 << (seq % 64);
    }

    /// Reads and clears.
    fn take(&mut self, seq: u16) -> bool {
        let (word, bit) = (&mut self.0[seq as usize / 64], 1 << (seq % 64));
        let was_set = *word & bit != 0;
        *word &= !bit;
        was_set
    }
}
