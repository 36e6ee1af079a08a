//! The frames on one lane, in order, each with its time of arrival: a ring that grows by doubling.
//!
//! What a lane carries is counted here, when it arrives: a frame that a port has settled but not sent when the run
//! ends has crossed nothing.

use wiremend_units::{NodeId, Time};

use crate::prefetch::prefetch;
use crate::store::{FrameId, Store};

/// The receiving end of a lane. One cache line.
#[repr(align(64))]
pub(crate) struct Ring {
    /// What follows the first frame.
    entries: Box<[Entry]>,
    head: u32,
    /// Frames behind the first.
    len: u32,
    /// The frame that arrives next, or none. Its time is in the event queue.
    first: FrameId,
    /// The node at the end of the lane.
    pub(crate) to: NodeId,
    /// Which of its ports that is.
    pub(crate) ingress: u16,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) corrupted: u64,
}

const _: () = assert!(size_of::<Ring>() == 64);

#[derive(Clone, Copy)]
struct Entry {
    at: Time,
    frame: FrameId,
}

/// What a push or a pop means for the event queue: when the first frame, which is a new one, arrives.
pub(crate) type NewFirst = Option<Time>;

const NOTHING: Entry = Entry { at: Time::MAX, frame: FrameId::NONE };
const ENTRIES_MIN: usize = 4;

impl Ring {
    pub(crate) fn new(to: NodeId, ingress: u16) -> Self {
        let (first, entries) = (FrameId::NONE, Box::new([]));
        Self { entries, head: 0, len: 0, first, to, ingress, frames: 0, bytes: 0, corrupted: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, at: Time, frame: FrameId) -> NewFirst {
        if self.first == FrameId::NONE {
            self.first = frame;
            return Some(at);
        }
        if self.len as usize == self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        self.entries[(self.head + self.len) as usize & mask] = Entry { at, frame };
        self.len += 1;
        None
    }

    /// Takes the first frame, which must be there.
    #[inline]
    pub(crate) fn pop(&mut self) -> (FrameId, NewFirst) {
        let first = self.first;
        debug_assert!(first != FrameId::NONE, "an arrival has its frame");
        if self.len == 0 {
            self.first = FrameId::NONE;
            return (first, None);
        }
        let next = self.entries[self.head as usize];
        self.head = (self.head + 1) & (self.entries.len() as u32 - 1);
        self.len -= 1;
        self.first = next.frame;
        (first, Some(next.at))
    }

    /// The frame that arrives next is needed soon, and then the one behind it.
    #[inline]
    pub(crate) fn prefetch(&self, frames: &Store) {
        if self.first != FrameId::NONE {
            frames.prefetch(self.first);
        }
        if let Some(entry) = self.entries.get(self.head as usize) {
            prefetch(entry);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut entries = vec![NOTHING; (self.entries.len() * 2).max(ENTRIES_MIN)];
        let (wrapped, first) = self.entries.split_at(self.head as usize);
        entries[..first.len()].copy_from_slice(first);
        entries[first.len()..first.len() + wrapped.len()].copy_from_slice(wrapped);
        self.entries = entries.into_boxed_slice();
        self.head = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::frame::Frame;

    #[test]
    fn order_survives_wrapping_and_growing() {
        let mut frames = Store::default();
        let (mut ring, mut plain) = (Ring::new(NodeId(0), 0), VecDeque::new());
        let mut due = None;
        for step in 0..10_000_u64 {
            let frame = frames.insert(Frame::blank());
            due = ring.push(Time::from_ps(step), frame).or(due);
            plain.push_back((step, frame));
            let pops = if step > 9_000 { 2 } else { step % 3 };
            for _ in 0..pops.min(plain.len() as u64) {
                let (at, frame) = plain.pop_front().unwrap();
                assert_eq!(due, Some(Time::from_ps(at)));
                let (popped, next) = ring.pop();
                assert_eq!(popped, frame);
                due = next;
            }
            assert_eq!(due.map(Time::as_ps), plain.front().map(|(at, _)| *at));
        }
    }
}
