//! What waits for the link: frames for the neighbour first, then all others, bounded in bytes.

use std::collections::VecDeque;

use super::Care;
use crate::pool::Slot;

/// A frame that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Queued {
    pub(super) slot: Slot,
    pub(super) bytes: u32,
    /// How it is carried.
    pub(super) care: Care,
    /// Classes are others from this one on: it leaves when all before it has arrived.
    pub(super) fenced: bool,
}

/// Two queues of strict priority with one bound. Frames that are sent again go before both; the end of the link has them.
#[derive(Debug)]
pub(super) struct Queue {
    neighbour: VecDeque<Queued>,
    normal: VecDeque<Queued>,
    bytes: u64,
    bytes_max: u64,
}

/// Whom a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// The next bridge or station: LLDP, LACP, spanning tree. It is never held behind a hole.
    Neighbour,
    /// Anybody.
    Normal,
}

impl Reach {
    /// By the destination (IEEE 802.1Q table 8-1: 01-80-C2-00-00-00 to 0F).
    pub(super) fn of(frame: &[u8]) -> Self {
        match frame {
            [0x01, 0x80, 0xC2, 0x00, 0x00, last, ..] if *last < 0x10 => Self::Neighbour,
            _ => Self::Normal,
        }
    }
}

impl Queue {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self { neighbour: VecDeque::new(), normal: VecDeque::new(), bytes: 0, bytes_max }
    }

    #[inline]
    pub(super) fn has_room(&self, bytes: u32) -> bool {
        self.bytes + u64::from(bytes) <= self.bytes_max
    }

    #[inline]
    pub(super) fn push(&mut self, reach: Reach, frame: Queued) {
        self.bytes += u64::from(frame.bytes);
        match reach {
            Reach::Neighbour => self.neighbour.push_back(frame),
            Reach::Normal => self.normal.push_back(frame),
        }
    }

    /// The one that is next.
    #[inline]
    pub(super) fn front(&self) -> Option<Queued> {
        self.neighbour.front().or_else(|| self.normal.front()).copied()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Queued> {
        let frame = self.neighbour.pop_front().or_else(|| self.normal.pop_front())?;
        self.bytes -= u64::from(frame.bytes);
        Some(frame)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;

    #[test]
    fn neighbours_go_first_and_bytes_are_bounded() {
        let mut pool = Pool::new(2, 64);
        let mut queue = Queue::new(200);
        let mut push = |reach, bytes| {
            queue.push(
                reach,
                Queued { slot: pool.reserve().unwrap(), bytes, care: Care::Ordered, fenced: false },
            );
        };
        push(Reach::Normal, 100);
        push(Reach::Neighbour, 60);
        assert!(queue.has_room(40) && !queue.has_room(41));
        assert_eq!(queue.front().map(|frame| frame.bytes), Some(60));
        assert_eq!([queue.pop(), queue.pop()].map(|frame| frame.unwrap().bytes), [60, 100]);
        assert_eq!((queue.bytes(), queue.pop()), (0, None));
    }

    #[test]
    fn what_a_bridge_never_forwards_is_for_the_neighbour() {
        assert_eq!(Reach::of(&[0x01, 0x80, 0xC2, 0, 0, 0x0E, 9]), Reach::Neighbour);
        assert_eq!(Reach::of(&[0x01, 0x80, 0xC2, 0, 0, 0x10, 9]), Reach::Normal);
        assert_eq!(Reach::of(&[0x01]), Reach::Normal);
    }
}
