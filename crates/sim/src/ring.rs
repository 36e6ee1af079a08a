//! The frames on one lane, in order, each with its time of arrival: a ring that grows by doubling.
//!
//! What a lane carries is counted here, when it arrives: a frame that a port has settled but not sent when the run
//! ends has crossed nothing.

use wiremend_units::{NodeId, Time};

use crate::store::FrameId;

/// The receiving end of a lane. One cache line.
#[repr(align(64))]
pub(crate) struct Ring {
    entries: Box<[Entry]>,
    head: u32,
    len: u32,
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
pub(crate) struct Entry {
    pub(crate) at: Time,
    pub(crate) frame: FrameId,
}

const NOTHING: Entry = Entry { at: Time::MAX, frame: FrameId::NONE };
const ENTRIES_MIN: usize = 4;

impl Ring {
    pub(crate) fn new(to: NodeId, ingress: u16) -> Self {
        Self { entries: Box::new([]), head: 0, len: 0, to, ingress, frames: 0, bytes: 0, corrupted: 0 }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<Entry> {
        (self.len > 0).then(|| self.entries[self.head as usize])
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        if self.len as usize == self.entries.len() {
            self.grow();
        }
        let mask = self.entries.len() - 1;
        self.entries[(self.head + self.len) as usize & mask] = entry;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        let entry = self.front()?;
        let mask = self.entries.len() as u32 - 1;
        self.head = (self.head + 1) & mask;
        self.len -= 1;
        Some(entry)
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

    #[test]
    fn order_survives_wrapping_and_growing() {
        let (mut ring, mut plain) = (Ring::new(NodeId(0), 0), VecDeque::new());
        for step in 0..10_000_u64 {
            let entry = Entry { at: Time::from_ps(step), frame: FrameId::NONE };
            ring.push(entry);
            plain.push_back(step);
            if step % 3 != 0 || step > 9_000 {
                for _ in 0..=(step % 2) {
                    assert_eq!(ring.pop().map(|entry| entry.at.as_ps()), plain.pop_front());
                }
            }
            assert_eq!(ring.front().map(|entry| entry.at.as_ps()), plain.front().copied());
        }
    }
}
