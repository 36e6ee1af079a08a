//! Sequence numbers that wrap, and the places they stand for.
//!
//! Both ends count frames without end (a *place*, `u64`); a header carries the lowest bits. So nothing wraps inside, and
//! no era bit can get out of step: the place is the one next to where the reader stands.

/// A number of `BITS` bits. Of two that are less than half the space apart it is known which is later.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seq<const BITS: u32>(u32);

impl<const BITS: u32> Seq<BITS> {
    const MASK: u32 = (1 << BITS) - 1;
    /// Numbers that may be under way at once, at most.
    ///
    /// One less than half the space: a reader stands between the oldest and the newest number under way, so what
    /// it reads is at most this far before or behind it.
    pub const WINDOW_MAX: u32 = (1 << (BITS - 1)) - 1;

    /// The number with these low bits.
    pub const fn new(value: u32) -> Self {
        Self(value & Self::MASK)
    }

    /// The number of a place.
    pub const fn of(place: u64) -> Self {
        Self::new(place as u32)
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

    /// The place with this number that is nearest to `reader`; nothing if it would be before the first.
    pub const fn place_near(self, reader: u64) -> Option<u64> {
        reader.checked_add_signed(self.distance(Self::of(reader)) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_again_from_anywhere_within_the_window() {
        let window = u64::from(Seq::<5>::WINDOW_MAX);
        for place in 0..200_u64 {
            for reader in place.saturating_sub(window)..=place + window {
                assert_eq!(Seq::<5>::of(place).place_near(reader), Some(place), "{place} read at {reader}");
            }
        }
    }

    #[test]
    fn nothing_is_before_the_first_place() {
        assert_eq!(Seq::<5>::new(31).place_near(0), None);
    }
}
