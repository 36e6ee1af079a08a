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

    /// In parts per 10¹².
    pub const fn as_parts_per_trillion(self) -> u64 {
        self.0
    }
}
