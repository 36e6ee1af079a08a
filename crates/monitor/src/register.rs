//! A counter of hardware, read again and again: how much was counted in between.

use wiremend_units::Span;

/// The most frames that a port can see in a while. No delta of a counter is believed above it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    per_second: u64,
}

impl Pace {
    /// Frames of 64 bytes back to back at 1.6 Tb/s: for ports of unknown speed.
    pub const ANY: Self = Self::of_megabits(1_600_000);

    /// The fastest that is believed, in megabits per second. What such a port can count while a clock runs, twice, fits into 64 bits.
    const MEGABITS_MAX: u64 = 100_000_000;

    /// Frames of 64 bytes back to back, each with preamble and gap 84 bytes of the line.
    pub const fn of_megabits(megabits_per_s: u64) -> Self {
        let believed = if megabits_per_s < Self::MEGABITS_MAX { megabits_per_s } else { Self::MEGABITS_MAX };
        // One more, so that rounding never makes a port slower than it is.
        Self { per_second: believed * 1_000_000 / (84 * 8) + 1 }
    }

    /// The most within `elapsed`. Drivers refresh their counters when they like, so up to `SLACK` of the time before is in it.
    fn most(self, elapsed: Span) -> u64 {
        const SLACK: Span = Span::from_ms(2_000);
        let ps = u128::from(elapsed.as_ps()) + u128::from(SLACK.as_ps());
        let most = u128::from(self.per_second) * ps / 1_000_000_000_000 + 1;
        u64::try_from(most).unwrap_or(u64::MAX)
    }
}

/// What happened to a counter between two reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It went on, possibly through its end.
    Counted(u64),
    /// It began anew, or it moved in a way that no port does: what was counted in between is not known.
    Unknown,
}

/// From `earlier` to `later`, `elapsed` apart.
///
/// A smaller value is a register that ran over if that is no more than `pace` allows, else one that began anew. Registers have 32
/// or 64 bits; a driver that widens them keeps what it read, so the width is told by the value alone. A 32-bit register that could
/// have run over more than once tells nothing.
pub fn step(earlier: u64, later: u64, elapsed: Span, pace: Pace) -> Step {
    let most = pace.most(elapsed);
    if later >= earlier {
        let counted = later - earlier;
        return if counted <= most { Step::Counted(counted) } else { Step::Unknown };
    }
    let narrow = u64::from(u32::MAX);
    if earlier <= narrow && most < narrow {
        let through = (narrow - earlier) + later + 1;
        if through <= most {
            return Step::Counted(through);
        }
    }
    let through = later.wrapping_sub(earlier);
    if through <= most { Step::Counted(through) } else { Step::Unknown }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Span = Span::from_ms(1_000);

    fn at_100g(earlier: u64, later: u64) -> Step {
        step(earlier, later, SECOND, Pace::of_megabits(100_000))
    }

    #[test]
    fn registers_run_over_at_32_and_at_64_bits() {
        assert_eq!(at_100g(u64::from(u32::MAX) - 9, 20), Step::Counted(30));
        assert_eq!(at_100g(u64::MAX - 9, 20), Step::Counted(30));
    }

    #[test]
    fn a_register_that_began_anew_is_no_step() {
        assert_eq!(at_100g(3_000_000_000, 10), Step::Unknown, "1.3e9 frames do not pass in a second");
        assert_eq!(at_100g(1 << 40, 10), Step::Unknown);
    }

    /// A driver that was reloaded may come back with larger values.
    #[test]
    fn no_port_is_faster_than_its_line() {
        assert_eq!(at_100g(0, 148_809_523), Step::Counted(148_809_523));
        assert_eq!(at_100g(0, 1_000_000_000), Step::Unknown);
    }

    /// A record may name any speed; good frames and bad ones are added up.
    #[test]
    fn no_speed_makes_counts_overflow() {
        let ever = Span::from_ps(u64::MAX);
        assert_eq!(step(0, u64::MAX, ever, Pace::of_megabits(u64::MAX)), Step::Unknown);
        assert!(Pace::of_megabits(u64::MAX).most(ever) < u64::MAX / 4);
    }

    /// 2^32 frames of 64 bytes take 29 s at 100G.
    #[test]
    fn a_narrow_register_not_read_for_long_tells_nothing() {
        let minute = Span::from_ms(60_000);
        assert_eq!(step(4_000_000_000, 10, minute, Pace::of_megabits(100_000)), Step::Unknown);
    }

    proptest! {
        #[test]
        fn what_was_counted_is_found(start: u64, counted in 0_u64..100_000_000) {
            prop_assert_eq!(at_100g(start, start.wrapping_add(counted)), Step::Counted(counted));
        }

        #[test]
        fn what_was_counted_is_found_in_narrow_registers(start: u32, counted in 0_u32..100_000_000) {
            let later = start.wrapping_add(counted);
            prop_assert_eq!(at_100g(start.into(), later.into()), Step::Counted(counted.into()));
        }
    }
}
