//! What a receiver misses: runs of places, oldest first.

use std::collections::VecDeque;
use std::hash::Hasher;

use wiremend_units::{Span, Time};

use super::fingerprint::Print;

/// Places that are missing. They are found in ascending order, so the first is the oldest.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    runs: VecDeque<Run>,
}

/// Places that were found missing at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) first: u64,
    pub(super) end: u64,
    /// When they were found missing.
    since: Time,
    /// When the sender was last told.
    told_at: Time,
}

impl Holes {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The first place that is missing.
    pub(super) fn first(&self) -> Option<u64> {
        self.runs.front().map(|run| run.first)
    }

    /// How many places.
    pub(super) fn place_count(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.first).sum()
    }

    /// From `first` up to `end` is missing, behind everything that is.
    pub(super) fn open(&mut self, first: u64, end: u64, now: Time) {
        debug_assert!(self.runs.back().is_none_or(|run| run.end <= first), "holes are found in order");
        match self.runs.back_mut() {
            Some(run) if run.end == first && run.since == now => run.end = end,
            _ => self.runs.push_back(Run { first, end, since: now, told_at: now }),
        }
    }

    /// The place is no longer missing: since when it was, if it was.
    pub(super) fn fill(&mut self, place: u64) -> Option<Time> {
        let at = self.runs.partition_point(|run| run.end <= place);
        let run = self.runs.get_mut(at).filter(|run| run.first <= place)?;
        let since = run.since;
        match (run.first == place, run.end == place + 1) {
            (true, true) => _ = self.runs.remove(at),
            (true, false) => run.first += 1,
            (false, true) => run.end -= 1,
            (false, false) => {
                let tail = Run { first: place + 1, ..*run };
                run.end = place;
                self.runs.insert(at + 1, tail);
            }
        }
        Some(since)
    }

    pub(super) fn contains(&self, place: u64) -> bool {
        let at = self.runs.partition_point(|run| run.end <= place);
        self.runs.get(at).is_some_and(|run| run.first <= place)
    }

    /// Gives up what has been missing for `patience`: how many places.
    pub(super) fn give_up(&mut self, now: Time, patience: Span) -> u64 {
        let mut count = 0;
        while let Some(run) = self.runs.pop_front_if(|run| run.since.saturating_add(patience) <= now) {
            count += run.end - run.first;
        }
        count
    }

    /// Since when the oldest is missing.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.runs.front().map(|run| run.since)
    }

    /// When the sender was last told of the one it was told of longest ago.
    pub(super) fn least_told(&self) -> Option<Time> {
        self.runs.iter().map(|run| run.told_at).min()
    }

    /// The first that the sender was not told of for `patience`.
    pub(super) fn first_untold(&self, now: Time, patience: Span) -> Option<u64> {
        self.runs.iter().find(|run| run.told_at.saturating_add(patience) <= now).map(|run| run.first)
    }

    /// Where the last `count` runs begin; nothing if there is none.
    pub(super) fn first_of_last(&self, count: usize) -> Option<u64> {
        self.runs.get(self.runs.len().saturating_sub(count)).map(|run| run.first)
    }

    /// The runs from `place` on, for telling the sender of them.
    pub(super) fn from(&mut self, place: u64) -> impl Iterator<Item = &mut Run> {
        let at = self.runs.partition_point(|run| run.end <= place);
        self.runs.range_mut(at..)
    }

    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>) {
        for run in &self.runs {
            print.add((run.first, run.end));
            print.add_time(run.since);
            print.add_time(run.told_at);
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}

impl Run {
    pub(super) fn tell(&mut self, now: Time) {
        self.told_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_the_middle_leaves_both_sides() {
        let mut holes = Holes::default();
        holes.open(3, 8, Time::ZERO);
        assert_eq!((holes.fill(5), holes.fill(5)), (Some(Time::ZERO), None));
        assert_eq!(holes.from(0).map(|run| (run.first, run.end)).collect::<Vec<_>>(), [(3, 5), (6, 8)]);
        assert_eq!(holes.place_count(), 4);
    }

    #[test]
    fn only_the_old_ones_are_given_up() {
        let mut holes = Holes::default();
        holes.open(0, 2, Time::from_ns(0));
        holes.open(4, 5, Time::from_ns(50));
        assert_eq!(holes.give_up(Time::from_ns(100), Span::from_ns(100)), 2);
        assert_eq!(holes.first(), Some(4));
    }
}
