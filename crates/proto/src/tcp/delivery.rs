//! Delivery rate samples for BBR (draft-cheng-iccrg-delivery-rate-estimation).

use wiremend_units::{Rate, Span, Time};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    pub(super) bytes: u64,
    at: Time,
    first_sent: Time,
    /// The sender is application-limited until this many bytes are delivered; 0: it is not.
    app_limited_until: u64,
}

/// Delivery state when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    pub(super) delivered: u64,
    at: Time,
    first_sent: Time,
    app_limited: bool,
}

/// A delivery rate over about a round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSample {
    /// Bytes delivered.
    pub delivered: u64,
    /// Time in which they were delivered.
    pub interval: Span,
    /// Bytes delivered when the segment behind this sample was sent.
    pub prior_delivered: u64,
    /// The sender had too little data, so the rate is no measure of the path.
    pub app_limited: bool,
}

impl RateSample {
    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_s(bits_per_s(self.delivered as u128 * BIT_PS_PER_BYTE, self.interval).max(1))
    }
}

/// Picoseconds in a second, times the bits of a byte.
pub(super) const BIT_PS_PER_BYTE: u128 = 8 * 1_000_000_000_000;

/// Rate of so many bit-picoseconds over a time, at most 1 Pb/s: a peer that acknowledges within a picosecond
/// must not overflow products of rate and time.
pub(super) fn bits_per_s(bit_ps: u128, time: Span) -> u64 {
    const MOST: u128 = 1_000_000_000_000_000;
    (bit_ps / time.as_ps().max(1) as u128).min(MOST) as u64
}

/// The newest segment that an ACK newly acknowledges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    at_send: Snapshot,
    sent: Time,
}

impl Delivery {
    /// A segment leaves; `idle`: no other is in flight.
    #[inline]
    pub(super) fn on_send(&mut self, now: Time, idle: bool) -> Snapshot {
        if idle {
            (self.first_sent, self.at) = (now, now);
        }
        let app_limited = self.app_limited_until > 0;
        Snapshot { delivered: self.bytes, at: self.at, first_sent: self.first_sent, app_limited }
    }

    /// The sender has no data although the window has room.
    pub(super) fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.bytes + in_flight).max(1);
    }

    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        newest: &mut Option<Newest>,
        len: u64,
        sent: Time,
        at_send: Snapshot,
    ) {
        self.bytes += len;
        if newest.is_none_or(|newest| (at_send.delivered, sent) >= (newest.at_send.delivered, newest.sent)) {
            *newest = Some(Newest { at_send, sent });
        }
    }

    /// Returns the sample of an ACK after all its segments are counted.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        newest: Option<Newest>,
        rtt_min: Option<Span>,
    ) -> Option<RateSample> {
        let Newest { at_send, sent } = newest?;
        self.at = now;
        self.first_sent = sent;
        if self.app_limited_until > 0 && self.bytes > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let interval = now.since(at_send.at).max(sent.since(at_send.first_sent));
        // Less than a round trip is ACK compression, not a rate.
        if interval < rtt_min.unwrap_or(Span::ZERO) || interval == Span::ZERO {
            return None;
        }
        let Snapshot { delivered: prior_delivered, app_limited, .. } = at_send;
        let delivered = self.bytes - prior_delivered;
        Some(RateSample { delivered, interval, prior_delivered, app_limited })
    }
}
