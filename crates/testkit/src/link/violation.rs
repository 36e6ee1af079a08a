//! Invariants at the end of a run, whatever was lost.

use super::pair::{Departure, Frame, LinkPair};
use crate::pair::{RunEnd, Side};

/// What happened to the ends during a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunHistory {
    /// No end restarted.
    Steady,
    /// An end restarted and lost its frames.
    Restarted,
}

impl<const BITS: u32> LinkPair<BITS> {
    /// Returns the first violation at the end of a run.
    pub fn violation(&self, ending: RunEnd, history: RunHistory) -> Option<String> {
        if ending != RunEnd::Idle {
            return Some(format!("the run ends {ending:?}"));
        }
        [Side::A, Side::B].into_iter().find_map(|side| {
            let leftover_violation = || self.leftover_violation(side);
            self.delivery_violation(side)
                .or_else(leftover_violation)
                .or_else(|| self.loss_violation(side, history))
        })
    }

    /// Returns a frame that was delivered twice or out of order at this end.
    pub fn delivery_violation(&self, side: Side) -> Option<String> {
        let frames = self.frames();
        let mut last = None;
        for &no in self.delivered(side) {
            let frame = &frames[no as usize];
            if frame.deliveries > 1 {
                return Some(format!("frame {no} was delivered {} times at {side:?}", frame.deliveries));
            }
            if frame.ordered && last > Some(no) {
                return Some(format!("frame {no} was delivered at {side:?} after {last:?}"));
            }
            if frame.ordered {
                last = Some(no);
            }
        }
        None
    }

    fn leftover_violation(&self, side: Side) -> Option<String> {
        let (kept, held) = self.handles(side);
        let counters = self.endpoint(side).counters();
        let config = self.endpoint(side).config();
        if (kept, held) != (0, 0) || (counters.tx_bytes, counters.rx_bytes) != (0, 0) {
            return Some(format!("{side:?} still keeps {kept} copies and holds {held} frames: {counters:?}"));
        }
        if counters.tx_bytes_max > config.tx_bytes_max.get()
            || counters.rx_bytes_max > config.rx_bytes_max.get()
        {
            return Some(format!("a buffer of {side:?} has exceeded its size: {counters:?}"));
        }
        None
    }

    fn loss_violation(&self, side: Side, history: RunHistory) -> Option<String> {
        let counters = self.counters(side);
        let lost = |frame: &&Frame| {
            frame.from != side && frame.departure == Departure::Numbered && frame.deliveries == 0
        };
        let missing = self.frames().iter().filter(lost).count() as u64;
        if history == RunHistory::Restarted {
            return None;
        }
        // Exempt: copies that found no room, and copies that arrived after the receiver gave up.
        let soon =
            |frame: &&Frame| frame.arrived_at.is_some_and(|at| at.since(frame.left_at) < self.delay() * 6);
        let in_vain = self.frames().iter().filter(lost).filter(soon).count() as u64;
        if in_vain > counters.overflowed {
            return Some(format!("{in_vain} frames that arrived at {side:?} were not delivered"));
        }
        // The receiver need not know of frames that the sender abandoned.
        let abandoned = self.counters(side.peer()).abandoned;
        if !(counters.lost..=counters.lost + abandoned).contains(&missing) {
            return Some(format!("{side:?} counts {} frames lost, but {missing} are missing", counters.lost));
        }
        if counters.missed != counters.recovered + counters.lost {
            return Some(format!("missed frames of {side:?} are neither recovered nor lost: {counters:?}"));
        }
        None
    }
}
