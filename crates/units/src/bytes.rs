//! Sizes in bytes.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

use crate::quantity::{BadQuantity, Quantity, Unit, short};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// Creates a size in bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Creates a size in multiples of 1024 bytes.
    pub const fn kib(kib: u64) -> Self {
        Self(kib * 1024)
    }

    /// Number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Number of bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            0..1_000 => ("B", 1),
            1_000..1_000_000 => ("kB", 1_000),
            1_000_000..1_000_000_000 => ("MB", 1_000_000),
            1_000_000_000..1_000_000_000_000 => ("GB", 1_000_000_000),
            _ => ("TB", 1_000_000_000_000_u64),
        };
        f.pad(&format!("{}{unit}", short(self.0, size)))
    }
}

const UNITS: &[Unit] = &[
    Unit { name: "B", size: 1 },
    Unit { name: "kB", size: 1_000 },
    Unit { name: "KB", size: 1_000 },
    Unit { name: "MB", size: 1_000_000 },
    Unit { name: "GB", size: 1_000_000_000 },
    Unit { name: "KiB", size: 1 << 10 },
    Unit { name: "MiB", size: 1 << 20 },
    Unit { name: "GiB", size: 1 << 30 },
];

impl FromStr for Bytes {
    type Err = BadQuantity;
    fn from_str(text: &str) -> Result<Self, BadQuantity> {
        let kind = Quantity { what: "a size", example: "64KiB", units: UNITS };
        kind.parse(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes::kib(64));
        assert_eq!("1.5MB".parse::<Bytes>().unwrap(), Bytes::new(1_500_000));
        assert_eq!("1 kB".parse::<Bytes>().unwrap(), Bytes::new(1_000));
    }
}
