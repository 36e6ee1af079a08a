//! CUBIC as in Linux, with the tick of the kernel's clock.
//!
//! Linux keeps the window in whole segments. It evaluates the curve, and Reno's estimate, at most once per
//! tick and, for an unchanged window, at most 32 times a second (`tcp_cubic.c`, since 2.6.13). With the short
//! round trips of a data centre the window stays constant for about 100 round trips after a loss, where RFC
//! 9438 would let it grow; then it grows by half per round trip until the next tick.

use wiremend_units::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub(super) struct TickedCubic {
    tick: Span,
    updated_at: Time,
    /// Window at the last update, in segments.
    window: u64,
    /// Segments that must arrive before the window grows by one (Linux: `cnt`).
    increase_after: u64,
    arrived: u64,
    /// Reno's window in segments, and the bytes that have arrived towards its next increase.
    reno: u64,
    reno_arrived: u64,
}

/// Minimum time between updates of an unchanged window.
const UPDATE_INTERVAL: Span = Span::from_us(1_000_000 / 32);
/// β = 717/1024. Reno needs 8 (1 + β)/3(1 − β) eighths of a window for one more segment, rounded down.
const BETA: (u64, u64) = (717, 1024);
const RENO_EIGHTHS: u64 = 15;
/// Windows that must arrive for one more segment when the curve is not above the window.
const FLAT_WINDOWS: u64 = 100;
/// Bounds of `increase_after`: at most 20 before the first loss, at least 2 always.
const FIRST_INCREASE_AFTER_MAX: u64 = 20;
const INCREASE_AFTER_MIN: u64 = 2;

impl TickedCubic {
    pub(super) const fn new(tick: Span) -> Self {
        Self {
            tick,
            updated_at: Time::ZERO,
            window: 0,
            increase_after: FLAT_WINDOWS,
            arrived: 0,
            reno: 0,
            reno_arrived: 0,
        }
    }

    pub(super) const fn reduced(segments: u64) -> u64 {
        segments * BETA.0 / BETA.1
    }

    /// `W_max` after fast convergence (RFC 9438 §4.7).
    pub(super) const fn converged(segments: u64) -> u64 {
        segments * (BETA.1 + BETA.0) / (2 * BETA.1)
    }

    pub(super) fn begin(&mut self, window: u64) {
        (self.reno, self.reno_arrived, self.window) = (window, 0, 0);
    }

    /// Returns the growth in segments. `target` evaluates the curve. `is_known`: the path has had a loss.
    pub(super) fn grow(
        &mut self,
        now: Time,
        segments: u64,
        [arrived, mss]: [u64; 2],
        is_known: bool,
        target: impl FnOnce() -> u64,
    ) -> u64 {
        self.reno_arrived += arrived;
        if self.window != segments || now.since(self.updated_at) > UPDATE_INTERVAL {
            let is_new = self.window == 0 || self.ticks(now) != self.ticks(self.updated_at);
            if is_new {
                self.increase_after = match target().checked_sub(segments) {
                    None | Some(0) => FLAT_WINDOWS * segments,
                    Some(missing) => segments / missing,
                };
                if !is_known {
                    self.increase_after = self.increase_after.min(FIRST_INCREASE_AFTER_MAX);
                }
                (self.updated_at, self.window) = (now, segments);
            }
            self.apply_reno_floor(segments, mss);
        }
        self.count_arrivals(arrived, mss)
    }

    /// Grows at least as fast as Reno (RFC 9438 §4.3).
    fn apply_reno_floor(&mut self, segments: u64, mss: u64) {
        let unit = (segments * RENO_EIGHTHS / 8).max(1) * mss;
        self.reno += self.reno_arrived / unit;
        self.reno_arrived %= unit;
        if let Some(ahead) = self.reno.checked_sub(segments).filter(|ahead| *ahead > 0) {
            self.increase_after = self.increase_after.min(segments / ahead);
        }
        self.increase_after = self.increase_after.max(INCREASE_AFTER_MIN);
    }

    /// Converts arrived bytes into window growth. Bytes gathered at a slower pace count for one segment.
    fn count_arrivals(&mut self, arrived: u64, mss: u64) -> u64 {
        let price = self.increase_after * mss;
        let early = u64::from(self.arrived >= price);
        if early > 0 {
            self.arrived = 0;
        }
        self.arrived += arrived;
        let grown = self.arrived / price;
        self.arrived %= price;
        early + grown
    }

    fn ticks(&self, at: Time) -> u64 {
        at.since(Time::ZERO).as_ns() / self.tick.as_ns().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;
    const MS: Span = Span::from_ms(1);

    /// Returns the window after `rounds` round trips, each of which acknowledges a full window.
    fn after(ticked: &mut TickedCubic, mut segments: u64, rounds: u32, round_trip: Span) -> u64 {
        ticked.begin(segments);
        let mut now = Time::ZERO + Span::from_ms(1_000);
        for _ in 0..rounds {
            now += round_trip;
            let full = segments;
            for _ in 0..full {
                // The curve is below the window, so only Reno's estimate grows it.
                segments += ticked.grow(now, segments, [MSS, MSS], true, || 0);
            }
        }
        segments
    }

    /// Round trip 30 µs, 1000 ticks a second: the window is constant for 100 round trips, then it grows by
    /// half per round trip until the next tick, because Reno's estimate is far ahead.
    #[test]
    fn window_is_constant_over_short_round_trips() {
        let mut ticked = TickedCubic::new(MS);
        assert_eq!(after(&mut ticked, 70, 99, Span::from_us(30)), 70);
        let mut ticked = TickedCubic::new(MS);
        assert!((150..400).contains(&after(&mut ticked, 70, 104, Span::from_us(30))));
    }

    /// Over long round trips it is as fast as Reno: one segment in 15/8 round trips.
    #[test]
    fn window_grows_over_long_round_trips() {
        let mut ticked = TickedCubic::new(MS);
        let window = after(&mut ticked, 70, 30, Span::from_ms(100));
        assert!((84..=86).contains(&window), "70 + 30 · 8/15 = 86, got {window}");
    }

    #[test]
    fn window_after_a_loss_has_whole_segments() {
        assert_eq!([12, 7, 3].map(TickedCubic::reduced), [8, 4, 2]);
        assert_eq!(TickedCubic::converged(80), 68);
    }
}
