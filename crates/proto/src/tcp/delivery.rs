//! How fast data are delivered: samples of the rate, as BBR wants them (draft-cheng-iccrg-delivery-rate-estimation).

use wiremend_units::{Rate, Span, Time};

/// What was delivered so far, and when.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    pub(super) bytes: u64,
    at: Time,
    first_sent: Time,
    /// There was too little to send, until so much is delivered; zero: no.
    starved_until: u64,
}

/// How things stood when a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stand {
    pub(super) delivered: u64,
    at: Time,
    first_sent: Time,
    starved: bool,
}

/// A rate over about a round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Bytes.
    pub delivered: u64,
    /// In this time.
    pub interval: Span,
    /// Bytes delivered before the segment was sent by which this was measured.
    pub prior: u64,
    /// There was too little to send, so that it says nothing of the path.
    pub starved: bool,
}

impl Sample {
    /// As a rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bits_per_s(bits_per_s(self.delivered as u128 * BIT_PS_PER_BYTE, self.interval).max(1))
    }
}

/// Bits times picoseconds of a byte in a second.
pub(super) const BIT_PS_PER_BYTE: u128 = 8 * 1_000_000_000_000;

/// What comes of so many bits times picoseconds in this time. A peer that acknowledges what left a picosecond ago makes a path no
/// faster than a petabit per second, so that products with it fit.
pub(super) fn bits_per_s(bit_ps: u128, time: Span) -> u64 {
    const MOST: u128 = 1_000_000_000_000_000;
    (bit_ps / time.as_ps().max(1) as u128).min(MOST) as u64
}

/// The newest segment of those that an acknowledgement tells of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newest {
    stand: Stand,
    sent: Time,
}

impl Delivery {
    /// A segment leaves; `idle` if nothing is under way.
    #[inline]
    pub(super) fn on_send(&mut self, now: Time, idle: bool) -> Stand {
        if idle {
            (self.first_sent, self.at) = (now, now);
        }
        let starved = self.starved_until > 0;
        Stand { delivered: self.bytes, at: self.at, first_sent: self.first_sent, starved }
    }

    /// The sender has nothing to send although it might.
    pub(super) fn on_starved(&mut self, in_flight: u64) {
        self.starved_until = (self.bytes + in_flight).max(1);
    }

    /// A segment that was sent at `sent` has arrived.
    #[inline]
    pub(super) fn on_delivered(&mut self, newest: &mut Option<Newest>, len: u64, sent: Time, stand: Stand) {
        self.bytes += len;
        if newest.is_none_or(|newest| (stand.delivered, sent) >= (newest.stand.delivered, newest.sent)) {
            *newest = Some(Newest { stand, sent });
        }
    }

    /// All segments of an acknowledgement are counted.
    pub(super) fn on_ack(
        &mut self,
        now: Time,
        newest: Option<Newest>,
        rtt_min: Option<Span>,
    ) -> Option<Sample> {
        let Newest { stand, sent } = newest?;
        self.at = now;
        self.first_sent = sent;
        if self.starved_until > 0 && self.bytes > self.starved_until {
            self.starved_until = 0;
        }
        let interval = now.since(stand.at).max(sent.since(stand.first_sent));
        // Less than a round trip is compression of acknowledgements, not a rate.
        if interval < rtt_min.unwrap_or(Span::ZERO) || interval == Span::ZERO {
            return None;
        }
        let delivered = self.bytes - stand.delivered;
        Some(Sample { delivered, interval, prior: stand.delivered, starved: stand.starved })
    }
}
