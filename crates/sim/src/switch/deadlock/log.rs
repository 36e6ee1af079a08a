//! Who had to hold which class, and when.

use std::collections::VecDeque;

use wiremend_units::{LaneId, Time};

use crate::port::Hold;

/// A time in which a port had to hold a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PauseInterval {
    /// The port, by the lane that it sends over.
    pub lane: LaneId,
    /// The class.
    pub class: u8,
    /// From when on.
    pub from: Time,
    /// Until when; the end of the run if it was still held.
    pub until: Time,
}

/// Times that were held and are over, of the ports of a part.
pub(crate) struct PauseLog {
    /// By lane; only the last ones are kept.
    lanes: Vec<VecDeque<PauseInterval>>,
}

/// Times that are kept of a port.
const KEPT_MAX: usize = 512;

impl PauseLog {
    pub(crate) fn new(lanes: usize) -> Self {
        Self { lanes: vec![VecDeque::new(); lanes] }
    }

    /// A hold takes the place of another, which may have ended before or goes on in it.
    pub(super) fn note(&mut self, now: Time, lane: LaneId, class: u8, old: Hold, new: Hold) {
        let goes_on = new.from == old.from && new.until > now;
        let until = old.until.min(now);
        if goes_on || until <= old.from {
            return;
        }
        let kept = &mut self.lanes[lane.index()];
        // One that was let go was noted then.
        if kept.iter().rev().find(|last| last.class == class).is_some_and(|last| last.from == old.from) {
            return;
        }
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(PauseInterval { lane, class, from: old.from, until });
    }

    /// All that are over of one port.
    pub(crate) fn of(&self, lane: LaneId) -> impl Iterator<Item = PauseInterval> {
        self.lanes[lane.index()].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_hold_is_one_time_and_the_last_ones_are_kept() {
        let at = Time::from_ns;
        let mut log = PauseLog::new(1);
        let lane = LaneId(0);
        let first = Hold { from: at(10), until: at(50) };
        let renewed = Hold { from: at(10), until: at(90) };
        let ended = Hold { from: at(10), until: at(70) };
        log.note(at(10), lane, 3, Hold::NONE, first);
        log.note(at(30), lane, 3, first, renewed);
        log.note(at(70), lane, 3, renewed, ended);
        log.note(at(99), lane, 3, ended, Hold { from: at(100), until: at(150) });
        let all: Vec<_> = log.of(lane).map(|one| (one.from, one.until)).collect();
        assert_eq!(all, [(at(10), at(70))]);
        for start in 1..=KEPT_MAX as u64 {
            let hold = |n: u64| Hold { from: at(n * 100), until: at(n * 100 + 50) };
            log.note(at((start + 1) * 100), lane, 3, hold(start), hold(start + 1));
        }
        assert_eq!(log.of(lane).count(), KEPT_MAX);
        assert_eq!(log.of(lane).next().map(|one| one.from), Some(at(100)));
    }
}
