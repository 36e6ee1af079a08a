//! Timers of a host whose clock has a tick, as in Linux.

use wiremend_units::{Span, Time};

/// Clock of a host. A tick of 0: timers expire exactly when they are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tick: u64,
}

/// Each level of the timer wheel is coarser than the one below by this factor (Linux: `LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// Longest wait of the first level, in ticks (Linux: `LVL_START`).
const FIRST_LEVEL: u64 = 63;
/// Number of levels of the wheel.
const LEVELS: u32 = 8;

impl Clock {
    pub(super) const fn new(tick: Span) -> Self {
        Self { tick: tick.as_ps() }
    }

    /// Rounds a wait up to whole ticks (Linux: `usecs_to_jiffies`).
    pub(super) const fn round_up(self, wait: Span) -> Span {
        if self.tick == 0 {
            wait
        } else {
            Span::from_ps(wait.as_ps().div_ceil(self.tick).saturating_mul(self.tick))
        }
    }

    /// What probes and the reordering timer wait beyond their round trips (Linux: `TCP_TIMEOUT_MIN_US`).
    pub(super) const fn margin(self) -> Span {
        if self.tick == 0 { Span::ZERO } else { Span::from_ms(2) }
    }

    /// Returns when a timer expires that is set now.
    ///
    /// The wheel must not expire it early, so it counts from the next tick, and longer waits end at a multiple
    /// of the granularity of their level (Linux: `calc_index` in `timer.c`).
    pub(super) fn expiry(self, now: Time, wait: Span) -> Time {
        if self.tick == 0 {
            return now.saturating_add(wait);
        }
        let waits = wait.as_ps().div_ceil(self.tick);
        let due = (now.as_ps() / self.tick).saturating_add(waits);
        let mut level = 0;
        while level + 1 < LEVELS && waits >= FIRST_LEVEL << (level * LEVEL_SHIFT) {
            level += 1;
        }
        let shift = level * LEVEL_SHIFT;
        Time::from_ps((((due >> shift) + 1) << shift).saturating_mul(self.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_ms(1);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn timers_without_a_tick_are_exact() {
        let clock = Clock::new(Span::ZERO);
        assert_eq!(clock.expiry(at(7), Span::from_us(5)), at(12));
        assert_eq!((clock.round_up(MS / 3), clock.margin()), (MS / 3, Span::ZERO));
    }

    /// Two round trips of 30 µs and 2 ms, in ticks of 1 ms: after more than 3 ms and at most 4 ms.
    #[test]
    fn timer_expires_at_a_tick_and_never_early() {
        let clock = Clock::new(MS);
        let wait = Span::from_us(60) + clock.margin();
        assert_eq!(clock.round_up(wait), MS * 3);
        assert_eq!(clock.expiry(at(5_000), wait), at(9_000));
        assert_eq!(clock.expiry(at(5_999), wait), at(9_000));
    }

    /// 200 ms are 50 ticks of 4 ms, in the first level, or 200 ticks of 1 ms, in the second, whose granularity
    /// is 8 ticks.
    #[test]
    fn long_waits_are_coarser() {
        let wait = MS * 200;
        assert_eq!(Clock::new(MS * 4).expiry(at(1_000), wait), at(204_000));
        assert_eq!(Clock::new(MS).expiry(at(1_500), wait), at(208_000));
        assert_eq!(Clock::new(MS).expiry(at(7_500), wait), at(208_000));
        assert_eq!(Clock::new(MS).expiry(at(8_000), wait), at(216_000));
    }
}
