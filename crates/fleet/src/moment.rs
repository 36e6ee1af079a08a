//! Time over a year: microseconds, since a year in picoseconds is more than 64 bits hold.

use std::fmt;

/// A point in time, in microseconds since the begin of a trace; or how long something takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Moment(u64);

/// The time that averages cover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// From here.
    pub begin: Moment,
    /// Up to here.
    pub end: Moment,
}

impl Moment {
    /// A day.
    pub const DAY: Self = Self(86_400 * 1_000_000);
    /// The latest that a trace may speak of: a thousand years.
    pub const MAX: Self = Self(365_000 * Self::DAY.0);

    /// Of microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us)
    }

    /// Of days.
    pub const fn from_days(days: u64) -> Self {
        Self(days * Self::DAY.0)
    }

    /// Of seconds, to the nearest microsecond; `None` below zero or beyond [`MAX`](Self::MAX).
    pub fn from_s(s: f64) -> Option<Self> {
        let us = libm::round(s * 1e6);
        (us >= 0.0 && us <= Self::MAX.0 as f64).then_some(Self(us as u64))
    }

    /// In microseconds.
    pub const fn as_us(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In days.
    pub fn as_days(self) -> f64 {
        self.0 as f64 / Self::DAY.0 as f64
    }

    /// So much later; never beyond what the number holds.
    #[must_use]
    pub const fn after(self, period: Self) -> Self {
        Self(self.0.saturating_add(period.0))
    }
}

/// Seconds without needless digits: `345600`, `12.5`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, us) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if us == 0 {
            return write!(f, "{s}");
        }
        let digits = format!("{us:06}");
        write!(f, "{s}.{}", digits.trim_end_matches('0'))
    }
}

impl Window {
    /// So many days from the begin of a day, counted from 0.
    pub const fn days(from: u64, days: u64) -> Self {
        Self { begin: Moment::from_days(from), end: Moment::from_days(from + days) }
    }

    /// How much of the time between two moments lies inside, in microseconds.
    pub fn overlap_us(&self, from: Moment, to: Moment) -> u64 {
        to.0.min(self.end.0).saturating_sub(from.0.max(self.begin.0))
    }

    /// Whether a moment lies inside.
    pub fn contains(&self, at: Moment) -> bool {
        (self.begin..self.end).contains(&at)
    }
}
