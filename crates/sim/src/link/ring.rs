//! The frames on one lane, in order, each with its arrival time: a ring that doubles when it is full.
//!
//! Frames are counted here on arrival: a frame whose departure is fixed but that has not left when the run
//! ends does not count.

use wiremend_units::{NodeId, Time};

use crate::frame::{FrameId, FrameStore, Headers};
use crate::memory::{pages, prefetch};

/// The receiving end of a lane. One cache line.
#[repr(align(64))]
pub(crate) struct LaneRing {
    /// The frames behind the first.
    behind: PoolRing,
    /// The frame that arrives next, or none. Its time is in the event queue. With control frames that have no events,
    /// all frames are in the pool.
    first: FrameId,
    pub(crate) to: NodeId,
    /// The receiver's ingress port.
    pub(crate) ingress: u16,
    /// Whether control frames have no events; see [`super::lazy`].
    pub(super) is_lazy: bool,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) corrupted: u64,
}

const _: () = assert!(size_of::<LaneRing>() == 64);

/// A ring of values with times, in a block of a pool.
#[derive(Clone, Copy, Default)]
pub(crate) struct PoolRing {
    /// Start and length of the block.
    start: u32,
    capacity: u32,
    head: u32,
    len: u32,
}

/// The entries of many rings, in blocks whose lengths are powers of two. One array, so that it can use large
/// pages.
pub(crate) struct RingPool<T> {
    entries: Vec<Entry<T>>,
    /// Blocks that rings have outgrown, by the logarithm of their length.
    free: [Vec<u32>; 32],
}

#[derive(Clone, Copy)]
struct Entry<T> {
    at: Time,
    value: T,
}

const _: () = assert!(size_of::<Entry<FrameId>>() == 16);

/// The arrival time of a new first frame, for the event queue.
pub(crate) type NewFirst = Option<Time>;

const ENTRIES_MIN: u32 = 4;
const ENTRIES_PER_LINE: usize = 64 / size_of::<Entry<FrameId>>();

impl LaneRing {
    pub(crate) fn new(to: NodeId, ingress: u16) -> Self {
        Self {
            behind: PoolRing::default(),
            first: FrameId::NONE,
            to,
            ingress,
            is_lazy: false,
            frames: 0,
            bytes: 0,
            corrupted: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, pool: &mut RingPool<FrameId>, at: Time, frame: FrameId) -> NewFirst {
        if self.first == FrameId::NONE {
            self.first = frame;
            return Some(at);
        }
        self.behind.append(pool, at, frame);
        None
    }

    /// Removes the first frame, which must exist.
    #[inline]
    pub(crate) fn pop(&mut self, pool: &RingPool<FrameId>) -> (FrameId, NewFirst) {
        let first = self.first;
        debug_assert!(first != FrameId::NONE, "an arrival event has a frame");
        let Some((at, next)) = self.behind.front(pool) else {
            self.first = FrameId::NONE;
            return (first, None);
        };
        self.behind.remove_front();
        self.first = next;
        (first, Some(at))
    }

    /// Returns the ring of a lazy lane, with all its frames.
    #[inline]
    pub(super) fn stored(&self) -> &PoolRing {
        &self.behind
    }

    #[inline]
    pub(super) fn stored_mut(&mut self) -> &mut PoolRing {
        &mut self.behind
    }

    /// Returns the first frame, whose arrival time is in the event queue.
    pub(super) fn first(&self) -> Option<FrameId> {
        (self.first != FrameId::NONE).then_some(self.first)
    }

    /// Returns the places in the pool of the entries behind the first, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let behind = self.behind;
        (0..behind.len).map(move |index| behind.place(index))
    }

    /// Returns whether no frame is in flight.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == FrameId::NONE
    }

    /// Prefetches the frame that arrives next, and the entry behind it.
    #[inline]
    pub(crate) fn prefetch(&self, pool: &RingPool<FrameId>, frames: &FrameStore, headers: &Headers) {
        if self.first != FrameId::NONE {
            frames.prefetch(self.first);
            headers.prefetch(self.first);
        }
        if let Some(entry) = pool.entries.get((self.behind.start + self.behind.head) as usize) {
            prefetch(entry);
        }
    }

    /// Prefetches the two frames that arrive next, and entries behind them. At a host they come one after the other,
    /// faster than memory.
    #[inline]
    pub(crate) fn prefetch_two(&self, pool: &RingPool<FrameId>, frames: &FrameStore, headers: &Headers) {
        frames.prefetch(self.first);
        headers.prefetch(self.first);
        if self.behind.len > 0 {
            let second = pool.entries[self.behind.place(0)].value;
            frames.prefetch(second);
            headers.prefetch(second);
            prefetch(&pool.entries[self.behind.place(ENTRIES_PER_LINE as u32)]);
        }
    }

    /// Prefetches the place behind the last entry.
    #[inline]
    pub(crate) fn prefetch_end(&self, pool: &RingPool<FrameId>) {
        self.behind.prefetch_end(pool);
    }
}

impl PoolRing {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value.
    #[inline]
    pub(super) fn append<T: Copy>(&mut self, pool: &mut RingPool<T>, at: Time, value: T) {
        if self.len == self.capacity {
            self.grow(pool, Entry { at, value });
        }
        pool.entries[self.place(self.len)] = Entry { at, value };
        self.len += 1;
    }

    /// Returns the first value and its time.
    #[inline]
    pub(super) fn front<T: Copy>(&self, pool: &RingPool<T>) -> Option<(Time, T)> {
        let Entry { at, value } = pool.entries[if self.len == 0 { return None } else { self.place(0) }];
        Some((at, value))
    }

    /// Removes the first value, which must exist.
    #[inline]
    pub(super) fn remove_front(&mut self) {
        self.len -= 1;
        // An empty ring restarts at the front, so that a ring that was long once does not cycle through its
        // memory.
        self.head = if self.len == 0 { 0 } else { (self.head + 1) & (self.capacity - 1) };
    }

    /// Prefetches the first `count` entries.
    #[inline]
    pub(super) fn prefetch_entries<T>(&self, pool: &RingPool<T>, count: u32) {
        for index in (0..self.len.min(count)).step_by(ENTRIES_PER_LINE) {
            prefetch(&pool.entries[self.place(index)]);
        }
    }

    /// Passes the first `count` values to `prefetch`.
    #[inline]
    pub(super) fn prefetch_values<T: Copy>(&self, pool: &RingPool<T>, count: u32, prefetch: impl Fn(T)) {
        (0..self.len.min(count)).for_each(|index| prefetch(pool.entries[self.place(index)].value));
    }

    /// Prefetches the place behind the last entry.
    #[inline]
    pub(super) fn prefetch_end<T>(&self, pool: &RingPool<T>) {
        let place = (self.head + self.len) & self.capacity.wrapping_sub(1);
        if let Some(entry) = pool.entries.get((self.start + place) as usize) {
            prefetch(entry);
        }
    }

    /// Returns where an entry is in the pool, counted from the first.
    #[inline]
    fn place(&self, index: u32) -> usize {
        (self.start + ((self.head + index) & self.capacity.wrapping_sub(1))) as usize
    }

    /// Doubles the block. `fill` is written to new entries of the pool.
    #[cold]
    fn grow<T: Copy>(&mut self, pool: &mut RingPool<T>, fill: Entry<T>) {
        let capacity = (self.capacity * 2).max(ENTRIES_MIN);
        let start = pool.take(capacity, fill);
        for index in 0..self.len {
            pool.entries[(start + index) as usize] = pool.entries[self.place(index)];
        }
        if self.capacity > 0 {
            pool.free[self.capacity.ilog2() as usize].push(self.start);
        }
        (self.start, self.capacity, self.head) = (start, capacity, 0);
    }
}

// Not derived: a derive would require `T: Default`.
impl<T> Default for RingPool<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Default::default() }
    }
}

impl<T: Copy> RingPool<T> {
    /// Returns the time and the value of an entry.
    pub(super) fn entry(&self, place: usize) -> (Time, T) {
        let Entry { at, value } = self.entries[place];
        (at, value)
    }

    pub(super) fn set_time(&mut self, place: usize, at: Time) {
        self.entries[place].at = at;
    }

    /// Allocates a block of `len` entries.
    fn take(&mut self, len: u32, fill: Entry<T>) -> u32 {
        self.free[len.ilog2() as usize].pop().unwrap_or_else(|| {
            let (start, len) = (self.entries.len(), len as usize);
            if self.entries.capacity() - start < len {
                pages::reserve(&mut self.entries, len);
            }
            self.entries.resize(start + len, fill);
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
