//! Link and pacing rates.

use std::fmt;
use std::str::FromStr;

use crate::quantity::{BadQuantity, Quantity, Unit, short};
use crate::{Bytes, Span};

/// A rate in bit/s; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Rate(u64);

const BITS_PS_PER_BYTE_S: u128 = 8 * 1_000_000_000_000;

impl Rate {
    /// Creates a rate in bit/s. Panics on zero.
    pub const fn from_bits_per_s(bits_per_s: u64) -> Self {
        assert!(bits_per_s > 0, "a rate is never zero");
        Self(bits_per_s)
    }

    /// Creates a rate in Gb/s.
    pub const fn gbps(gbps: u64) -> Self {
        Self::from_bits_per_s(gbps * 1_000_000_000)
    }

    /// The rate in bit/s.
    pub const fn bits_per_s(self) -> u64 {
        self.0
    }

    /// Serialization time of `len`, rounded up so that a link never exceeds its rate.
    pub const fn serialize(self, len: Bytes) -> Span {
        let ps = (len.get() as u128 * BITS_PS_PER_BYTE_S).div_ceil(self.0 as u128);
        Span::from_ps(ps as u64)
    }

    /// Bytes that are sent in `span`, rounded down.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes::new((span.as_ps() as u128 * self.0 as u128 / BITS_PS_PER_BYTE_S) as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = match self.0 {
            0..1_000 => ("bps", 1),
            1_000..1_000_000 => ("kbps", 1_000),
            1_000_000..1_000_000_000 => ("Mbps", 1_000_000),
            1_000_000_000..1_000_000_000_000 => ("Gbps", 1_000_000_000),
            _ => ("Tbps", 1_000_000_000_000_u64),
        };
        f.pad(&format!("{}{unit}", short(self.0, size)))
    }
}

const UNITS: &[Unit] = &[
    Unit { name: "bps", size: 1 },
    Unit { name: "kbps", size: 1_000 },
    Unit { name: "Mbps", size: 1_000_000 },
    Unit { name: "Gbps", size: 1_000_000_000 },
    Unit { name: "Tbps", size: 1_000_000_000_000 },
];

impl FromStr for Rate {
    type Err = BadQuantity;
    fn from_str(text: &str) -> Result<Self, BadQuantity> {
        let kind = Quantity { what: "a rate", example: "100Gbps", units: UNITS };
        match kind.parse(text)? {
            0 => Err(kind.refuse(text, "it must be above zero")),
            bits_per_s => Ok(Self(bits_per_s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_its_bits_at_the_rate() {
        assert_eq!(Rate::gbps(100).serialize(Bytes::new(1106)), Span::from_ps(88_480));
        assert_eq!(Rate::gbps(3).serialize(Bytes::new(1)), Span::from_ps(2_667));
        assert_eq!(Rate::gbps(100).bytes_in(Span::from_us(1)), Bytes::new(12_500));
    }

    #[test]
    fn rate_zero_is_refused() {
        assert!("0Gbps".parse::<Rate>().unwrap_err().to_string().contains("above zero"));
        assert_eq!("2.5Gbps".parse::<Rate>().unwrap().bits_per_s(), 2_500_000_000);
    }
}
