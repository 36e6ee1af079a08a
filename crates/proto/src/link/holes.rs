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
    /// Times that it was told again because nothing came of it.
    retold: u8,
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
            _ => self.runs.push_back(Run { first, end, since: now, told_at: now, retold: 0 }),
        }
    }

    /// The place is no longer missing: since when it was, if it was, and whether the sender was told of it again.
    pub(super) fn fill(&mut self, place: u64) -> Option<(Time, bool)> {
        let at = self.runs.partition_point(|run| run.end <= place);
        let run = self.runs.get_mut(at).filter(|run| run.first <= place)?;
        let filled = (run.since, run.retold > 0);
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
        Some(filled)
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

    /// When the sender is to be told of the first of them again, by this patience.
    pub(super) fn next_due(&self, patience: Patience) -> Option<Time> {
        self.runs.iter().map(|run| run.due(patience)).min()
    }

    /// The first that the sender is to be told of again by now. It is taken for told.
    pub(super) fn retell(&mut self, now: Time, patience: Patience) -> Option<u64> {
        let mut first = None;
        for run in self.runs.iter_mut().filter(|run| run.due(patience) <= now) {
            first = first.or(Some(run.first));
            run.tell(now);
            run.retold = run.retold.saturating_add(1);
        }
        first
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

    /// `is_adaptive`: it matters how often they were told of again.
    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Print<H>, is_adaptive: bool) {
        for run in &self.runs {
            print.add((run.first, run.end));
            print.add_time(run.since);
            print.add_time(run.told_at);
            print.add(if is_adaptive { run.retold.min(RETOLD_MAX) } else { 0 });
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}

/// How long to wait before the sender is told again: the first time, and twice as long each time, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) first: Span,
    pub(super) most: Span,
}

/// From then on the wait is the longest.
const RETOLD_MAX: u8 = 16;

impl Run {
    fn due(&self, patience: Patience) -> Time {
        let wait = (patience.first * (1 << self.retold.min(RETOLD_MAX))).min(patience.most);
        self.told_at.saturating_add(wait)
    }

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
        assert_eq!((holes.fill(5), holes.fill(5)), (Some((Time::ZERO, false)), None));
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
