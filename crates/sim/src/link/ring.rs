//! The frames on one lane, in order, each with its arrival time: a ring that doubles when it is full.
//!
//! Frames are counted here on arrival: a frame whose departure is fixed but that has not left when the run
//! ends does not count.

use wiremend_units::{NodeId, Time};

use crate::frame::{Carried, Content, FrameId, FrameStore, Headers};
use crate::memory::{pages, prefetch};

/// The receiving end of a lane. One cache line.
#[repr(align(64))]
pub(crate) struct LaneRing {
    /// Start and length of the pool block that holds the frames behind the first.
    start: u32,
    capacity: u32,
    head: u32,
    /// Number of frames behind the first.
    len: u32,
    /// The frame that arrives next, or none. Its time is in the event queue.
    first: FrameId,
    pub(crate) to: NodeId,
    /// The receiver's ingress port.
    pub(crate) ingress: u16,
    /// Whether control frames have no events; see [`super::lazy`]. Then all frames are in the pool.
    pub(super) is_lazy: bool,
    /// Number of stored frames on such a lane.
    pub(super) stored: u32,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) corrupted: u64,
}

const _: () = assert!(size_of::<LaneRing>() == 64);

/// The entries of all rings, in blocks whose lengths are powers of two. One array, so that it can use large
/// pages.
#[derive(Default)]
pub(crate) struct RingPool {
    entries: Vec<Entry>,
    /// Blocks that rings have outgrown, by the logarithm of their length.
    free: [Vec<u32>; 32],
}

#[derive(Clone, Copy)]
struct Entry {
    at: Time,
    frame: Carried,
}

const _: () = assert!(size_of::<Entry>() == 16);

/// The arrival time of a new first frame, for the event queue.
pub(crate) type NewFirst = Option<Time>;

const EMPTY: Entry = Entry { at: Time::MAX, frame: Carried::stored(FrameId::NONE) };
const ENTRIES_MIN: u32 = 4;
const ENTRIES_PER_LINE: usize = 64 / size_of::<Entry>();
/// Entries of a lazy lane that are prefetched.
const ENTRIES_AHEAD: u32 = 12;

impl LaneRing {
    pub(crate) fn new(to: NodeId, ingress: u16) -> Self {
        let first = FrameId::NONE;
        Self {
            start: 0,
            capacity: 0,
            head: 0,
            len: 0,
            first,
            to,
            ingress,
            is_lazy: false,
            stored: 0,
            frames: 0,
            bytes: 0,
            corrupted: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, pool: &mut RingPool, at: Time, frame: FrameId) -> NewFirst {
        if self.first == FrameId::NONE {
            self.first = frame;
            return Some(at);
        }
        self.append(pool, at, Carried::stored(frame));
        None
    }

    /// Appends a frame to the pool. Returns whether there was none.
    #[inline]
    pub(super) fn append(&mut self, pool: &mut RingPool, at: Time, frame: Carried) -> bool {
        if self.len == self.capacity {
            self.grow(pool);
        }
        pool.entries[self.place(self.len)] = Entry { at, frame };
        self.len += 1;
        self.len == 1
    }

    /// Returns the first frame of the pool and its arrival time.
    #[inline]
    pub(super) fn front(&self, pool: &RingPool) -> Option<(Time, Carried)> {
        let Entry { at, frame } = pool.entries[if self.len == 0 { return None } else { self.place(0) }];
        Some((at, frame))
    }

    /// Removes the first frame of the pool, which must exist.
    #[inline]
    pub(super) fn remove_front(&mut self) {
        self.len -= 1;
        // An empty ring restarts at the front, so that a ring that was long once does not cycle through its
        // memory.
        self.head = if self.len == 0 { 0 } else { (self.head + 1) & (self.capacity - 1) };
    }

    /// Returns the first stored frame of a lazy lane and its arrival time. The control frames before it are
    /// looked at once, because each arrival of a stored frame asks for the next.
    #[inline]
    pub(super) fn next_stored(&self, pool: &RingPool) -> Option<(Time, FrameId)> {
        if self.stored == 0 {
            return None;
        }
        (0..self.len).find_map(|index| {
            let Entry { at, frame } = pool.entries[self.place(index)];
            if let Content::Stored(id) = frame.content() { Some((at, id)) } else { None }
        })
    }

    /// Prefetches the entries of about a window.
    #[inline]
    pub(super) fn prefetch_entries(&self, pool: &RingPool) {
        for index in (0..self.len.min(ENTRIES_AHEAD)).step_by(ENTRIES_PER_LINE) {
            prefetch(&pool.entries[self.place(index)]);
        }
    }

    /// Prefetches where the next frame is appended.
    #[inline]
    pub(super) fn prefetch_back(&self, pool: &RingPool) {
        if self.len < self.capacity {
            prefetch(&pool.entries[self.place(self.len)]);
        }
    }

    /// Returns where an entry is in the pool, counted from the first.
    #[inline]
    fn place(&self, index: u32) -> usize {
        (self.start + ((self.head + index) & (self.capacity - 1))) as usize
    }

    /// Removes the first frame, which must exist.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &RingPool) -> (FrameId, NewFirst) {
        let first = self.first;
        debug_assert!(first != FrameId::NONE, "an arrival event has a frame");
        if self.len == 0 {
            self.first = FrameId::NONE;
            return (first, None);
        }
        let next = pool.entries[self.place(0)];
        self.remove_front();
        self.first = next.frame.stored_id();
        (first, Some(next.at))
    }

    /// Returns the first frame, whose arrival time is in the event queue.
    pub(super) fn first(&self) -> Option<FrameId> {
        (self.first != FrameId::NONE).then_some(self.first)
    }

    /// Returns the places in the pool of the entries behind the first, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let (start, head, mask) = (self.start, self.head, self.capacity.wrapping_sub(1));
        (0..self.len).map(move |index| (start + ((head + index) & mask)) as usize)
    }

    /// Returns whether no frame is in flight.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == FrameId::NONE
    }

    /// Prefetches the frame that arrives next, and the entry behind it.
    #[inline]
    pub(crate) fn prefetch(&self, pool: &RingPool, frames: &FrameStore, headers: &Headers) {
        if self.first != FrameId::NONE {
            frames.prefetch(self.first);
            headers.prefetch(self.first);
        }
        if let Some(entry) = pool.entries.get((self.start + self.head) as usize) {
            prefetch(entry);
        }
    }

    /// Prefetches the place behind the last entry.
    #[inline]
    pub(crate) fn prefetch_end(&self, pool: &RingPool) {
        let place = (self.head + self.len) & self.capacity.wrapping_sub(1);
        if let Some(entry) = pool.entries.get((self.start + place) as usize) {
            prefetch(entry);
        }
    }

    #[cold]
    fn grow(&mut self, pool: &mut RingPool) {
        let capacity = (self.capacity * 2).max(ENTRIES_MIN);
        let start = pool.take(capacity);
        for index in 0..self.len {
            pool.entries[(start + index) as usize] = pool.entries[self.place(index)];
        }
        if self.capacity > 0 {
            pool.free[self.capacity.ilog2() as usize].push(self.start);
        }
        (self.start, self.capacity, self.head) = (start, capacity, 0);
    }
}

impl RingPool {
    /// Returns the arrival time and the frame of an entry.
    pub(super) fn entry(&self, place: usize) -> (Time, FrameId) {
        let Entry { at, frame } = self.entries[place];
        let Content::Stored(frame) = frame.content() else {
            unreachable!("runs with protected links skip no time")
        };
        (at, frame)
    }

    pub(super) fn set_time(&mut self, place: usize, at: Time) {
        self.entries[place].at = at;
    }

    /// Allocates a block of `len` entries.
    fn take(&mut self, len: u32) -> u32 {
        self.free[len.ilog2() as usize].pop().unwrap_or_else(|| {
            let (start, len) = (self.entries.len(), len as usize);
            if self.entries.capacity() - start < len {
                pages::reserve(&mut self.entries, len);
            }
            self.entries.resize(start + len, EMPTY);
            u32::try_from(start).expect("fewer than 2^32 entries in all rings")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::frame::Frame;

    #[test]
    fn order_survives_wrapping_and_growing() {
        let mut frames = FrameStore::default();
        let (mut ring, mut pool, mut plain) =
            (LaneRing::new(NodeId(0), 0), RingPool::default(), VecDeque::new());
        let mut due = None;
        for step in 0..10_000_u64 {
            let frame = frames.insert(Frame::blank());
            due = ring.push(&mut pool, Time::from_ps(step), frame).or(due);
            plain.push_back((step, frame));
            let pops = if step > 9_000 { 2 } else { step % 3 };
            for _ in 0..pops.min(plain.len() as u64) {
                let (at, frame) = plain.pop_front().unwrap();
                assert_eq!(due, Some(Time::from_ps(at)));
                let (popped, next) = ring.pop(&pool);
                assert_eq!(popped, frame);
                due = next;
            }
            assert_eq!(due.map(Time::as_ps), plain.front().map(|(at, _)| *at));
        }
    }
}
