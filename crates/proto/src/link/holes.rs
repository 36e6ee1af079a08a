//! Missing frames of a receiver, as runs of positions.

use std::collections::VecDeque;
use std::hash::Hasher;

use wiremend_units::{Span, Time};

use super::fingerprint::Fingerprint;

/// Missing positions. They are found in ascending order, so the first is the oldest.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    runs: VecDeque<Run>,
}

/// Consecutive positions that were found missing at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) first: u64,
    pub(super) end: u64,
    /// When they were found missing.
    since: Time,
    notified_at: Time,
    /// Notifications repeated without effect.
    renotified: u8,
}

impl Holes {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.runs.front().map(|run| run.first)
    }

    pub(super) fn position_count(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.first).sum()
    }

    /// Adds the positions from `first` to `end - 1`, behind all others.
    pub(super) fn open(&mut self, first: u64, end: u64, now: Time) {
        debug_assert!(self.runs.back().is_none_or(|run| run.end <= first), "holes are found in order");
        match self.runs.back_mut() {
            Some(run) if run.end == first && run.since == now => run.end = end,
            _ => self.runs.push_back(Run { first, end, since: now, notified_at: now, renotified: 0 }),
        }
    }

    /// Removes a position. Returns since when it was missing and whether the sender was notified again.
    pub(super) fn fill(&mut self, position: u64) -> Option<(Time, bool)> {
        let at = self.runs.partition_point(|run| run.end <= position);
        let run = self.runs.get_mut(at).filter(|run| run.first <= position)?;
        let filled = (run.since, run.renotified > 0);
        match (run.first == position, run.end == position + 1) {
            (true, true) => _ = self.runs.remove(at),
            (true, false) => run.first += 1,
            (false, true) => run.end -= 1,
            (false, false) => {
                let tail = Run { first: position + 1, ..*run };
                run.end = position;
                self.runs.insert(at + 1, tail);
            }
        }
        Some(filled)
    }

    pub(super) fn contains(&self, position: u64) -> bool {
        let at = self.runs.partition_point(|run| run.end <= position);
        self.runs.get(at).is_some_and(|run| run.first <= position)
    }

    /// Removes positions missing for `age_max` or longer. Returns their number.
    pub(super) fn give_up(&mut self, now: Time, age_max: Span) -> u64 {
        let mut count = 0;
        while let Some(run) = self.runs.pop_front_if(|run| run.since.saturating_add(age_max) <= now) {
            count += run.end - run.first;
        }
        count
    }

    /// Since when the oldest position is missing.
    pub(super) fn oldest(&self) -> Option<Time> {
        self.runs.front().map(|run| run.since)
    }

    /// When the next renotification is due.
    pub(super) fn next_due(&self, backoff: RenotifyBackoff) -> Option<Time> {
        self.runs.iter().map(|run| run.due(backoff)).min()
    }

    /// Marks all runs notified whose renotification is due. Returns the first position.
    pub(super) fn take_overdue(&mut self, now: Time, backoff: RenotifyBackoff) -> Option<u64> {
        let mut first = None;
        for run in self.runs.iter_mut().filter(|run| run.due(backoff) <= now) {
            first = first.or(Some(run.first));
            run.set_notified(now);
            run.renotified = run.renotified.saturating_add(1);
        }
        first
    }

    /// First position of the last `count` runs.
    pub(super) fn start_of_last(&self, count: usize) -> Option<u64> {
        self.runs.get(self.runs.len().saturating_sub(count)).map(|run| run.first)
    }

    pub(super) fn from(&mut self, position: u64) -> impl Iterator<Item = &mut Run> {
        let at = self.runs.partition_point(|run| run.end <= position);
        self.runs.range_mut(at..)
    }

    /// `is_adaptive`: the number of renotifications affects the future.
    pub(super) fn fingerprint<H: Hasher>(&self, print: &mut Fingerprint<H>, is_adaptive: bool) {
        for run in &self.runs {
            print.add((run.first, run.end));
            print.add_time(run.since);
            print.add_time(run.notified_at);
            print.add(if is_adaptive { run.renotified.min(BACKOFF_STEPS_MAX) } else { 0 });
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}

/// Interval of renotifications: the first, doubled each time up to a maximum.
#[derive(Clone, Copy, Debug)]
pub(super) struct RenotifyBackoff {
    pub(super) first: Span,
    pub(super) most: Span,
}

/// Maximum number of doublings.
const BACKOFF_STEPS_MAX: u8 = 16;

impl Run {
    fn due(&self, backoff: RenotifyBackoff) -> Time {
        let wait = (backoff.first * (1 << self.renotified.min(BACKOFF_STEPS_MAX))).min(backoff.most);
        self.notified_at.saturating_add(wait)
    }

    pub(super) fn set_notified(&mut self, now: Time) {
        self.notified_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_the_middle_splits_a_run() {
        let mut holes = Holes::default();
        holes.open(3, 8, Time::ZERO);
        assert_eq!((holes.fill(5), holes.fill(5)), (Some((Time::ZERO, false)), None));
        assert_eq!(holes.from(0).map(|run| (run.first, run.end)).collect::<Vec<_>>(), [(3, 5), (6, 8)]);
        assert_eq!(holes.position_count(), 4);
    }

    #[test]
    fn only_old_runs_are_given_up() {
        let mut holes = Holes::default();
        holes.open(0, 2, Time::from_ns(0));
        holes.open(4, 5, Time::from_ns(50));
        assert_eq!(holes.give_up(Time::from_ns(100), Span::from_ns(100)), 2);
        assert_eq!(holes.first(), Some(4));
    }
}
