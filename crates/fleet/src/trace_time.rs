//! Times and durations of a trace, in microseconds: 64 bits of picoseconds hold only 213 days.

use std::fmt;

/// A point in time: microseconds since the start of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TraceTime(u64);

/// A duration in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TraceSpan(u64);

/// The time interval that averages cover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeWindow {
    /// Start, included.
    pub begin: TraceTime,
    /// End, excluded.
    pub end: TraceTime,
}

/// Microseconds of a day.
const DAY_US: u64 = 86_400 * 1_000_000;

impl TraceTime {
    /// The latest time of a trace: a thousand years.
    pub const MAX: Self = Self(365_000 * DAY_US);

    /// Time at this many microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us)
    }

    /// Start of a day, counted from 0.
    pub const fn from_days(days: u64) -> Self {
        Self(days * DAY_US)
    }

    /// Time at this many seconds, to the nearest microsecond; `None` below zero or beyond [`MAX`](Self::MAX).
    pub fn from_s(s: f64) -> Option<Self> {
        TraceSpan::from_s(s).map(|span| Self(span.0))
    }

    /// Returns the time in microseconds.
    pub const fn as_us(self) -> u64 {
        self.0
    }

    /// Returns the time in seconds.
    pub fn as_s(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In days.
    pub fn as_days(self) -> f64 {
        self.0 as f64 / DAY_US as f64
    }

    /// This time plus `span`; saturates at 64 bits.
    #[must_use]
    pub const fn after(self, span: TraceSpan) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl TraceSpan {
    /// One day.
    pub const DAY: Self = Self(DAY_US);

    /// Duration of this many microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us)
    }

    /// Duration of this many days.
    pub const fn from_days(days: u64) -> Self {
        Self(days * DAY_US)
    }

    /// Duration of this many seconds, to the nearest microsecond; `None` below zero or beyond a thousand years.
    pub fn from_s(s: f64) -> Option<Self> {
        let us = libm::round(s * 1e6);
        (us >= 0.0 && us <= TraceTime::MAX.0 as f64).then_some(Self(us as u64))
    }

    /// Returns the duration in microseconds.
    pub const fn as_us(self) -> u64 {
        self.0
    }
}

/// Seconds without trailing zeros: `345600`, `12.5`.
impl fmt::Display for TraceTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TraceSpan(self.0).fmt(f)
    }
}

/// Seconds without trailing zeros: `345600`, `12.5`.
impl fmt::Display for TraceSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, us) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if us == 0 {
            return write!(f, "{s}");
        }
        let digits = format!("{us:06}");
        write!(f, "{s}.{}", digits.trim_end_matches('0'))
    }
}

impl TimeWindow {
    /// Returns the window of `days` days from the start of day `from`, counted from 0.
    pub const fn days(from: u64, days: u64) -> Self {
        Self { begin: TraceTime::from_days(from), end: TraceTime::from_days(from + days) }
    }

    /// Returns the overlap with the time from `from` to `to`, in microseconds.
    pub fn overlap_us(&self, from: TraceTime, to: TraceTime) -> u64 {
        to.0.min(self.end.0).saturating_sub(from.0.max(self.begin.0))
    }

    /// Returns whether a time lies in the window.
    pub fn contains(&self, at: TraceTime) -> bool {
        (self.begin..self.end).contains(&at)
    }
}
