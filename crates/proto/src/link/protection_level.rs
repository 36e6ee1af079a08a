//! Protection level of a direction, by the loss rate that notifications show.

use super::{Config, CopyCount, LossRate};

/// Protection level. It steps down when copies cannot reach the target, and up again when they can (LG §5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum ProtectionLevel {
    /// Frames keep their order where required.
    #[default]
    Ordered,
    /// Frames do not wait for missing ones.
    NonBlocking,
    /// Too much loss: frames leave without protection, and a later attempt follows.
    PassThrough,
}

/// Measures the loss rate and chooses copies and level.
#[derive(Clone, Debug)]
pub(super) struct LossMonitor {
    target: LossRate,
    rule: CopyCount,
    share_percent: u64,
    sent: u64,
    missed: u64,
    refused: u64,
    loss: Option<LossRate>,
    copies: u8,
    level: ProtectionLevel,
}

/// Losses needed for a rate.
const MISSED_MIN: u64 = 16;
/// Frames needed for a rate: a single burst is not a rate.
const SENT_MIN: u64 = 1024;
/// A window ends after this many losses or frames, and half of it is kept. Rates below 6 in 10⁵ are not
/// distinguished: one copy suffices for all.
const MISSED_MAX: u64 = 256;
const SENT_MAX: u64 = 1 << 18;

impl LossMonitor {
    pub(super) fn new(config: &Config) -> Self {
        let mut monitor = Self {
            target: config.target,
            rule: config.copies,
            share_percent: u64::from(config.resend_share_percent),
            sent: 0,
            missed: 0,
            refused: 0,
            loss: None,
            copies: 1,
            level: ProtectionLevel::Ordered,
        };
        monitor.set_target(config.target, config.copies);
        monitor
    }

    pub(super) fn set_target(&mut self, target: LossRate, rule: CopyCount) {
        (self.target, self.rule) = (target, rule);
        self.copies = match rule {
            CopyCount::Fixed(copies) => copies.clamp(1, CopyCount::MAX),
            CopyCount::Measured(loss) => self.copies_for(self.loss.unwrap_or(loss)),
        };
    }

    pub(super) fn copies(&self) -> u8 {
        self.copies
    }

    pub(super) fn protection_level(&self) -> ProtectionLevel {
        self.level
    }

    pub(super) fn loss(&self) -> Option<LossRate> {
        self.loss
    }

    /// A frame left for the first time. True: the level may have changed.
    #[inline]
    pub(super) fn on_sent(&mut self) -> bool {
        self.sent += 1;
        self.sent >= SENT_MAX && self.end_window()
    }

    /// A frame was requested for the first time. True: the level may have changed.
    pub(super) fn on_missed(&mut self) -> bool {
        self.missed += 1;
        if self.missed >= MISSED_MAX && self.sent >= SENT_MIN {
            return self.end_window();
        }
        if self.missed < MISSED_MIN || self.sent < SENT_MIN {
            return false;
        }
        let loss = LossRate::from_counts(self.missed, self.sent);
        // A clear rise counts at once; a fall counts when the window ends.
        if self.loss.is_none_or(|known| loss > known.times(2)) {
            self.set_loss(loss);
            return self.step_down();
        }
        false
    }

    /// A request was refused because retransmissions had used up their share.
    pub(super) fn on_refused(&mut self) {
        self.refused += 1;
    }

    /// Protection starts. After `PassThrough` the old measurements are obsolete.
    pub(super) fn start(&mut self) {
        if self.level == ProtectionLevel::PassThrough {
            self.level = ProtectionLevel::NonBlocking;
            (self.sent, self.missed, self.refused, self.loss) = (0, 0, 0, None);
        }
    }

    fn end_window(&mut self) -> bool {
        // With few losses the rate is only known to be below this bound.
        let loss = LossRate::from_counts(self.missed.max(MISSED_MIN), self.sent);
        let fewer = self.missed < MISSED_MIN && self.loss.is_none_or(|known| known <= loss);
        if !fewer {
            self.set_loss(loss);
        }
        let stepped = self.step_down() || self.step_up();
        (self.sent, self.missed, self.refused) = (self.sent / 2, self.missed / 2, self.refused / 2);
        stepped
    }

    fn set_loss(&mut self, loss: LossRate) {
        self.loss = Some(loss);
        if !matches!(self.rule, CopyCount::Measured(_)) {
            return;
        }
        let copies = self.copies_for(loss);
        // Hysteresis: fewer copies only if 1.5 times the loss would not need more.
        let half_more = LossRate::from_parts_per_trillion(loss.as_parts_per_trillion() / 2 * 3);
        if copies > self.copies || self.copies_for(half_more) < self.copies {
            self.copies = copies;
        }
    }

    fn copies_for(&self, loss: LossRate) -> u8 {
        loss.copies_for(self.target, CopyCount::MAX).unwrap_or(CopyCount::MAX)
    }

    /// Whether copies reach the target within their share of the link. A fixed number of copies need not
    /// reach it.
    fn is_manageable(&self, loss: LossRate) -> bool {
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
        let unmanageable = self.loss.is_some_and(|loss| !self.is_manageable(loss));
        let lower = match self.level {
            ProtectionLevel::Ordered if strained || unmanageable => ProtectionLevel::NonBlocking,
            ProtectionLevel::NonBlocking if strained => ProtectionLevel::PassThrough,
            _ => return false,
        };
        self.level = lower;
        // The new level needs new measurements.
        (self.sent, self.missed, self.refused) = (0, 0, 0);
        true
    }

    fn step_up(&mut self) -> bool {
        let calm = self.refused == 0 && self.loss.is_some_and(|loss| self.is_manageable(loss.times(2)));
        if self.level != ProtectionLevel::NonBlocking || !calm {
            return false;
        }
        self.level = ProtectionLevel::Ordered;
        true
    }
}
