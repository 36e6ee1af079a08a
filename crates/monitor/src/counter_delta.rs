//! The increment of a hardware counter between two reads.

use wiremend_units::Span;

/// Maximum frame rate of a port. A larger increment of a counter is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaxFrameRate {
    per_second: u64,
}

impl MaxFrameRate {
    /// 64-byte frames back to back at 1.6 Tb/s, for ports of unknown speed.
    pub const ANY_SPEED: Self = Self::for_speed(1_600_000);

    /// Maximum speed in Mb/s. Twice its count over the whole range of [`Span`] fits into 64 bits.
    const MEGABITS_MAX: u64 = 100_000_000;

    /// Rate of 64-byte frames back to back; each takes 84 bytes on the line with preamble and gap.
    pub const fn for_speed(megabits_per_s: u64) -> Self {
        let believed = if megabits_per_s < Self::MEGABITS_MAX { megabits_per_s } else { Self::MEGABITS_MAX };
        // Rounded up: a port is never slower than its limit.
        Self { per_second: believed * 1_000_000 / (84 * 8) + 1 }
    }

    /// Returns the maximum number of frames within `elapsed`. Drivers update counters late, so up to
    /// `SLACK` of the time before may be included.
    fn frames_within(self, elapsed: Span) -> u64 {
        const SLACK: Span = Span::from_ms(2_000);
        let ps = u128::from(elapsed.as_ps()) + u128::from(SLACK.as_ps());
        let frames_max = u128::from(self.per_second) * ps / 1_000_000_000_000 + 1;
        u64::try_from(frames_max).unwrap_or(u64::MAX)
    }
}

/// Increment of a counter between two reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterDelta {
    /// The counter advanced by this much, possibly with a wrap.
    Counted(u64),
    /// The counter restarted or changed faster than the port can count, so the increment is unknown.
    Unknown,
}

/// Returns the increment from `earlier` to `later`, read `elapsed` apart.
///
/// A smaller value means a wrap if the increment stays within `max_rate`, otherwise a restart. Registers
/// have 32 or 64 bits; only the value shows the width. A 32-bit register that may have wrapped more than
/// once gives no increment.
pub fn counter_delta(earlier: u64, later: u64, elapsed: Span, max_rate: MaxFrameRate) -> CounterDelta {
    let frames_max = max_rate.frames_within(elapsed);
    if later >= earlier {
        let counted = later - earlier;
        return if counted <= frames_max { CounterDelta::Counted(counted) } else { CounterDelta::Unknown };
    }
    let max_32_bit = u64::from(u32::MAX);
    if earlier <= max_32_bit && frames_max < max_32_bit {
        let wrapped = (max_32_bit - earlier) + later + 1;
        if wrapped <= frames_max {
            return CounterDelta::Counted(wrapped);
        }
    }
    let wrapped = later.wrapping_sub(earlier);
    if wrapped <= frames_max { CounterDelta::Counted(wrapped) } else { CounterDelta::Unknown }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Span = Span::from_ms(1_000);

    fn at_100g(earlier: u64, later: u64) -> CounterDelta {
        counter_delta(earlier, later, SECOND, MaxFrameRate::for_speed(100_000))
    }

    #[test]
    fn registers_wrap_at_32_and_at_64_bits() {
        assert_eq!(at_100g(u64::from(u32::MAX) - 9, 20), CounterDelta::Counted(30));
        assert_eq!(at_100g(u64::MAX - 9, 20), CounterDelta::Counted(30));
    }

    #[test]
    fn a_restarted_register_gives_no_increment() {
        assert_eq!(at_100g(3_000_000_000, 10), CounterDelta::Unknown, "1.3e9 frames take more than a second");
        assert_eq!(at_100g(1 << 40, 10), CounterDelta::Unknown);
    }

    /// A reloaded driver may start with larger values.
    #[test]
    fn increments_above_line_rate_are_rejected() {
        assert_eq!(at_100g(0, 148_809_523), CounterDelta::Counted(148_809_523));
        assert_eq!(at_100g(0, 1_000_000_000), CounterDelta::Unknown);
    }

    /// A recording may contain any speed, and good and corrupted frames are added.
    #[test]
    fn no_speed_makes_counts_overflow() {
        let ever = Span::from_ps(u64::MAX);
        assert_eq!(
            counter_delta(0, u64::MAX, ever, MaxFrameRate::for_speed(u64::MAX)),
            CounterDelta::Unknown
        );
        assert!(MaxFrameRate::for_speed(u64::MAX).frames_within(ever) < u64::MAX / 4);
    }

    /// 2^32 frames of 64 bytes take 29 s at 100G.
    #[test]
    fn a_32_bit_register_gives_no_increment_after_a_long_time() {
        let minute = Span::from_ms(60_000);
        assert_eq!(
            counter_delta(4_000_000_000, 10, minute, MaxFrameRate::for_speed(100_000)),
            CounterDelta::Unknown
        );
    }

    proptest! {
        #[test]
        fn increments_are_exact(start: u64, counted in 0_u64..100_000_000) {
            prop_assert_eq!(at_100g(start, start.wrapping_add(counted)), CounterDelta::Counted(counted));
        }

        #[test]
        fn increments_of_32_bit_registers_are_exact(start: u32, counted in 0_u32..100_000_000) {
            let later = start.wrapping_add(counted);
            prop_assert_eq!(at_100g(start.into(), later.into()), CounterDelta::Counted(counted.into()));
        }
    }
}
