//! Loss rates without floating point, and how many copies they need (LG §3.4).

/// A share of frames, in parts per 10¹².
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LossRate(u64);

impl LossRate {
    /// All.
    pub const ONE: Self = Self(1_000_000_000_000);

    /// So many parts per 10¹², at most all.
    pub const fn parts_per_trillion(parts: u64) -> Self {
        if parts > Self::ONE.0 { Self::ONE } else { Self(parts) }
    }

    /// `missed` of `sent`, rounded up.
    pub const fn of(missed: u64, sent: u64) -> Self {
        if sent == 0 {
            return Self(0);
        }
        let parts = (missed as u128 * Self::ONE.0 as u128).div_ceil(sent as u128);
        if parts > Self::ONE.0 as u128 { Self::ONE } else { Self(parts as u64) }
    }

    /// In parts per 10¹².
    pub const fn as_parts_per_trillion(self) -> u64 {
        self.0
    }

    /// So many times as much, at most all.
    pub const fn times(self, count: u64) -> Self {
        Self::parts_per_trillion(self.0.saturating_mul(count))
    }

    /// The least number of copies, at least one, with which no more than `target` stays lost: all of them and the
    /// original must be (LG Eq. 2). Nothing if more than `copies_max` were needed.
    pub fn copies_for(self, target: Self, copies_max: u8) -> Option<u8> {
        let mut left = self.0;
        (1..=copies_max).find(|_| {
            left = (left as u128 * self.0 as u128).div_ceil(Self::ONE.0 as u128) as u64;
            left <= target.0
        })
    }
}

/// How many copies of a frame that is asked for again are sent (LG §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyCount {
    /// So many.
    Fixed(u8),
    /// By LG Eq. 2 from the loss that is measured; from this one as long as nothing was measured.
    Measured(LossRate),
}

impl CopyCount {
    /// More copies of what is asked for are never sent.
    pub const MAX: u8 = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ten_to_minus(exponent: u32) -> LossRate {
        LossRate::parts_per_trillion(10_u64.pow(12 - exponent))
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
    fn a_share_is_rounded_up() {
        assert_eq!(LossRate::of(1, 3).as_parts_per_trillion(), 333_333_333_334);
        assert_eq!(LossRate::of(0, 0), LossRate::default());
        assert_eq!(LossRate::of(5, 3), LossRate::ONE);
    }
}
