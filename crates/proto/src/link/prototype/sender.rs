//! The sender switch: numbers leaving frames, and checks the copies in its TX loop.

use std::cmp::Ordering;

use wiremend_units::Time;
use wiremend_wire::Quanta;

use super::{Ack, Config, EraSeq, PrototypeHeader};

/// Registers of the sender switch for one protected port.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    next: EraSeq,
    dummies_owed: u8,
    leading: EraSeq,
    requests: Requests,
    paused_until: Option<Time>,
    counters: SenderCounters,
}

/// What happens to a buffered copy after a pass of the loop (LG figure 18).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyVerdict {
    /// It was requested: send copies behind [`PrototypeHeader::sent_again`] of its header, and free the buffered one.
    Resend {
        /// Number of copies.
        copies: u8,
    },
    /// It is acknowledged and not requested: free it.
    Drop,
    /// Its fate is unknown: another pass.
    Keep,
}

/// Counters of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Frames with a number.
    pub protected: u64,
    /// Dummies sent.
    pub dummies: u64,
    /// Notifications received.
    pub notifications: u64,
    /// Numbers in notifications that exceeded the slots.
    pub unrequested: u64,
    /// Frames retransmitted; several copies of one frame count once.
    pub resent: u64,
    /// Pause frames received, without resumes.
    pub pauses: u64,
}

/// `reTxReqs`. The prototype has five 1-bit registers, the i-th for the i-th frame of a gap, because one pass
/// can write each once. They are read and cleared together, so one table is equivalent, with at most five
/// writes per notification. Its index is the number without era.
#[derive(Clone, Debug)]
struct Requests(Box<[u64; 1 << 10]>);

const SLOTS: u8 = 5;

impl Sender {
    /// State after a reset: number 0 is next. The other end is not informed.
    pub fn new(config: Config) -> Self {
        let next = EraSeq::default();
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

    /// Returns the header of a normal frame that leaves. Its copy in the TX loop keeps the header. `ack`:
    /// from the receiver at this end.
    pub fn on_egress(&mut self, ack: Option<Ack>) -> PrototypeHeader {
        let number = self.next;
        self.next = number.next();
        self.dummies_owed = self.config.dummies_max;
        self.counters.protected += 1;
        PrototypeHeader::Data { number, retransmitted: false, blocking: self.config.ordered, ack }
    }

    /// Returns the header of a dummy if one is owed. Called while the normal queue is empty or paused.
    pub fn on_egress_dummy(&mut self) -> Option<PrototypeHeader> {
        self.dummies_owed = self.dummies_owed.checked_sub(1)?;
        self.counters.dummies += 1;
        Some(PrototypeHeader::Dummy { number: self.next, blocking: self.config.ordered })
    }

    /// A signal has arrived. The sender uses only ACKs and notifications.
    pub fn on_signal(&mut self, signal: &PrototypeHeader) {
        match *signal {
            PrototypeHeader::Ack(ack)
            | PrototypeHeader::Piggyback(ack)
            | PrototypeHeader::Data { ack: Some(ack), .. } => {
                self.on_ack(ack);
            }
            PrototypeHeader::Notification { ack, hole_size, first_lost } => {
                self.on_ack(ack);
                self.on_hole(hole_size, first_lost);
            }
            PrototypeHeader::Data { ack: None, .. } | PrototypeHeader::Dummy { .. } => {}
        }
    }

    /// Overwrites the register, even with an older number.
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

    /// A copy has passed the TX loop; `number` is from its header.
    pub fn judge_copy(&mut self, number: EraSeq) -> CopyVerdict {
        if number.compare(self.leading) == Ordering::Greater {
            CopyVerdict::Keep
        } else if self.requests.take(number.seq) {
            self.counters.resent += 1;
            CopyVerdict::Resend { copies: self.config.copies }
        } else {
            CopyVerdict::Drop
        }
    }

    /// A PFC frame for the class of the normal queue has arrived. It holds until its quanta run out; a resume
    /// has 0.
    pub fn on_pause(&mut self, now: Time, quanta: Quanta) {
        self.counters.pauses += u64::from(quanta != Quanta::RESUME);
        self.paused_until = Some(now.saturating_add(quanta.span(self.config.rate)));
    }

    /// Whether the normal queue is paused.
    pub fn is_paused(&self, now: Time) -> bool {
        self.paused_until.is_some_and(|until| now < until)
    }

    /// When the pause ends, if no PFC frame arrives before.
    pub fn paused_until(&self) -> Option<Time> {
        self.paused_until
    }

    /// Dummies owed. With 0 the dummy queue is silent.
    pub fn dummies_owed(&self) -> u8 {
        self.dummies_owed
    }

    /// Sets the mode. Every frame carries it, so it can change between frames.
    pub fn set_ordered(&mut self, ordered: bool) {
        self.config.ordered = ordered;
    }

    /// Number of the next frame.
    pub fn next_number(&self) -> EraSeq {
        self.next
    }

    /// Counters.
    pub fn counters(&self) -> &SenderCounters {
        &self.counters
    }
}

impl Requests {
    fn set(&mut self, seq: u16) {
        self.0[seq as usize / 64] |= 1 << (seq % 64);
    }

    fn take(&mut self, seq: u16) -> bool {
        let (word, bit) = (&mut self.0[seq as usize / 64], 1 << (seq % 64));
        let was_set = *word & bit != 0;
        *word &= !bit;
        was_set
    }
}
