//! Timers of many queue pairs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wiremend_units::Time;

/// Times at which queue pairs run again. A queue pair that moves its time to an earlier one gets a second entry; the
/// owner ignores the first. Moves to later times need none: the queue pair is asked again at the old time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    entries: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Time, slot: usize) {
        self.entries.push(Reverse((at, slot)));
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.entries.peek().map(|Reverse((at, _))| *at)
    }

    /// Removes the earliest entry if it is due.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, usize)> {
        if self.next()? > now {
            return None;
        }
        self.entries.pop().map(|Reverse(entry)| entry)
    }
}
