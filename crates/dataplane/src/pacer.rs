//! Pacing: the sender keeps to the link rate, so that queues build up in the sender and not in the device.

use wiremend_units::{Bytes, Rate, Span, Time};

/// Paces frames to the rate of a link, with a small allowance ahead of that rate.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: Rate,
    allowance: Span,
    allowance_min: Span,
    allowance_max: Span,
    /// Time at which the link has carried all frames sent so far.
    free_at: Time,
}

/// Preamble, inter-frame gap and FCS, which a frame has on the wire but not in memory.
const WIRE_BYTES: u64 = 24;
/// Minimum frame length on the wire, without [`WIRE_BYTES`].
const FRAME_BYTES_MIN: u64 = 60;
/// With each frame the extra allowance after a late wake-up decays by 2^-13.
const DECAY_SHIFT: u32 = 13;
/// Minimum allowance: a sleeping process wakes up this late, and the link must stay busy meanwhile.
const WAKE_UP_DELAY: Span = Span::from_us(100);

impl Pacer {
    /// Creates a pacer. The allowance starts at what the link carries during a wake-up delay, and grows to at
    /// most `frames` frames of `frame_bytes_max`. Retransmissions wait behind these frames.
    pub fn new(rate: Rate, frames: u32, frame_bytes_max: u32) -> Self {
        let frame = rate.serialize(Bytes::new(u64::from(frame_bytes_max) + WIRE_BYTES));
        let most = frame * u64::from(frames);
        let least = most.min(WAKE_UP_DELAY.max(frame * 2));
        Self { rate, allowance: least, allowance_min: least, allowance_max: most, free_at: Time::ZERO }
    }

    /// Reports that frames waited for the pacer. If the link went idle meanwhile, the caller woke up late,
    /// and the allowance grows.
    #[inline]
    pub fn on_wait(&mut self, now: Time) {
        if now > self.free_at {
            let late = now.since(self.next_send_at());
            self.allowance = self.allowance.max(late).min(self.allowance_max);
        }
    }

    /// Returns whether another frame may be sent.
    #[inline]
    pub fn may_send(&self, now: Time) -> bool {
        self.free_at <= now + self.allowance
    }

    /// Time at which another frame may be sent.
    #[inline]
    pub fn next_send_at(&self) -> Time {
        Time::from_ps(self.free_at.as_ps().saturating_sub(self.allowance.as_ps()))
    }

    /// Accounts for a sent frame and returns the time at which the link has carried it.
    #[inline]
    pub fn on_sent(&mut self, now: Time, frame_bytes: usize) -> Time {
        let len = Bytes::new((frame_bytes as u64).max(FRAME_BYTES_MIN) + WIRE_BYTES);
        self.free_at = self.free_at.max(now) + self.rate.serialize(len);
        let extra = self.allowance.as_ps() - self.allowance_min.as_ps();
        self.allowance = Span::from_ps(self.allowance.as_ps() - (extra >> DECAY_SHIFT));
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paced_link_is_neither_overrun_nor_idle() {
        let mut pacer = Pacer::new(Rate::gbps(1), 64, 1514);
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::ZERO + Span::from_ms(10) {
            while pacer.may_send(now) {
                pacer.on_sent(now, 1476);
                sent += 1;
            }
            now += Span::from_us(50);
        }
        // 1500 bytes with preamble and gap take 12 µs.
        assert!((833..=833 + 12).contains(&sent), "{sent}");
    }

    /// A caller that wakes up every 2 ms wastes link capacity the first time only.
    #[test]
    fn late_caller_sends_more_in_advance() {
        let mut pacer = Pacer::new(Rate::from_bits_per_s(200_000_000), 64, 1514);
        let (mut now, mut sent) = (Time::ZERO, 0);
        while now < Time::ZERO + Span::from_ms(100) {
            pacer.on_wait(now);
            while pacer.may_send(now) {
                pacer.on_sent(now, 1476);
                sent += 1;
            }
            now += Span::from_ms(2);
        }
        // 1500 bytes with preamble and gap take 60 µs.
        assert!((1620..=1667 + 64).contains(&sent), "{sent}");
    }
}
