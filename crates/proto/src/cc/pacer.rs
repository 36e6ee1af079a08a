//! When the next packet may leave, at a rate that may change.

use wiremend_units::{Bytes, Rate, Span, Time};

/// A line of some rate, and how long packets take on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    rate: Rate,
    /// The latest size and its time: most packets are as long as the one before, and the exact division is the dearest step of
    /// a transmission.
    size: u32,
    span: Span,
}

impl Line {
    pub(crate) const fn new(rate: Rate) -> Self {
        Self { rate, size: 0, span: Span::ZERO }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    pub(crate) fn time_of(&mut self, wire_bytes: u32) -> Span {
        if wire_bytes != self.size {
            self.size = wire_bytes;
            self.span = self.rate.serialize(Bytes::new(wire_bytes as u64));
        }
        self.span
    }
}

/// Spaces packets as a line of its rate would.
#[derive(Clone, Debug)]
pub struct Pacer {
    line: Line,
    eligible: Time,
}

impl Pacer {
    /// At that rate.
    pub fn new(rate: Rate) -> Self {
        Self { line: Line::new(rate), eligible: Time::ZERO }
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// From the next packet on. The gap behind the latest one stays as it is.
    #[inline]
    pub fn set_rate(&mut self, rate: Rate) {
        if rate != self.line.rate() {
            self.line = Line::new(rate);
        }
    }

    /// A packet starts to leave.
    #[inline]
    pub fn on_transmit(&mut self, now: Time, wire_bytes: u32) {
        self.eligible = self.eligible.max(now).saturating_add(self.line.time_of(wire_bytes));
    }

    /// When the next packet may leave.
    #[inline]
    pub fn eligible(&self) -> Time {
        self.eligible
    }
}
