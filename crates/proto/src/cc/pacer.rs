//! Packet pacing at a variable rate.

use wiremend_units::{Bytes, Rate, Span, Time};

/// Serialization times at a rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Serializer {
    rate: Rate,
    /// Latest packet size; its time is in `span`. Most packets have the size of the previous one, and the
    /// exact division is the most expensive step of a transmission.
    size: u32,
    span: Span,
}

impl Serializer {
    pub(crate) const fn new(rate: Rate) -> Self {
        Self { rate, size: 0, span: Span::ZERO }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    pub(crate) fn serialize_time(&mut self, wire_bytes: u32) -> Span {
        if wire_bytes != self.size {
            self.size = wire_bytes;
            self.span = self.rate.serialize(Bytes::new(wire_bytes as u64));
        }
        self.span
    }
}

/// Spaces packets as a link of its rate would.
#[derive(Clone, Debug)]
pub struct Pacer {
    line: Serializer,
    eligible: Time,
}

impl Pacer {
    /// Creates a pacer with this rate.
    pub fn new(rate: Rate) -> Self {
        Self { line: Serializer::new(rate), eligible: Time::ZERO }
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// Sets the rate from the next packet on. The gap after the latest packet does not change.
    #[inline]
    pub fn set_rate(&mut self, rate: Rate) {
        if rate != self.line.rate() {
            self.line = Serializer::new(rate);
        }
    }

    /// Handles the start of a packet's transmission.
    #[inline]
    pub fn on_transmit(&mut self, now: Time, wire_bytes: u32) {
        self.eligible = self.eligible.max(now).saturating_add(self.line.serialize_time(wire_bytes));
    }

    /// Earliest time of the next transmission.
    #[inline]
    pub fn eligible(&self) -> Time {
        self.eligible
    }
}
