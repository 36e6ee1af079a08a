//! Bursts at a rate: what a paced sender hands to segmentation offload at once.

use wiremend_units::{Rate, Time};

use crate::cc::Line;

/// When the next burst may leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    line: Option<Line>,
    /// When what was sent would have left at the rate.
    pub(super) next: Time,
    /// Bytes that the burst may still take.
    left: u64,
    burst: u64,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { line: None, next: Time::ZERO, left: 0, burst: 0 }
    }

    /// From now on. A burst is what leaves in about a millisecond, at least two segments (as in Linux).
    pub(super) fn set_rate(&mut self, rate: Option<Rate>, mss: u16, burst_max: u32) {
        if rate == self.line.map(|line| line.rate()) {
            return;
        }
        self.line = rate.map(Line::new);
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
        let Some(line) = &mut self.line else { return };
        if self.left == 0 {
            self.left = self.burst;
            self.next = self.next.max(now);
        }
        self.left = self.left.saturating_sub(len as u64);
        self.next = self.next.saturating_add(line.time_of(len as u32));
        // A burst that lasts longer than its time is a new one.
        if self.next <= now {
            self.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::Span;

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
