//! How much each counter of a port grew while it was watched.

use wiremend_units::Time;

use crate::counter::{Counter, Counters};
use crate::register::{Pace, Step, step};
use crate::snapshot::Snapshot;

/// What a port counted between its first reading and its last.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Growth {
    counted: Counters,
    /// Times that the carrier came or went.
    pub flaps: u64,
    /// It was down at least once when it was read.
    pub was_down: bool,
    /// Times that a counter began anew.
    pub resets: u64,
}

impl Growth {
    /// Over readings in the order of time; such as are not are left out. Nothing grows over fewer than two.
    pub fn over<'a>(readings: impl IntoIterator<Item = (Time, &'a Snapshot)>) -> Self {
        let mut growth = Self::default();
        let mut last: Option<(Time, &Snapshot)> = None;
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

    /// How much a counter grew; `None` if the port does not have it.
    pub fn get(&self, counter: Counter) -> Option<u64> {
        self.counted.get(counter)
    }

    /// The same, none where the port does not have it.
    pub fn of(&self, counter: Counter) -> u64 {
        self.get(counter).unwrap_or(0)
    }

    /// All counters that grew.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        self.counted.iter().filter(|(_, grown)| *grown > 0)
    }

    /// Frames that came to this port, good and bad.
    pub fn frames(&self) -> u64 {
        let told = self.of(Counter::RxGood).saturating_add(self.of(Counter::RxCrc));
        told.max(self.of(Counter::RxAll))
    }

    /// Frames that came broken.
    pub fn bad_frames(&self) -> u64 {
        match (self.get(Counter::RxCrc), self.get(Counter::RxAll), self.get(Counter::RxGood)) {
            (Some(bad), _, _) => bad,
            (None, Some(all), Some(good)) => all.saturating_sub(good),
            _ => 0,
        }
    }

    fn add(&mut self, before: &Snapshot, now: &Snapshot, elapsed: wiremend_units::Span) {
        let pace = now.megabits_per_s.map_or(Pace::ANY, Pace::of_megabits);
        for (counter, value) in now.counters.iter() {
            let Some(earlier) = before.counters.get(counter) else { continue };
            let counted = if counts_frames(counter) {
                match step(earlier, value, elapsed, pace) {
                    Step::Counted(counted) => Some(counted),
                    Step::Unknown => None,
                }
            } else {
                // Codewords, symbols and bits run faster than frames do, in registers wide enough for that.
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
    let of_the_line = [
        Counter::RxSymbol,
        Counter::FecCorrected,
        Counter::FecUncorrectable,
        Counter::FecCorrectedBits,
        Counter::RxBits,
    ];
    !of_the_line.contains(&counter) && !Counter::FEC_SYMBOLS.contains(&counter)
}
