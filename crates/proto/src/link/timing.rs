//! Times and sizes of a direction, derived from rate and round trip: from 2 µs in a switch to 500 µs in a
//! process.

use wiremend_units::{Bytes, Span};

use super::Config;
use super::response_time::ResponseTime;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Timing {
    /// Silence of the receiver after which the sender sends a probe.
    pub(super) probe: Span,
    /// Bytes that arrive between two ACKs.
    pub(super) ack_bytes: u64,
    /// A pause that is not repeated ends after this time.
    pub(super) pause_max: Span,
    /// Age at which a missing position is given up.
    pub(super) give_up: Span,
    /// A copy sent less than this ago may have arrived without an ACK.
    resend_gap: Span,
    /// Interval of notifications of the same hole.
    renotify: Span,
    /// Set if the round trip was only assumed: both times above then follow measurements, down to this round
    /// trip.
    rtt_min: Option<Span>,
    /// Transmission time of the longest frame.
    frame: Span,
    /// Silence after the first probe at which the receiver counts as gone.
    pub(super) silence_max: Option<Span>,
    /// Maximum wait for ACKs before protection ends without them.
    pub(super) drain_max: Span,
    /// Held bytes at which the sender is paused.
    pub(super) pause_at: u64,
    /// Held bytes at which it is resumed.
    pub(super) resume_at: u64,
    /// How far retransmissions may run ahead of their share of the link.
    pub(super) resend_burst: Span,
    pub(super) window: u64,
}

/// Maximum probes of a silent receiver, with doubling intervals. Together they last far longer than a
/// receiver waits for a frame, so a receiver that counts as gone holds no frames.
pub(super) const PROBES_MAX: u8 = 6;

impl Timing {
    /// Nearly every frame needs the fields up to here.
    pub(super) const HOT_BYTES: usize = std::mem::offset_of!(Self, give_up);

    pub(super) fn new(config: &Config, rtt: Span) -> Self {
        let frame = config.rate.serialize(config.frame_bytes_max + Bytes::new(WIRE_BYTES));
        // A renotification must find the last copy older than `resend_gap`: the copy left up to a frame after
        // the notification arrived, and several copies take several frames.
        let resend_gap = rtt + frame * 2;
        let renotify = rtt + renotify_margin(rtt, frame);
        let give_up = config.give_up.unwrap_or(renotify * NOTIFICATIONS);
        let probe = rtt * 2 + frame * 8;
        let pause_at = config.pause_at.unwrap_or_else(|| Self::default_pause_at(config, rtt)).get();
        // If the buffer is too small for the measured round trip, pause as early as is useful.
        let pause_at = pause_at.min(config.rx_bytes_max.get() / 2 + 1);
        let resume_at = config
            .resume_at
            .map_or(pause_at.saturating_sub(HYSTERESIS_FRAMES * config.frame_bytes_max.get()), Bytes::get);
        let in_flight = config.rate.bytes_in(rtt).get();
        let frames = config.rate.bytes_in(give_up + rtt * 2).get() / FRAME_WIRE_BYTES_MIN;
        Self {
            resend_gap,
            renotify,
            rtt_min: (config.rtt_min < rtt && rtt <= config.rtt_initial).then_some(config.rtt_min),
            frame,
            give_up,
            probe: probe.max(give_up / 16),
            // A receiver that counts as gone must hold no frames.
            silence_max: config.silence_max.map(|max| max.max(give_up * 2 + rtt * 2)),
            pause_max: rtt * 4 + frame * 16,
            drain_max: give_up + probe * 8,
            ack_bytes: (in_flight / ACKS_PER_RTT).max(config.frame_bytes_max.get()),
            pause_at,
            resume_at: resume_at.min(pause_at),
            resend_burst: config
                .resend_rate()
                .serialize(Bytes::new(in_flight.max(config.frame_bytes_max.get() * BURST_FRAMES))),
            window: frames.max(WINDOW_MIN),
        }
    }

    pub(super) fn is_adaptive(&self) -> bool {
        self.rtt_min.is_some()
    }

    /// A copy sent less than this ago may have arrived without an ACK. `response_time`: from a copy to its
    /// ACK.
    pub(super) fn resend_gap(&self, response_time: &ResponseTime) -> Span {
        match self.rtt_min {
            Some(least) if response_time.is_known() => {
                (response_time.mean().max(least) + self.frame * 2).min(self.resend_gap)
            }
            _ => self.resend_gap,
        }
    }

    /// Interval of notifications of the same hole. `response_time`: from a gap to the missing frame.
    pub(super) fn renotify(&self, response_time: &ResponseTime) -> Span {
        let Some(least) = self.rtt_min.filter(|_| response_time.is_known()) else { return self.renotify };
        let rtt = response_time.mean().max(least);
        let late = (response_time.deviation() * 4).min(rtt * LATENESS_MAX);
        (rtt + renotify_margin(rtt, self.frame).max(late)).min(self.renotify)
    }

    pub(super) fn renotify_max(&self) -> Span {
        self.renotify
    }

    /// Bytes that drain while a resume travels, plus two frames of hysteresis (LG B.1).
    pub(super) fn default_pause_at(config: &Config, rtt: Span) -> Bytes {
        config.rate.bytes_in(rtt) + config.frame_bytes_max * HYSTERESIS_FRAMES
    }
}

/// Minimum wait beyond a round trip before a renotification, which must find the last copy older than
/// [`Timing::resend_gap`].
fn renotify_margin(rtt: Span, frame: Span) -> Span {
    rtt / 4 + frame * 6
}

/// Preamble, gap and the longest link header.
const WIRE_BYTES: u64 = 20 + 10;
/// The shortest frame with preamble and gap.
const FRAME_WIRE_BYTES_MIN: u64 = 84;
/// Notifications of a hole before it is given up: two may be lost.
const NOTIFICATIONS: u64 = 3;
/// Lateness for which a receiver waits before it notifies again, in response times. One more notification costs
/// little, so a few late responses must not delay those after them.
const LATENESS_MAX: u64 = 2;
const HYSTERESIS_FRAMES: u64 = 2;
/// Keeps the TX buffer within 1/8 of its minimum.
const ACKS_PER_RTT: u64 = 8;
/// Losses in a burst that are retransmitted with four copies each, whatever the share.
const BURST_FRAMES: u64 = 64;
const WINDOW_MIN: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use wiremend_units::Rate;

    #[test]
    fn times_are_in_order_for_every_link() {
        for (gbps, rtt) in [(10, Span::from_us(2)), (100, Span::from_us(5)), (400, Span::from_us(500))] {
            let config = Config::for_link(Rate::gbps(gbps), Bytes::new(1518), rtt);
            let timing = Timing::new(&config, rtt);
            assert!(rtt < timing.resend_gap && timing.resend_gap < timing.renotify);
            assert!(timing.renotify < timing.give_up);
            assert!(timing.resume_at < timing.pause_at && timing.pause_at < config.rx_bytes_max.get());
            let probes = timing.probe * ((1 << PROBES_MAX) - 1);
            assert!(probes > timing.give_up + timing.probe, "a silent receiver has given up by then");
        }
    }
}
