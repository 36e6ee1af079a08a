//! TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows the gradient of the round trip.
//!
//! Algorithm 1 of the paper, with its parameters (§5). It was made for a lossless network and does not react to losses.

use wiremend_units::{Rate, Span, Time};

use super::{AckEvent, Controller, Window};

/// TIMELY's state.
#[derive(Clone, Copy, Debug)]
pub struct Timely {
    rate_bps: u64,
    last: Option<Span>,
    least: Span,
    /// Smoothed difference of successive round trips, in picoseconds.
    difference_ps: i64,
    /// Segments in a row with a falling round trip.
    falling: u32,
    /// Acknowledged bytes since the last segment of [`SEGMENT_BYTES`].
    bytes: u64,
}

/// A round trip counts once for this many bytes (§4.1: up to 64 KB).
const SEGMENT_BYTES: u64 = 65_536;
const LOW: Span = Span::from_us(50);
const HIGH: Span = Span::from_us(500);
/// δ, and N of the fast increase after five segments.
const STEP_BPS: u64 = 10_000_000;
const FAST_AFTER: u32 = 5;
/// β in thousandths, and the inverse of the weight of a new difference.
const BETA: u64 = 800;
const SMOOTHING: i64 = 8;
const RATES_BPS: std::ops::RangeInclusive<u64> = STEP_BPS..=1_000_000_000_000;

impl Default for Timely {
    fn default() -> Self {
        Self {
            rate_bps: 0,
            last: None,
            least: Span::from_ps(u64::MAX),
            difference_ps: 0,
            falling: 0,
            bytes: 0,
        }
    }
}

impl Timely {
    fn on_segment(&mut self, rtt: Span) {
        let Some(last) = self.last.replace(rtt) else { return };
        self.difference_ps += (rtt.as_ps() as i64 - last.as_ps() as i64 - self.difference_ps) / SMOOTHING;
        self.falling = if self.difference_ps <= 0 { self.falling + 1 } else { 0 };
        let decreased = |thousandths: u64| self.rate_bps - self.rate_bps / 1_000 * thousandths.min(BETA);
        let rate = if rtt < LOW {
            self.rate_bps + STEP_BPS
        } else if rtt > HIGH {
            decreased(BETA - BETA * HIGH.as_ps() / rtt.as_ps())
        } else if self.difference_ps <= 0 {
            self.rate_bps + STEP_BPS * if self.falling >= FAST_AFTER { 5 } else { 1 }
        } else {
            decreased(BETA * self.difference_ps as u64 / self.least.as_ps().max(1))
        };
        self.rate_bps = rate.clamp(*RATES_BPS.start(), *RATES_BPS.end());
    }
}

impl Controller for Timely {
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        if let Some(rtt) = ack.rtt {
            self.least = self.least.min(rtt);
            if self.rate_bps == 0 {
                // The first window in a round trip.
                let bps = u128::from(window.bytes) * 8_000_000_000_000 / u128::from(rtt.as_ps().max(1));
                self.rate_bps = (bps as u64).clamp(*RATES_BPS.start(), *RATES_BPS.end());
            }
            self.bytes += ack.bytes;
            if self.bytes >= SEGMENT_BYTES {
                self.bytes %= SEGMENT_BYTES;
                self.on_segment(rtt);
            }
        }
        if self.rate_bps > 0 {
            // The rate limits what is sent; the window is what fits into the longest tolerated round trip, twice.
            let tolerated = Rate::from_bits_per_s(self.rate_bps).bytes_in(HIGH * 2).get();
            window.bytes = tolerated.max(10 * window.mss);
        }
    }

    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        window.threshold
    }

    fn rate(&self) -> Option<Rate> {
        (self.rate_bps > 0).then(|| Rate::from_bits_per_s(self.rate_bps))
    }

    fn owns_window(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_follows_the_gradient_between_the_two_bounds() {
        let mut timely = Timely { rate_bps: 1_000_000_000, least: Span::from_us(40), ..Timely::default() };
        let mut after = |us: u64| {
            timely.on_segment(Span::from_us(us));
            timely.rate_bps / 1_000_000
        };
        assert_eq!(after(40), 1_000, "one round trip has no gradient");
        assert_eq!(after(45), 1_010, "below the lower bound");
        // Smoothed difference (5 · 1/8, then + (55 − that)/8) µs of 40 µs, times 0.8.
        assert!((850..880).contains(&after(100)));
        let before = after(100);
        assert!(after(1_000) < before * 62 / 100, "above the upper bound: β · (1 − 500/1000)");
        let low = (0..200).map(|_| after(90)).last().unwrap_or(0);
        assert!(after(90) == low + 50, "five times faster after five segments that do not rise");
    }
}
