//! Delays the end of a link's protection if its observations flap.

use wiremend_units::{Span, Time};

/// The level of protection of one link, in copies per retransmission; 0 without protection.
///
/// More protection is applied at once, because frames are lost until then. Less protection is applied at
/// once the first time; after each return of the loss it waits twice as long as before. A node whose view
/// flips four times a second therefore causes three changes and then one in ever longer times.
#[derive(Clone, Debug, Default)]
pub struct ProtectionDamper {
    level: u8,
    raised_at: Time,
    lowered_at: Option<Time>,
    /// Number of times that protection was needed again soon after it was lowered.
    returns: u32,
    repaired_at: Option<Time>,
}

impl ProtectionDamper {
    /// Protection that was lowered longer ago than this starts without a delay again.
    pub const QUIET: Span = Span::from_ms(600_000);
    /// Longest delay.
    pub const DELAY_MAX: Span = Span::from_ms(3_600_000);
    const REPAIR_INTERVAL: Span = Span::from_ms(60_000);

    /// Returns the current level.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Returns the level to apply if `wanted` is needed. `hold_down` is the delay after the first return.
    pub fn damp(&mut self, now: Time, wanted: u8, hold_down: Span) -> u8 {
        if wanted > self.level {
            let is_return = self.lowered_at.is_some_and(|at| now < at.saturating_add(Self::QUIET));
            self.returns = if is_return { self.returns.saturating_add(1) } else { 0 };
            (self.level, self.raised_at) = (wanted, now);
        } else if wanted < self.level && now >= self.raised_at.saturating_add(self.delay(hold_down)) {
            (self.level, self.lowered_at) = (wanted, Some(now));
        }
        self.level
    }

    /// Ends the delay after a repair, at most once a minute: a node may claim a repair at any time.
    pub fn on_repair(&mut self, now: Time) {
        let is_believed = self.repaired_at.is_none_or(|at| now >= at.saturating_add(Self::REPAIR_INTERVAL));
        if self.returns > 0 && is_believed {
            (self.returns, self.repaired_at) = (0, Some(now));
        }
    }

    fn delay(&self, hold_down: Span) -> Span {
        let Some(doublings) = self.returns.checked_sub(1) else { return Span::ZERO };
        let max = Self::DELAY_MAX.as_ns();
        Span::from_ns(hold_down.as_ns().saturating_mul(1 << doublings.min(20)).min(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD_DOWN: Span = Span::from_ms(10_000);

    /// Twenty flips of the view in five seconds.
    #[test]
    fn a_flapping_view_causes_three_changes_in_five_seconds() {
        let mut damper = ProtectionDamper::default();
        let mut levels = vec![0];
        for quarter in 0..20 {
            let wanted = if quarter % 2 == 0 { 2 } else { 0 };
            levels.push(damper.damp(at_ms(250 * quarter), wanted, HOLD_DOWN));
        }
        assert_eq!(levels.windows(2).filter(|pair| pair[0] != pair[1]).count(), 3, "{levels:?}");
        assert_eq!(damper.level(), 2, "it stays protected");
    }

    #[test]
    fn each_return_of_the_loss_doubles_the_delay() {
        let mut damper = ProtectionDamper::default();
        let (mut now_ms, mut delays) = (0, Vec::new());
        for _ in 0..12 {
            damper.damp(at_ms(now_ms), 1, HOLD_DOWN);
            let raised_ms = now_ms;
            while damper.damp(at_ms(now_ms), 0, HOLD_DOWN) > 0 {
                now_ms += 1_000;
            }
            delays.push((now_ms - raised_ms) / 1_000);
        }
        assert_eq!(delays, [0, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
        // After a quiet time the link is as good as any other.
        now_ms += 601_000;
        assert_eq!(damper.damp(at_ms(now_ms), 1, HOLD_DOWN), 1);
        assert_eq!(damper.damp(at_ms(now_ms), 0, HOLD_DOWN), 0);
    }

    #[test]
    fn a_repair_ends_the_delay_once_a_minute() {
        let mut damper = ProtectionDamper::default();
        for (second, wanted, level) in [(0, 1, 1), (1, 0, 0), (2, 1, 1), (3, 0, 1)] {
            assert_eq!(damper.damp(at_ms(second * 1_000), wanted, HOLD_DOWN), level, "second {second}");
        }
        damper.on_repair(at_ms(3_000));
        assert_eq!(damper.damp(at_ms(3_000), 0, HOLD_DOWN), 0);
        damper.damp(at_ms(4_000), 1, HOLD_DOWN);
        damper.on_repair(at_ms(5_000));
        assert_eq!(damper.damp(at_ms(5_000), 0, HOLD_DOWN), 1, "another repair within a minute");
    }

    #[test]
    fn more_protection_is_never_delayed() {
        let mut damper = ProtectionDamper::default();
        for (second, wanted, level) in [(0, 1, 1), (1, 0, 0), (2, 1, 1), (3, 3, 3), (4, 1, 3), (5, 4, 4)] {
            assert_eq!(damper.damp(at_ms(second * 1_000), wanted, HOLD_DOWN), level, "second {second}");
        }
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO.saturating_add(Span::from_ms(ms))
    }
}
