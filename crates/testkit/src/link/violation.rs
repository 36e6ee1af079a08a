//! What must hold when all is quiet again, whatever was lost.

use super::pair::{Departure, Frame, LinkPair};
use crate::pair::{Ending, Side};

/// What a run may have gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// Neither end restarted.
    Steady,
    /// An end did: what it held is gone.
    Broken,
}

impl<const BITS: u32> LinkPair<BITS> {
    /// The first thing that is wrong at the end of a run, if anything is.
    pub fn violation(&self, ending: Ending, course: Course) -> Option<String> {
        if ending != Ending::Idle {
            return Some(format!("it ends {ending:?}"));
        }
        [Side::A, Side::B].into_iter().find_map(|side| {
            let left_over = || self.left_over(side);
            self.delivered_badly(side).or_else(left_over).or_else(|| self.unaccounted(side, course))
        })
    }

    /// A frame came to this end twice or out of order.
    pub fn delivered_badly(&self, side: Side) -> Option<String> {
        let frames = self.frames();
        let mut last = None;
        for &no in self.delivered(side) {
            let frame = &frames[no as usize];
            if frame.deliveries > 1 {
                return Some(format!("frame {no} comes {} times to {side:?}", frame.deliveries));
            }
            if frame.ordered && last > Some(no) {
                return Some(format!("frame {no} comes to {side:?} behind {last:?}"));
            }
            if frame.ordered {
                last = Some(no);
            }
        }
        None
    }

    fn left_over(&self, side: Side) -> Option<String> {
        let (kept, held) = self.handles(side);
        let counters = self.endpoint(side).counters();
        let config = self.endpoint(side).config();
        if (kept, held) != (0, 0) || (counters.tx_bytes, counters.rx_bytes) != (0, 0) {
            return Some(format!("{side:?} still keeps {kept} and holds {held}: {counters:?}"));
        }
        if counters.tx_bytes_max > config.tx_bytes_max.get()
            || counters.rx_bytes_max > config.rx_bytes_max.get()
        {
            return Some(format!("a buffer of {side:?} is over its bound: {counters:?}"));
        }
        None
    }

    fn unaccounted(&self, side: Side, course: Course) -> Option<String> {
        let counters = self.counters(side);
        let lost = |frame: &&Frame| {
            frame.from != side && frame.departure == Departure::Numbered && frame.deliveries == 0
        };
        let missing = self.frames().iter().filter(lost).count() as u64;
        if course == Course::Broken {
            return None;
        }
        // A copy that finds no room is none, and one that comes when it has been given up is too late.
        let soon =
            |frame: &&Frame| frame.arrived_at.is_some_and(|at| at.since(frame.left_at) < self.delay() * 6);
        let in_vain = self.frames().iter().filter(lost).filter(soon).count() as u64;
        if in_vain > counters.overflowed {
            return Some(format!("{in_vain} frames are lost to {side:?} that have arrived"));
        }
        // What the sender lost sight of may have been lost without the receiver's ever knowing of it.
        let abandoned = self.counters(side.peer()).abandoned;
        if !(counters.lost..=counters.lost + abandoned).contains(&missing) {
            return Some(format!("{side:?} counts {} lost of {missing}", counters.lost));
        }
        if counters.missed != counters.recovered + counters.lost {
            return Some(format!("{side:?} missed something that neither came nor is lost: {counters:?}"));
        }
        None
    }
}
