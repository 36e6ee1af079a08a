//! Sequence numbers and positions.
//!
//! Both ends count frames in 64 bits (a *position*). A header carries the low bits, and a reader extends them
//! to the nearest position. So counters never wrap, and there is no era bit to lose.

/// A sequence number of `BITS` bits. Numbers less than half the space apart have an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seq<const BITS: u32>(u32);

impl<const BITS: u32> Seq<BITS> {
    const MASK: u32 = (1 << BITS) - 1;
    /// Maximum numbers in flight: one less than half the space. A reader's position lies between the oldest
    /// and the newest number in flight, so a received number is at most this far from it.
    pub const WINDOW_MAX: u32 = (1 << (BITS - 1)) - 1;

    /// The number with these low bits.
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MASK)
    }

    /// The number of a position.
    pub const fn from_position(position: u64) -> Self {
        Self::new(position as u32)
    }

    /// Value in a header.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `count` later.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// Signed distance from `other` to this number.
    pub const fn distance(self, other: Self) -> i32 {
        let ahead = self.0.wrapping_sub(other.0) << (32 - BITS);
        (ahead as i32) >> (32 - BITS)
    }

    /// The position with this number nearest to `reader`; `None` if it would be negative.
    pub const fn position_near(self, reader: u64) -> Option<u64> {
        reader.checked_add_signed(self.distance(Self::from_position(reader)) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_recovered_from_anywhere_within_the_window() {
        let window = u64::from(Seq::<5>::WINDOW_MAX);
        for position in 0..200_u64 {
            for reader in position.saturating_sub(window)..=position + window {
                assert_eq!(
                    Seq::<5>::from_position(position).position_near(reader),
                    Some(position),
                    "{position} read at {reader}"
                );
            }
        }
    }

    #[test]
    fn negative_positions_do_not_exist() {
        assert_eq!(Seq::<5>::new(31).position_near(0), None);
    }
}
