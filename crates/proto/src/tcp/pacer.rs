//! Pacing in bursts: the units that a paced sender hands to segmentation offload.

use wiremend_units::{Rate, Time};

use crate::cc::Serializer;

#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    line: Option<Serializer>,
    /// When the bytes sent so far would have left at the pacing rate.
    pub(super) next: Time,
    left: u64,
    burst: u64,
}

impl Pacer {
    pub(super) const fn new() -> Self {
        Self { line: None, next: Time::ZERO, left: 0, burst: 0 }
    }

    /// Sets the rate. A burst is about 1 ms at the rate and at least two segments, as in Linux.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>, mss: u16, burst_max: u32) {
        if rate == self.line.map(|line| line.rate()) {
            return;
        }
        self.line = rate.map(Serializer::new);
        if let Some(rate) = rate {
            let burst = (rate.bits_per_s() / 8) >> 10;
            self.burst = burst.clamp(2 * mss as u64, burst_max.max(2 * mss as u32) as u64);
        } else {
            self.next = Time::ZERO;
        }
    }

    #[inline]
    pub(super) fn next_send_at(&self) -> Time {
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
        self.next = self.next.saturating_add(line.serialize_time(len as u32));
        // The burst took longer than its time at the rate: start a new one.
        if self.next <= now {
            self.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::Span;

    use super::*;

    /// 8 Gb/s is 1 MB in 1 ms, more than the burst limit.
    #[test]
    fn bursts_leave_at_the_pacing_rate() {
        let mut pace = Pacer::new();
        pace.set_rate(Some(Rate::gbps(8)), 1_000, 4_000);
        let now = Time::ZERO + Span::from_us(1);
        for _ in 0..4 {
            assert!(pace.next_send_at() <= now);
            pace.on_transmit(now, 1_000);
        }
        assert_eq!(pace.next_send_at(), now + Span::from_us(4));
        pace.set_rate(None, 1_000, 4_000);
        assert_eq!(pace.next_send_at(), Time::ZERO);
    }
}
