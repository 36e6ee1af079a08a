//! The rate of a link, kept by whoever sends over it: then queues stand where they can be reordered, and not in an interface.

use wiremend_units::{Bytes, Rate, Span, Time};

/// Lets no more leave than the link carries, except for a little in advance.
#[derive(Clone, Debug)]
pub struct Pace {
    rate: Rate,
    ahead: Span,
    ahead_least: Span,
    ahead_most: Span,
    /// When the link has carried all that has left.
    free_at: Time,
}

/// Preamble, gap and FCS, which a frame has on the wire and not in memory.
const WIRE_BYTES: u64 = 24;
/// Frames are at least this long on the wire, without [`WIRE_BYTES`].
const FRAME_BYTES_MIN: u64 = 60;
/// What is handed over in advance for one that came late grows less by this part with each frame.
const FORGET_SHIFT: u32 = 13;
/// A process that sleeps is late by so much at least: the link must not run dry meanwhile.
const SLEEP: Span = Span::from_us(100);

impl Pace {
    /// At most `frames` of `frame_bytes_max` are handed over in advance, and at most what a link carries while a process sleeps: a
    /// frame that is urgent waits behind them.
    pub fn new(rate: Rate, frames: u32, frame_bytes_max: u32) -> Self {
        let frame = rate.serialize(Bytes::new(u64::from(frame_bytes_max) + WIRE_BYTES));
        let most = frame * u64::from(frames);
        let least = most.min(SLEEP.max(frame * 2));
        Self { rate, ahead: least, ahead_least: least, ahead_most: most, free_at: Time::ZERO }
    }

    /// Frames have waited for the link since it was last open to them. If it ran dry meanwhile, whoever hands them over came late, and
    /// more is handed over in advance from here on.
    #[inline]
    pub fn on_waited(&mut self, now: Time) {
        if now > self.free_at {
            let late = now.since(self.opens_at());
            self.ahead = self.ahead.max(late).min(self.ahead_most);
        }
    }

    /// Whether another may leave.
    #[inline]
    pub fn is_open(&self, now: Time) -> bool {
        self.free_at <= now + self.ahead
    }

    /// When another may leave.
    #[inline]
    pub fn opens_at(&self) -> Time {
        Time::from_ps(self.free_at.as_ps().saturating_sub(self.ahead.as_ps()))
    }

    /// A frame of so many bytes leaves. When the link will have carried it.
    #[inline]
    pub fn on_sent(&mut self, now: Time, frame_bytes: usize) -> Time {
        let len = Bytes::new((frame_bytes as u64).max(FRAME_BYTES_MIN) + WIRE_BYTES);
        self.free_at = self.free_at.max(now) + self.rate.serialize(len);
        // One that was late once is not late for ever.
        let extra = self.ahead.as_ps() - self.ahead_least.as_ps();
        self.ahead = Span::from_ps(self.ahead.as_ps() - (extra >> FORGET_SHIFT));
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_neither_overrun_nor_left_dry() {
        let mut pace = Pace::new(Rate::gbps(1), 64, 1514);
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::ZERO + Span::from_ms(10) {
            while pace.is_open(now) {
                pace.on_sent(now, 1476);
                sent += 1;
            }
            now += Span::from_us(50);
        }
        // 1500 bytes with preamble and gap take 12 µs.
        assert!((833..=833 + 12).contains(&sent), "{sent}");
    }

    /// One that comes every 2 ms loses what the link could have carried the first time only.
    #[test]
    fn whoever_comes_late_hands_over_more() {
        let mut pace = Pace::new(Rate::from_bits_per_s(200_000_000), 64, 1514);
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::ZERO + Span::from_ms(100) {
            pace.on_waited(now);
            while pace.is_open(now) {
                pace.on_sent(now, 1476);
                sent += 1;
            }
            now += Span::from_ms(2);
        }
        // 1500 bytes with preamble and gap take 60 µs.
        assert!((1620..=1667 + 64).contains(&sent), "{sent}");
    }
}
