//! Log of pause intervals.

use std::collections::VecDeque;

use wiremend_units::{LaneId, Time};

use crate::port::PauseWindow;

/// A time in which a port had to pause a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PauseInterval {
    /// The port, by the lane that it sends over.
    pub lane: LaneId,
    /// The class.
    pub class: u8,
    /// Start of the pause.
    pub from: Time,
    /// End of the pause; the end of the run if it was still active.
    pub until: Time,
}

/// Past pause intervals of the ports of a partition.
pub(crate) struct PauseLog {
    /// By lane; only the last ones are kept.
    lanes: Vec<VecDeque<PauseInterval>>,
}

/// Intervals kept per port.
const INTERVALS_MAX: usize = 512;

impl PauseLog {
    pub(crate) fn new(lanes: usize) -> Self {
        Self { lanes: vec![VecDeque::new(); lanes] }
    }

    /// Records that a new pause replaces an old one, which may have ended before or continues in it.
    pub(super) fn record(&mut self, now: Time, lane: LaneId, class: u8, old: PauseWindow, new: PauseWindow) {
        let continues = new.from == old.from && new.until > now;
        let until = old.until.min(now);
        if continues || until <= old.from {
            return;
        }
        let intervals = &mut self.lanes[lane.index()];
        // A pause that was resumed is already recorded.
        if intervals.iter().rev().find(|last| last.class == class).is_some_and(|last| last.from == old.from) {
            return;
        }
        if intervals.len() == INTERVALS_MAX {
            intervals.pop_front();
        }
        intervals.push_back(PauseInterval { lane, class, from: old.from, until });
    }

    /// Returns the past intervals of a port.
    pub(crate) fn intervals(&self, lane: LaneId) -> impl Iterator<Item = PauseInterval> {
        self.lanes[lane.index()].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_pause_is_one_interval_and_the_last_ones_are_kept() {
        let at = Time::from_ns;
        let mut log = PauseLog::new(1);
        let lane = LaneId(0);
        let first = PauseWindow { from: at(10), until: at(50) };
        let renewed = PauseWindow { from: at(10), until: at(90) };
        let ended = PauseWindow { from: at(10), until: at(70) };
        log.record(at(10), lane, 3, PauseWindow::NONE, first);
        log.record(at(30), lane, 3, first, renewed);
        log.record(at(70), lane, 3, renewed, ended);
        log.record(at(99), lane, 3, ended, PauseWindow { from: at(100), until: at(150) });
        let all: Vec<_> = log.intervals(lane).map(|one| (one.from, one.until)).collect();
        assert_eq!(all, [(at(10), at(70))]);
        for start in 1..=INTERVALS_MAX as u64 {
            let window = |n: u64| PauseWindow { from: at(n * 100), until: at(n * 100 + 50) };
            log.record(at((start + 1) * 100), lane, 3, window(start), window(start + 1));
        }
        assert_eq!(log.intervals(lane).count(), INTERVALS_MAX);
        assert_eq!(log.intervals(lane).next().map(|one| one.from), Some(at(100)));
    }
}
