//! The rate of a link, kept by whoever sends over it: then queues stand where they can be reordered, and not in an interface.

use wiremend_units::{Bytes, Rate, Span, Time};

/// Lets no more leave than the link carries, except for a little in advance.
#[derive(Clone, Debug)]
pub struct Pace {
    rate: Rate,
    ahead: Span,
    /// When the link has carried all that has left.
    free_at: Time,
}

/// Preamble, gap and FCS, which a frame has on the wire and not in memory.
const WIRE_BYTES: u64 = 24;
/// Frames are at least this long on the wire, without [`WIRE_BYTES`].
const FRAME_BYTES_MIN: u64 = 60;
/// A process that sleeps is late by so much: the link must not run dry meanwhile.
const SLEEP: Span = Span::from_us(100);

impl Pace {
    /// At most `frames` of `frame_bytes_max` are handed over in advance, and at most what a link carries while a process sleeps.
    pub fn new(rate: Rate, frames: u32, frame_bytes_max: u32) -> Self {
        let frame = rate.serialize(Bytes::new(u64::from(frame_bytes_max) + WIRE_BYTES));
        Self { rate, ahead: (frame * u64::from(frames)).min(SLEEP.max(frame * 2)), free_at: Time::ZERO }
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
}
