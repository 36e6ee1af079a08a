//! CUBIC by the clock of a kernel.
//!
//! Linux has the window in whole segments, looks at the curve no more than once in a tick of its clock and, while the window stays, no more
//! than once in a 32nd of a second, Reno's pace included (`tcp_cubic.c`, since 2.6.13). Where a round trip is much shorter than that,
//! as in a data centre, the window after a loss stays for a hundred round trips that RFC 9438 would let it grow in, and then grows by half in
//! each until the next tick.

use wiremend_units::{Span, Time};

/// Segments, and when they were last thought about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticked {
    tick: Span,
    looked: Time,
    /// The window at that time, in segments.
    window: u64,
    /// Segments that must arrive for another one.
    per_segment: u64,
    /// Bytes that have arrived towards another one.
    arrived: u64,
    /// What Reno would have, in segments, and the bytes that have arrived since it had one more.
    reno: u64,
    reno_arrived: u64,
}

/// While the window stays, the curve is looked at no more often.
const LOOK: Span = Span::from_us(1_000_000 / 32);
/// β = 717/1024, and the segments that Reno needs for another one, in eighths of a window: 8 (1 + β)/3(1 − β), rounded down.
const BETA: (u64, u64) = (717, 1024);
const RENO_EIGHTHS: u64 = 15;
/// Beyond the plateau of the curve the window stays for so many windows.
const FLAT: u64 = 100;
/// Before the first loss the window grows by a twentieth in a round trip at least, and by half at most ever.
const UNKNOWN_PATH: u64 = 20;
const STEEP: u64 = 2;

impl Ticked {
    pub(super) const fn new(tick: Span) -> Self {
        Self { tick, looked: Time::ZERO, window: 0, per_segment: FLAT, arrived: 0, reno: 0, reno_arrived: 0 }
    }

    /// What is left of so many segments after a loss.
    pub(super) const fn reduced(segments: u64) -> u64 {
        segments * BETA.0 / BETA.1
    }

    /// Where the curve shall be flat after a loss that came before the old plateau (RFC 9438 §4.7).
    pub(super) const fn converged(segments: u64) -> u64 {
        segments * (BETA.1 + BETA.0) / (2 * BETA.1)
    }

    /// An epoch begins with so many segments.
    pub(super) fn begin(&mut self, window: u64) {
        (self.reno, self.reno_arrived, self.window) = (window, 0, 0);
    }

    /// Segments by which a window grows. `target` is the curve, where it is looked at; `is_known` is the path after its first loss.
    pub(super) fn grow(
        &mut self,
        now: Time,
        segments: u64,
        [arrived, mss]: [u64; 2],
        is_known: bool,
        target: impl FnOnce() -> u64,
    ) -> u64 {
        self.reno_arrived += arrived;
        if self.window != segments || now.since(self.looked) > LOOK {
            let is_new = self.window == 0 || self.ticks(now) != self.ticks(self.looked);
            if is_new {
                self.per_segment = match target().checked_sub(segments) {
                    None | Some(0) => FLAT * segments,
                    Some(missing) => segments / missing,
                };
                if !is_known {
                    self.per_segment = self.per_segment.min(UNKNOWN_PATH);
                }
                (self.looked, self.window) = (now, segments);
            }
            self.as_reno(segments, mss);
        }
        self.credit(arrived, mss)
    }

    /// Not slower than Reno (RFC 9438 §4.3).
    fn as_reno(&mut self, segments: u64, mss: u64) {
        let unit = (segments * RENO_EIGHTHS / 8).max(1) * mss;
        self.reno += self.reno_arrived / unit;
        self.reno_arrived %= unit;
        if let Some(ahead) = self.reno.checked_sub(segments).filter(|ahead| *ahead > 0) {
            self.per_segment = self.per_segment.min(segments / ahead);
        }
        self.per_segment = self.per_segment.max(STEEP);
    }

    /// Arrivals are worth segments. What was gathered at a slower pace is worth one.
    fn credit(&mut self, arrived: u64, mss: u64) -> u64 {
        let price = self.per_segment * mss;
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

    /// Rounds of a round trip each in which a window arrives: the window afterwards.
    fn after(ticked: &mut Ticked, mut segments: u64, rounds: u32, round_trip: Span) -> u64 {
        ticked.begin(segments);
        let mut now = Time::ZERO + Span::from_ms(1_000);
        for _ in 0..rounds {
            now += round_trip;
            let full = segments;
            for _ in 0..full {
                // A curve that is flat: Reno alone is what lets it grow.
                segments += ticked.grow(now, segments, [MSS, MSS], true, || 0);
            }
        }
        segments
    }

    /// Over a round trip of 30 µs a kernel with 1000 ticks a second lets the window be for a hundred round trips. Then Reno is far ahead, and
    /// until the next tick the window grows by half in each.
    #[test]
    fn short_round_trips_see_a_window_that_stays() {
        let mut ticked = Ticked::new(MS);
        assert_eq!(after(&mut ticked, 70, 99, Span::from_us(30)), 70);
        let mut ticked = Ticked::new(MS);
        assert!((150..400).contains(&after(&mut ticked, 70, 104, Span::from_us(30))));
    }

    /// Over long ones it is as fast as Reno, a segment in 15/8 round trips.
    #[test]
    fn long_round_trips_see_it_grow() {
        let mut ticked = Ticked::new(MS);
        let window = after(&mut ticked, 70, 30, Span::from_ms(100));
        assert!((84..=86).contains(&window), "70 + 30 · 8/15 = 86, got {window}");
    }

    #[test]
    fn a_loss_leaves_whole_segments() {
        assert_eq!([12, 7, 3].map(Ticked::reduced), [8, 4, 2]);
        assert_eq!(Ticked::converged(80), 68);
    }
}
