//! Bursts at a rate: what a paced sender hands to segmentation offload at once.

use wiremend_units::{Bytes, Rate, Span, Time};

/// When the next burst may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate: Option<Rate>,
    /// When what was sent would have left at the rate.
    pub(super) next: Time,
    /// Bytes that the burst may still take.
    left: u64,
    burst: u64,
    /// The latest length and its time: most segments are as long as the one before.
    len: u16,
    span: Span,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { rate: None, next: Time::ZERO, left: 0, burst: 0, len: 0, span: Span::ZERO }
    }

    /// From now on. A burst is what leaves in about a millisecond, at least two segments (as in Linux).
    pub(super) fn set_rate(&mut self, rate: Option<Rate>, mss: u16, burst_max: u32) {
        if rate == self.rate {
            return;
        }
        self.rate = rate;
        self.len = 0;
        if let Some(rate) = rate {
            let burst = (rate.bits_per_s() / 8) >> 10;
            self.burst = burst.clamp(2 * mss as u64, burst_max.max(2 * mss as u32) as u64);
        } else {
            self.next = Time::ZERO;
        }
    }

    /// When the next segment may leave.
    #[inline]
    pub(super) fn eligible(&self) -> Time {
        if self.left > 0 { Time::ZERO } else { self.next }
    }

    #[inline]
    pub(super) fn on_transmit(&mut self, now: Time, len: u16) {
        let Some(rate) = self.rate else { return };
        if self.left == 0 {
            self.left = self.burst;
            self.next = self.next.max(now);
        }
        if len != self.len {
            self.len = len;
            self.span = rate.serialize(Bytes::new(len as u64));
        }
        self.left = self.left.saturating_sub(len as u64);
        self.next = self.next.saturating_add(self.span);
        // A burst that lasts longer than its time is a new one.
        if self.next <= now {
            self.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Gb/s are 1 MB in a millisecond, more than offload takes.
    #[test]
    fn bursts_leave_at_the_rate() {
        let mut pace = Pace::new();
        pace.set_rate(Some(Rate::gbps(8)), 1_000, 4_000);
        let now = Time::ZERO + Span::from_us(1);
        for _ in 0..4 {
            assert!(pace.eligible() <= now);
            pace.on_transmit(now, 1_000);
        }
        assert_eq!(pace.eligible(), now + Span::from_us(4));
        pace.set_rate(None, 1_000, 4_000);
        assert_eq!(pace.eligible(), Time::ZERO);
    }
}
