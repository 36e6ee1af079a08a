//! Points in time and spans between them.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use crate::quantity::{BadQuantity, Quantity, Unit};

/// A point in time: picoseconds since the start of the run (213 days fit in 64 bits).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

/// A duration in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// Later than any event; used for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// A time given in picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A time given in nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// Picoseconds since the start of the run.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds since the start of the run, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Duration since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, or [`Time::MAX`] on overflow.
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// Zero duration.
    pub const ZERO: Self = Self(0);

    /// A span given in picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span given in nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span given in microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span given in milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds, for statistics and output.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Local ACK timeout of a `RoCE` timeout code: 4.096 µs · 2^code. Code 0 means no timer (IBA 9.7.6.1.3).
    /// Codes have five bits.
    pub const fn from_timeout_code(code: u8) -> Option<Self> {
        assert!(code < 32, "a timeout code has five bits");
        if code == 0 { None } else { Some(Self(4_096_000 << code)) }
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0 - span.0)
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// `12.5us`, `67.1ms`: at most four digits and a suitable unit.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, ps) = match self.0 {
            0 => return f.pad("0ns"),
            1..1_000 => ("ps", 1),
            1_000..1_000_000 => ("ns", 1_000),
            1_000_000..1_000_000_000 => ("us", 1_000_000),
            1_000_000_000..1_000_000_000_000 => ("ms", 1_000_000_000),
            _ => ("s", 1_000_000_000_000_u64),
        };
        f.pad(&format!("{}{unit}", crate::quantity::short(self.0, ps)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

const UNITS: &[Unit] = &[
    Unit { name: "ps", size: 1 },
    Unit { name: "ns", size: 1_000 },
    Unit { name: "us", size: 1_000_000 },
    Unit { name: "µs", size: 1_000_000 },
    Unit { name: "ms", size: 1_000_000_000 },
    Unit { name: "s", size: 1_000_000_000_000 },
    Unit { name: "min", size: 60_000_000_000_000 },
    Unit { name: "h", size: 3_600_000_000_000_000 },
];

impl FromStr for Span {
    type Err = BadQuantity;
    fn from_str(text: &str) -> Result<Self, BadQuantity> {
        let kind = Quantity { what: "a time", example: "1us", units: UNITS };
        kind.parse(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_codes_match_the_table_of_the_specification() {
        assert_eq!(Span::from_timeout_code(0), None);
        assert_eq!(Span::from_timeout_code(8).unwrap().as_ns(), 1_048_576);
        assert_eq!(Span::from_timeout_code(14).unwrap().as_ns(), 67_108_864);
        assert_eq!(Span::from_timeout_code(31).unwrap().as_ns() / 1_000_000_000, 8796);
    }

    #[test]
    fn spans_parse_back_to_the_same_text() {
        for text in ["0ns", "1ps", "12.5us", "67.11ms", "3s", "999ns"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("1.5h".parse::<Span>().unwrap(), "90min".parse().unwrap());
    }

    #[test]
    fn a_time_without_unit_is_refused_with_an_example() {
        let error = "15".parse::<Span>().unwrap_err().to_string();
        assert!(error.contains("1us") && error.contains("ms"), "{error}");
    }
}
