//! A policer: bounds how much traffic takes precedence.

use wiremend_units::{Rate, Span, Time};

/// A token bucket over bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policer {
    rate: Rate,
    /// Time at which the bucket is full.
    full_at: Time,
}

/// Share of the link's rate.
const SHARE: u64 = 100;
/// Bytes on the wire that a frame has besides its own.
const WIRE_BYTES: u64 = 24;
/// Enough for a burst of each link-local protocol after a change of topology.
const BURST_BYTES: u64 = 32 * 1024;
/// LACP at its fast rate, LLDP, spanning tree and 802.1AS need less.
const RATE_MIN: u64 = 1_000_000;

impl Policer {
    /// Creates a full bucket for a link of this rate.
    pub(super) fn new(link: Rate) -> Self {
        let share = (link.bits_per_s() / SHARE).max(RATE_MIN.min(link.bits_per_s()));
        Self { rate: Rate::from_bits_per_s(share), full_at: Time::ZERO }
    }

    /// Takes the tokens of a frame. False: there are too few.
    pub(super) fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let span = |bytes: u64| self.rate.serialize(wiremend_units::Bytes::new(bytes));
        let burst: Span = span(BURST_BYTES);
        let full_at = self.full_at.max(now) + span(u64::from(bytes) + WIRE_BYTES);
        let admits = full_at <= now + burst;
        if admits {
            self.full_at = full_at;
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_and_then_the_share_of_the_link_pass() {
        let mut policer = Policer::new(Rate::gbps(1));
        let mut passed_at = |now| (0..1000).filter(|_| policer.admits(now, 1000)).count();
        assert_eq!(passed_at(Time::ZERO), 32, "a burst");
        assert_eq!(passed_at(Time::ZERO), 0);
        let second = Time::ZERO + Span::from_ms(8);
        assert_eq!(passed_at(second), 9, "8 ms at 10 Mb/s are 10 000 bytes");
    }
}
