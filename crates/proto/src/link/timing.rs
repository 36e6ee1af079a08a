//! The times and sizes of a direction, which follow from its rate and round trip: the same core serves 2 µs in a
//! switch and 500 µs in a process.

use wiremend_units::{Bytes, Span};

use super::Config;
use super::trip::Trip;

/// How long, and how much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timing {
    /// A frame sent so short a time ago may have arrived without the receiver's having said so.
    resend_gap: Span,
    /// A hole that is not filled so long after the sender was told of it is told of again.
    renotify: Span,
    /// Both grow less with what was measured, if the round trip is one that was only assumed; and then down to what follows from this.
    rtt_least: Option<Span>,
    /// The time that the longest frame takes.
    frame: Span,
    /// A place missing for so long is given up.
    pub(super) give_up: Span,
    /// Silence of the receiver after which the sender asks with a dummy.
    pub(super) probe: Span,
    /// A receiver that is silent for so long after it was first asked is gone, however often it was asked.
    pub(super) silence_max: Option<Span>,
    /// A pause that is not said again ends by itself.
    pub(super) pause_max: Span,
    /// The longest wait for ACKs before protection ends without them.
    pub(super) drain_max: Span,
    /// An ACK goes out when so much has arrived since the last.
    pub(super) ack_bytes: u64,
    /// The sender is paused when so much waits.
    pub(super) pause_at: u64,
    /// It is resumed when no more than this waits.
    pub(super) resume_at: u64,
    /// Copies may run so far ahead of their share of the link.
    pub(super) resend_burst: Span,
    /// Frames that may be under way at once.
    pub(super) window: u64,
}

/// Probes of a silent receiver, each after twice the wait of the one before. Together they last far longer than a
/// receiver waits for a frame: one that is given up for gone holds nothing back any more.
pub(super) const PROBES_MAX: u8 = 6;

impl Timing {
    pub(super) fn of(config: &Config, rtt: Span) -> Self {
        let frame = config.rate.serialize(config.frame_bytes_max + Bytes::new(WIRE_BYTES));
        // The renotification must find the last copy older than `resend_gap`: it left up to a frame later than the
        // notification came, and several copies take several frames.
        let resend_gap = rtt + frame * 2;
        let renotify = rtt + patience(rtt, frame);
        let give_up = config.give_up.unwrap_or(renotify * NOTIFICATIONS);
        let probe = rtt * 2 + frame * 8;
        let pause_at = config.pause_at.unwrap_or_else(|| Self::default_pause_at(config, rtt)).get();
        // A buffer too small for the round trip that was measured: pause as early as leaves it useful.
        let pause_at = pause_at.min(config.rx_bytes_max.get() / 2 + 1);
        let resume_at = config
            .resume_at
            .map_or(pause_at.saturating_sub(HYSTERESIS_FRAMES * config.frame_bytes_max.get()), Bytes::get);
        let in_flight = config.rate.bytes_in(rtt).get();
        let frames = config.rate.bytes_in(give_up + rtt * 2).get() / FRAME_WIRE_BYTES_MIN;
        Self {
            resend_gap,
            renotify,
            rtt_least: (config.rtt_min < rtt && rtt <= config.rtt_at_first).then_some(config.rtt_min),
            frame,
            give_up,
            probe: probe.max(give_up / 16),
            // One that is given up for gone must hold nothing back any more.
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

    /// Whether times follow what is measured.
    pub(super) fn is_adaptive(&self) -> bool {
        self.rtt_least.is_some()
    }

    /// A frame sent so short a time ago may have arrived without the receiver's having said so; `trip` is from a copy to the word that
    /// it is there.
    pub(super) fn resend_gap(&self, trip: &Trip) -> Span {
        match self.rtt_least {
            Some(least) if trip.is_known() => (trip.mean().max(least) + self.frame * 2).min(self.resend_gap),
            _ => self.resend_gap,
        }
    }

    /// A hole that is not filled so long after the sender was told of it is told of again; `trip` is from a gap to the frame that fills it.
    pub(super) fn renotify(&self, trip: &Trip) -> Span {
        let Some(least) = self.rtt_least.filter(|_| trip.is_known()) else { return self.renotify };
        let rtt = trip.mean().max(least);
        (rtt + patience(rtt, self.frame).max(trip.deviation() * 4)).min(self.renotify)
    }

    /// The longest that [`Timing::renotify`] becomes.
    pub(super) fn renotify_max(&self) -> Span {
        self.renotify
    }

    /// What drains while a resume travels, and two frames so that pause and resume do not chase each other (LG B.1).
    pub(super) fn default_pause_at(config: &Config, rtt: Span) -> Bytes {
        config.rate.bytes_in(rtt) + config.frame_bytes_max * HYSTERESIS_FRAMES
    }
}

/// What is waited beyond a round trip before the sender is told again, at least: it must find the last copy older than
/// [`Timing::resend_gap`].
fn patience(rtt: Span, frame: Span) -> Span {
    rtt / 4 + frame * 6
}

/// Preamble, gap and the longest link header.
const WIRE_BYTES: u64 = 20 + 10;
/// The shortest frame with preamble and gap.
const FRAME_WIRE_BYTES_MIN: u64 = 84;
/// A hole is told of this often before it is given up: a lost notification is made good twice.
const NOTIFICATIONS: u64 = 3;
const HYSTERESIS_FRAMES: u64 = 2;
/// Keeps the TX buffer within an eighth of what a round trip needs anyway, at an eighth of the ACKs.
const ACKS_PER_RTT: u64 = 8;
/// Losses of a burst that are made good, with four copies each, whatever the share of copies is.
const BURST_FRAMES: u64 = 64;
const WINDOW_MIN: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use wiremend_units::Rate;

    #[test]
    fn times_keep_their_order_for_every_link() {
        for (gbps, rtt) in [(10, Span::from_us(2)), (100, Span::from_us(5)), (400, Span::from_us(500))] {
            let config = Config::for_link(Rate::gbps(gbps), Bytes::new(1518), rtt);
            let timing = Timing::of(&config, rtt);
            assert!(rtt < timing.resend_gap && timing.resend_gap < timing.renotify);
            assert!(timing.renotify < timing.give_up);
            assert!(timing.resume_at < timing.pause_at && timing.pause_at < config.rx_bytes_max.get());
            let probes = timing.probe * ((1 << PROBES_MAX) - 1);
            assert!(probes > timing.give_up + timing.probe, "a silent receiver has given up by then");
        }
    }
}
