//! Increments of the counters of a port over a recording.

use wiremend_units::Time;

use crate::counter::{Counter, Counters};
use crate::counter_delta::{CounterDelta, MaxFrameRate, counter_delta};
use crate::snapshot::PortSnapshot;

/// Increments of the counters between the first and the last reading.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CounterGrowth {
    counted: Counters,
    /// Number of carrier changes.
    pub flaps: u64,
    /// Whether the port was down in any reading.
    pub was_down: bool,
    /// Number of counter restarts.
    pub resets: u64,
}

impl CounterGrowth {
    /// Sums the increments over readings in order of time. Readings out of order are ignored.
    pub fn over<'a>(readings: impl IntoIterator<Item = (Time, &'a PortSnapshot)>) -> Self {
        let mut growth = Self::default();
        let mut last: Option<(Time, &PortSnapshot)> = None;
        for (at, now) in readings {
            growth.was_down |= !now.up;
            if let Some((before_at, before)) = last {
                if at <= before_at {
                    continue;
                }
                growth.add(before, now, at.since(before_at));
            }
            last = Some((at, now));
        }
        growth
    }

    /// Returns the increment of a counter; `None` if the port does not have it.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.counted.get(counter)
    }

    /// Returns the increment of a counter, 0 if the port does not have it.
    pub fn get_or_zero(&self, counter: Counter) -> u64 {
        self.get(counter).unwrap_or(0)
    }

    /// Iterates over the counters that increased.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        self.counted.iter().filter(|(_, grown)| *grown > 0)
    }

    /// Returns the number of received frames, good and corrupted.
    pub fn frames(&self) -> u64 {
        let counted = self.get_or_zero(Counter::RxGood).saturating_add(self.bad_frames());
        counted.max(self.get_or_zero(Counter::RxAll))
    }

    /// Returns the number of corrupted frames.
    pub fn bad_frames(&self) -> u64 {
        match (self.get(Counter::RxCrc), self.get(Counter::RxAll), self.get(Counter::RxGood)) {
            (Some(bad), _, _) => bad,
            (None, Some(all), Some(good)) => all.saturating_sub(good),
            // These errors include frames of illegal length.
            _ => self.get_or_zero(Counter::RxErrors).saturating_sub(self.get_or_zero(Counter::RxLength)),
        }
    }

    fn add(&mut self, before: &PortSnapshot, now: &PortSnapshot, elapsed: wiremend_units::Span) {
        let max_rate = now.megabits_per_s.map_or(MaxFrameRate::ANY_SPEED, MaxFrameRate::for_speed);
        for (counter, value) in now.counters.iter() {
            let Some(earlier) = before.counters.get(counter) else { continue };
            let counted = if counts_frames(counter) {
                match counter_delta(earlier, value, elapsed, max_rate) {
                    CounterDelta::Counted(counted) => Some(counted),
                    CounterDelta::Unknown => None,
                }
            } else {
                // Codewords, symbols and bits exceed the frame rate; their registers do not wrap.
                value.checked_sub(earlier)
            };
            match counted {
                Some(counted) => self.counted.add(counter, counted),
                None => self.resets += 1,
            }
        }
        if let (Some(earlier), Some(later)) = (before.carrier_changes, now.carrier_changes) {
            self.flaps = self.flaps.saturating_add(later.saturating_sub(earlier));
        }
    }
}

fn counts_frames(counter: Counter) -> bool {
    let line_counters = [
        Counter::RxSymbol,
        Counter::FecCorrected,
        Counter::FecUncorrectable,
        Counter::FecCorrectedBits,
        Counter::RxBits,
    ];
    !line_counters.contains(&counter) && !Counter::FEC_SYMBOLS.contains(&counter)
}
