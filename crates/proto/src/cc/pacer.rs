//! When the next packet may leave, at a rate that may change.

use wiremend_units::{Bytes, Rate, Span, Time};

/// Spaces packets as a line of its rate would.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    rate: Rate,
    eligible: Time,
    /// The latest size and its time on the line: most packets are as long as the one before, and the exact
    /// division is the dearest step of a transmission.
    size: u32,
    span: Span,
}

impl Pacer {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, eligible: Time::ZERO, size: 0, span: Span::ZERO }
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// From the next packet on. The gap behind the latest one stays as it is.
    #[inline]
    pub(super) fn set_rate(&mut self, rate: Rate) {
        if rate != self.rate {
            self.rate = rate;
            self.size = 0;
        }
    }

    #[inline]
    pub(super) fn on_transmit(&mut self, now: Time, wire_bytes: u32) {
        if wire_bytes != self.size {
            self.size = wire_bytes;
            self.span = self.rate.serialize(Bytes::new(wire_bytes as u64));
        }
        self.eligible = self.eligible.max(now).saturating_add(self.span);
    }

    #[inline]
    pub(super) fn eligible(&self) -> Time {
        self.eligible
    }
}
