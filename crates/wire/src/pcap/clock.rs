//! Conversion of interface ticks to nanoseconds.

/// Clock of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    ticks_per_s: u64,
    offset_s: i64,
}

const NS_PER_S: u32 = 1_000_000_000;

impl Clock {
    /// Default of an interface.
    pub(super) const MICROSECONDS: Self = Self { ticks_per_s: 1_000_000, offset_s: 0 };
    pub(super) const NANOSECONDS: Self = Self { ticks_per_s: NS_PER_S as u64, offset_s: 0 };
    /// Resolution code of nanoseconds: a negative power of ten.
    pub(super) const NANOSECONDS_CODE: u8 = 9;

    /// The clock of a resolution code: a negative power of ten, or of two if the top bit is set. `None` if a
    /// tick is too short.
    pub(super) fn with_resolution(self, code: u8) -> Option<Self> {
        let exponent = u32::from(code & 0x7F);
        let ticks_per_s =
            if code & 0x80 == 0 { 10_u64.checked_pow(exponent) } else { 1_u64.checked_shl(exponent) };
        Some(Self { ticks_per_s: ticks_per_s?, ..self })
    }

    pub(super) const fn with_offset(self, offset_s: i64) -> Self {
        Self { offset_s, ..self }
    }

    /// Nanoseconds at a tick, rounded down; `None` on overflow.
    pub(super) fn ns(self, ticks: u64) -> Option<u64> {
        let since = i128::from(ticks) * i128::from(NS_PER_S) / i128::from(self.ticks_per_s);
        u64::try_from(since + i128::from(self.offset_s) * i128::from(NS_PER_S)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_either_base_give_nanoseconds() {
        let clock = |code| Clock::MICROSECONDS.with_resolution(code).unwrap();
        assert_eq!(Clock::MICROSECONDS.ns(7), Some(7_000));
        assert_eq!(clock(Clock::NANOSECONDS_CODE), Clock::NANOSECONDS);
        assert_eq!(clock(12).ns(1_999), Some(1));
        assert_eq!(clock(0).ns(3), Some(3_000_000_000));
        assert_eq!(clock(0x8A).ns(1_024), Some(1_000_000_000));
        assert_eq!(clock(0xBF).ns(1 << 63), Some(1_000_000_000));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(Clock::MICROSECONDS.with_resolution(20).is_none());
        assert!(Clock::MICROSECONDS.with_resolution(0xC0).is_none());
        assert_eq!(Clock::MICROSECONDS.ns(u64::MAX), None);
        assert_eq!(Clock::NANOSECONDS.with_offset(-1).ns(999_999_999), None);
        assert_eq!(Clock::NANOSECONDS.with_offset(-1).ns(1_000_000_007), Some(7));
        assert_eq!(Clock::NANOSECONDS.with_offset(i64::MAX).ns(0), None);
    }
}
