//! Packet sequence numbers: 24 bits with wrap-around (IBA 9.7.2).

use std::fmt;

/// A packet sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Psn(u32);

const MASK: u32 = (1 << 24) - 1;

impl Psn {
    /// Half of the number space: two numbers further apart cannot be ordered.
    pub const HALF: u32 = 1 << 23;

    /// The low 24 bits of `number`.
    pub const fn new(number: u32) -> Self {
        Self(number & MASK)
    }

    /// Reads three bytes, most significant first.
    pub const fn from_be_bytes(bytes: [u8; 3]) -> Self {
        Self(u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]))
    }

    /// Writes three bytes, most significant first.
    pub const fn to_be_bytes(self) -> [u8; 3] {
        let [_, a, b, c] = self.0.to_be_bytes();
        [a, b, c]
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number `steps` ahead, with wrap-around.
    pub const fn ahead(self, steps: u32) -> Self {
        Self(self.0.wrapping_add(steps) & MASK)
    }

    /// Distance from `other` to `self`, negative if behind: the 24-bit difference, sign-extended.
    pub const fn distance(self, other: Self) -> i32 {
        (self.0.wrapping_sub(other.0) << 8) as i32 >> 8
    }
}

impl fmt::Display for Psn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        let last = Psn::new(0xFF_FFFF);
        assert_eq!(last.ahead(1), Psn::new(0));
        assert_eq!(Psn::new(0).distance(last), 1);
        assert_eq!(last.distance(Psn::new(0)), -1);
        assert_eq!(Psn::new(3).distance(Psn::new(0xFF_FFFE)), 5);
        assert_eq!(Psn::new(Psn::HALF - 1).distance(Psn::new(0)), (Psn::HALF - 1) as i32);
    }
}
