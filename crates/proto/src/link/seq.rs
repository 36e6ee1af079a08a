//! Sequence numbers that wrap.

/// A number of `BITS` bits. Of two that are less than half the space apart it is known which is later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seq<const BITS: u32>(u32);

impl<const BITS: u32> Seq<BITS> {
    const MASK: u32 = (1 << BITS) - 1;
    /// Numbers that may be under way at once, at most.
    pub const WINDOW_MAX: u32 = 1 << (BITS - 1);

    /// The number with these low bits.
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MASK)
    }

    /// As it stands in a header.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `count` later.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// How much later than `other` this is; negative if it is earlier.
    pub const fn distance(self, other: Self) -> i32 {
        let ahead = self.0.wrapping_sub(other.0) << (32 - BITS);
        (ahead as i32) >> (32 - BITS)
    }
}
