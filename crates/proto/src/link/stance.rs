//! How much a direction is protected: by the loss it has, as the sender learns of it from notifications.

use super::{Config, CopyCount, LossRate};

/// How far protection goes. It steps down when more is lost than copies can make good, and up again when less is (LG §5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Stance {
    /// Frames keep their order where they ask for it.
    #[default]
    Ordered,
    /// Nothing waits for what is lost.
    NonBlocking,
    /// Too much is lost: frames leave as they are, and protection is tried again after a while.
    PassThrough,
}

/// Watches the loss, and decides on copies and stance.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    target: LossRate,
    rule: CopyCount,
    share_percent: u64,
    sent: u64,
    missed: u64,
    refused: u64,
    loss: Option<LossRate>,
    copies: u8,
    stance: Stance,
}

/// Losses before a rate is believed.
const MISSED_MIN: u64 = 16;
/// Frames before a rate is believed: a single burst is none.
const SENT_MIN: u64 = 1024;
/// A window ends with so many losses, or so many frames, and half of it is kept. Less than 6 in 10⁵ is not told apart from
/// less still: one copy does for both.
const MISSED_MAX: u64 = 256;
const SENT_MAX: u64 = 1 << 18;

impl Watch {
    pub(super) fn new(config: &Config) -> Self {
        let mut watch = Self {
            target: config.target,
            rule: config.copies,
            share_percent: u64::from(config.resend_share_percent),
            sent: 0,
            missed: 0,
            refused: 0,
            loss: None,
            copies: 1,
            stance: Stance::Ordered,
        };
        watch.aim(config.target, config.copies);
        watch
    }

    /// From here on this loss may remain, and so many copies are sent.
    pub(super) fn aim(&mut self, target: LossRate, rule: CopyCount) {
        (self.target, self.rule) = (target, rule);
        self.copies = match rule {
            CopyCount::Fixed(copies) => copies.clamp(1, CopyCount::MAX),
            CopyCount::Measured(loss) => self.copies_for(self.loss.unwrap_or(loss)),
        };
    }

    /// Copies of what is asked for.
    pub(super) fn copies(&self) -> u8 {
        self.copies
    }

    pub(super) fn stance(&self) -> Stance {
        self.stance
    }

    /// What was measured, if anything was.
    pub(super) fn loss(&self) -> Option<LossRate> {
        self.loss
    }

    /// A frame left for the first time. True: look at the stance again.
    #[inline]
    pub(super) fn on_sent(&mut self) -> bool {
        self.sent += 1;
        self.sent >= SENT_MAX && self.end_window()
    }

    /// A frame was asked for that was not before. True: look at the stance again.
    pub(super) fn on_missed(&mut self) -> bool {
        self.missed += 1;
        if self.missed >= MISSED_MAX && self.sent >= SENT_MIN {
            return self.end_window();
        }
        if self.missed < MISSED_MIN || self.sent < SENT_MIN {
            return false;
        }
        let loss = LossRate::of(self.missed, self.sent);
        // It rises at once when it is clear that it did; it falls with the window.
        if self.loss.is_none_or(|known| loss > known.times(2)) {
            self.believe(loss);
            return self.step_down();
        }
        false
    }

    /// A request was not met because copies had their share.
    pub(super) fn on_refused(&mut self) {
        self.refused += 1;
    }

    /// Protection begins, perhaps again after it was given up: then what led to that is long past.
    pub(super) fn start(&mut self) {
        if self.stance == Stance::PassThrough {
            self.stance = Stance::NonBlocking;
            (self.sent, self.missed, self.refused, self.loss) = (0, 0, 0, None);
        }
    }

    fn end_window(&mut self) -> bool {
        // With too few losses to tell, it is known that there are not more.
        let loss = LossRate::of(self.missed.max(MISSED_MIN), self.sent);
        let fewer = self.missed < MISSED_MIN && self.loss.is_none_or(|known| known <= loss);
        if !fewer {
            self.believe(loss);
        }
        let stepped = self.step_down() || self.step_up();
        (self.sent, self.missed, self.refused) = (self.sent / 2, self.missed / 2, self.refused / 2);
        stepped
    }

    fn believe(&mut self, loss: LossRate) {
        self.loss = Some(loss);
        if !matches!(self.rule, CopyCount::Measured(_)) {
            return;
        }
        let copies = self.copies_for(loss);
        // Fewer only if half as much loss again would not need more: no flutter at the border.
        let half_more = LossRate::parts_per_trillion(loss.as_parts_per_trillion() / 2 * 3);
        if copies > self.copies || self.copies_for(half_more) < self.copies {
            self.copies = copies;
        }
    }

    fn copies_for(&self, loss: LossRate) -> u8 {
        loss.copies_for(self.target, CopyCount::MAX).unwrap_or(CopyCount::MAX)
    }

    /// Whether copies reach the target within their share of the link. A fixed number of copies is not asked for more.
    fn is_bearable(&self, loss: LossRate) -> bool {
        let copies = match self.rule {
            CopyCount::Fixed(copies) => Some(copies),
            CopyCount::Measured(_) => loss.copies_for(self.target, CopyCount::MAX),
        };
        copies.is_some_and(|copies| self.in_share(loss, copies))
    }

    fn in_share(&self, loss: LossRate, copies: u8) -> bool {
        let percent = u128::from(loss.as_parts_per_trillion()) * u128::from(copies) * 100;
        percent <= u128::from(self.share_percent) * u128::from(LossRate::ONE.as_parts_per_trillion())
    }

    fn step_down(&mut self) -> bool {
        let strained = self.missed >= MISSED_MIN * 2 && self.refused * 2 > self.missed;
        let unbearable = self.loss.is_some_and(|loss| !self.is_bearable(loss));
        let lower = match self.stance {
            Stance::Ordered if strained || unbearable => Stance::NonBlocking,
            Stance::NonBlocking if strained => Stance::PassThrough,
            _ => return false,
        };
        self.stance = lower;
        // What led here says nothing about what comes.
        (self.sent, self.missed, self.refused) = (0, 0, 0);
        true
    }

    fn step_up(&mut self) -> bool {
        let calm = self.refused == 0 && self.loss.is_some_and(|loss| self.is_bearable(loss.times(2)));
        if self.stance != Stance::NonBlocking || !calm {
            return false;
        }
        self.stance = Stance::Ordered;
        true
    }
}
