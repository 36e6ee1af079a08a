//! Loss rates without floating point, and the number of copies for a target (LG §3.4).

/// A loss rate in parts per 10¹².
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LossRate(u64);

impl LossRate {
    /// A loss rate of 1.
    pub const ONE: Self = Self(1_000_000_000_000);

    /// Creates a loss rate from parts per 10¹², limited to 1.
    pub const fn from_parts_per_trillion(parts: u64) -> Self {
        if parts > Self::ONE.0 { Self::ONE } else { Self(parts) }
    }

    /// Loss rate of `missed` of `sent` frames, rounded up.
    pub const fn from_counts(missed: u64, sent: u64) -> Self {
        if sent == 0 {
            return Self(0);
        }
        let parts = (missed as u128 * Self::ONE.0 as u128).div_ceil(sent as u128);
        if parts > Self::ONE.0 as u128 { Self::ONE } else { Self(parts as u64) }
    }

    /// Loss rate in parts per 10¹².
    pub const fn as_parts_per_trillion(self) -> u64 {
        self.0
    }

    /// `count` times the rate, limited to 1.
    pub const fn times(self, count: u64) -> Self {
        Self::from_parts_per_trillion(self.0.saturating_mul(count))
    }

    /// Smallest number of copies, at least one, with which at most `target` stays lost: the original and all
    /// copies must be lost (LG Eq. 2). `None` if more than `copies_max` copies are necessary.
    pub fn copies_for(self, target: Self, copies_max: u8) -> Option<u8> {
        let mut left = self.0;
        (1..=copies_max).find(|_| {
            left = (left as u128 * self.0 as u128).div_ceil(Self::ONE.0 as u128) as u64;
            left <= target.0
        })
    }
}

/// Number of copies of each retransmitted frame (LG §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyCount {
    /// A fixed number.
    Fixed(u8),
    /// From LG Eq. 2 with the measured loss rate; with this rate until a measurement exists.
    Measured(LossRate),
}

impl CopyCount {
    /// Most copies of a retransmitted frame.
    pub const MAX: u8 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten_to_minus(exponent: u32) -> LossRate {
        LossRate::from_parts_per_trillion(10_u64.pow(12 - exponent))
    }

    /// L1: one copy at 1e-5 and 1e-4, two at 1e-3, for a target of 1e-8.
    #[test]
    fn copies_are_those_of_the_paper() {
        let copies = |exponent| ten_to_minus(exponent).copies_for(ten_to_minus(8), 4);
        assert_eq!([copies(5), copies(4), copies(3)], [Some(1), Some(1), Some(2)]);
        assert_eq!(copies(2), Some(3));
        assert_eq!(copies(1), None, "a tenth would need seven");
    }

    #[test]
    fn a_loss_rate_is_rounded_up() {
        assert_eq!(LossRate::from_counts(1, 3).as_parts_per_trillion(), 333_333_333_334);
        assert_eq!(LossRate::from_counts(0, 0), LossRate::default());
        assert_eq!(LossRate::from_counts(5, 3), LossRate::ONE);
    }
}
