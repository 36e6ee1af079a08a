//! The event queue: a timing wheel for the near future and a heap for the far future.
//!
//! An event has a *source* (a lane whose oldest frame arrives, a port that becomes free, a timer of a host),
//! and a source has at most one pending event. So an event is a time and a source, and a bucket is a linked
//! list in an array indexed by source. The queue allocates nothing: frames wait in the lanes.
//!
//! Events leave in the order (time, mix(seed, time, source), source). No two pending events share a source,
//! so the order is total and does not depend on the order of insertion. Of two sources that tie repeatedly,
//! neither is always first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wiremend_units::{Span, Time, mix};

/// The source of an event. The queue gives it no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventSource(pub(crate) u32);

pub(crate) struct EventQueue {
    seed: u64,
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// First source of each bucket's list.
    heads: Vec<u32>,
    /// One bit per bucket that is not empty.
    occupied: Vec<u64>,
    /// The next source in the same bucket, by source. Kept apart from the times, so that following a list
    /// touches little memory.
    next: Vec<u32>,
    /// The due time of each source, or [`NEVER`].
    due: Vec<u64>,
    /// The bucket being emptied, last event first. May contain stale entries; see [`EventQueue::pop`].
    current: Vec<Pending>,
    /// Number of the current bucket, counted from time zero.
    cursor: u64,
    advanced: bool,
    /// Events at least one rotation of the wheel ahead. May contain stale entries.
    far: BinaryHeap<Reverse<Pending>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    time: u64,
    /// Fair tie-breaker in the upper 32 bits, source in the lower 32.
    tie: u64,
}

const NEVER: u64 = u64::MAX;
const NONE: u32 = u32::MAX;
const BUCKETS_MIN: usize = 1 << 10;
const BUCKETS_MAX: usize = 1 << 16;

impl EventQueue {
    /// Returns a queue for `sources` sources. Most events should lie at most `horizon` ahead.
    pub(crate) fn new(seed: u64, sources: usize, horizon: Span) -> Self {
        assert!(sources < NONE as usize, "a source fits in 32 bits");
        let buckets = (sources * 2).next_power_of_two().clamp(BUCKETS_MIN, BUCKETS_MAX);
        let width = (horizon.as_ps() / buckets as u64).max(1).next_power_of_two();
        Self {
            seed: mix(seed),
            shift: width.trailing_zeros(),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets / 64],
            next: vec![NONE; sources],
            due: vec![NEVER; sources],
            current: Vec::with_capacity(64),
            cursor: 0,
            advanced: false,
            far: BinaryHeap::new(),
        }
    }

    /// Makes `source` due at `time`. It must not be pending.
    #[inline]
    pub(crate) fn arm(&mut self, source: EventSource, time: Time) {
        let time = time.as_ps();
        let due = &mut self.due[source.0 as usize];
        debug_assert!(*due == NEVER, "one pending event per source");
        *due = time;
        let bucket = time >> self.shift;
        // `cursor` may be ahead of the last event, but never of the next one: events of earlier buckets go to
        // `current`.
        if bucket <= self.cursor {
            self.insert_current(time, source);
        } else if bucket - self.cursor < self.heads.len() as u64 {
            self.link(bucket, source.0);
        } else {
            let event = self.pending(time, source.0);
            self.far.push(Reverse(event));
        }
    }

    /// Makes `source` due at `time`, unless it is due earlier.
    #[inline]
    pub(crate) fn arm_by(&mut self, source: EventSource, time: Time) {
        let pending = self.due[source.0 as usize];
        if pending <= time.as_ps() {
            return;
        }
        if pending != NEVER {
            self.disarm(source, pending);
        }
        self.arm(source, time);
    }

    /// Makes `source` due at `time`, whenever it was due before.
    #[inline]
    pub(crate) fn rearm(&mut self, source: EventSource, time: Time) {
        let pending = self.due[source.0 as usize];
        if pending == time.as_ps() {
            return;
        }
        if pending != NEVER {
            self.disarm(source, pending);
        }
        self.arm(source, time);
    }

    /// Removes and returns the next event before `end`.
    #[inline]
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, EventSource)> {
        loop {
            let Some(event) = self.current.last() else {
                if self.advance(end.as_ps()) {
                    continue;
                }
                return None;
            };
            if event.time >= end.as_ps() {
                return None;
            }
            let (time, source) = (event.time, event.source());
            self.current.pop();
            let due = &mut self.due[source as usize];
            if *due == time {
                *due = NEVER;
                return Some((Time::from_ps(time), EventSource(source)));
            }
        }
    }

    /// Returns the time of the next event. Does not advance: earlier events may still be inserted.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        while let Some(event) = self.current.last() {
            if self.due[event.source() as usize] == event.time {
                return Some(Time::from_ps(event.time));
            }
            self.current.pop();
        }
        if let Some(bucket) = self.next_occupied(self.cursor) {
            let mut source = self.heads[bucket as usize & (self.heads.len() - 1)];
            let mut first = NEVER;
            while source != NONE {
                first = first.min(self.due[source as usize]);
                source = self.next[source as usize];
            }
            return Some(Time::from_ps(first));
        }
        while let Some(Reverse(event)) = self.far.peek() {
            if self.due[event.source() as usize] == event.time {
                return Some(Time::from_ps(event.time));
            }
            self.far.pop();
        }
        None
    }

    /// Returns whether [`EventQueue::pop`] has advanced to another bucket since the last call.
    #[inline]
    pub(crate) fn take_advanced(&mut self) -> bool {
        std::mem::take(&mut self.advanced)
    }

    /// Returns the next two buckets with events.
    #[inline]
    pub(crate) fn upcoming(&self) -> [Option<u64>; 2] {
        let next = self.next_occupied(self.cursor);
        [next, next.and_then(|next| self.next_occupied(next))]
    }

    /// Returns the sources in a bucket, in no particular order.
    #[inline]
    pub(crate) fn bucket(&self, bucket: Option<u64>) -> impl Iterator<Item = EventSource> {
        let mut source = bucket.map_or(NONE, |bucket| self.heads[bucket as usize & (self.heads.len() - 1)]);
        std::iter::from_fn(move || {
            let found = (source != NONE).then_some(EventSource(source))?;
            source = self.next[source as usize];
            Some(found)
        })
    }

    #[inline]
    fn pending(&self, time: u64, source: u32) -> Pending {
        let fair = mix(self.seed ^ time ^ (u64::from(source) << 40));
        Pending { time, tie: fair & !u64::from(u32::MAX) | u64::from(source) }
    }

    #[inline]
    fn link(&mut self, bucket: u64, source: u32) {
        let index = bucket as usize & (self.heads.len() - 1);
        self.next[source as usize] = self.heads[index];
        self.heads[index] = source;
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    #[inline]
    fn insert_current(&mut self, time: u64, source: EventSource) {
        let event = self.pending(time, source.0);
        let place = self.current.iter().rposition(|other| *other > event).map_or(0, |index| index + 1);
        self.current.insert(place, event);
    }

    /// Removes a pending event from its bucket. In `current` and `far` it stays as a stale entry: its time no
    /// longer matches that of its source, so `pop` skips it.
    #[cold]
    fn disarm(&mut self, source: EventSource, time: u64) {
        self.due[source.0 as usize] = NEVER;
        let bucket = time >> self.shift;
        if bucket <= self.cursor || bucket - self.cursor >= self.heads.len() as u64 {
            return;
        }
        let index = bucket as usize & (self.heads.len() - 1);
        if self.heads[index] == source.0 {
            self.heads[index] = self.next[source.0 as usize];
        } else {
            let mut before = self.heads[index];
            while self.next[before as usize] != source.0 {
                before = self.next[before as usize];
            }
            self.next[before as usize] = self.next[source.0 as usize];
        }
        if self.heads[index] == NONE {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Advances to the next bucket that starts before `end` and has an event. Returns false if there is none.
    fn advance(&mut self, end: u64) -> bool {
        let near = self.next_occupied(self.cursor);
        let bucket = match near {
            Some(bucket) => bucket,
            None => match self.far.peek() {
                Some(Reverse(event)) => event.time >> self.shift,
                None => return false,
            },
        };
        if (bucket << self.shift) >= end {
            return false;
        }
        self.cursor = bucket;
        self.advanced = true;
        self.pull_far();
        if near.is_some() {
            self.empty_bucket(bucket);
        }
        true
    }

    /// Returns the number of the first occupied bucket after `bucket`, within one rotation of the current
    /// one.
    #[inline]
    fn next_occupied(&self, bucket: u64) -> Option<u64> {
        let mask = self.heads.len() - 1;
        let start = (bucket as usize + 1) & mask;
        let words = self.occupied.len();
        let first = self.occupied[start / 64] >> (start % 64);
        if first != 0 {
            return self.within_rotation(bucket + 1 + u64::from(first.trailing_zeros()));
        }
        for step in 1..=words {
            let word = (start / 64 + step) & (words - 1);
            if self.occupied[word] != 0 {
                let index = word * 64 + self.occupied[word].trailing_zeros() as usize;
                return self.within_rotation(bucket + 1 + ((index.wrapping_sub(start)) & mask) as u64);
            }
        }
        None
    }

    /// The wheel is circular: a bucket that seems more than one rotation ahead is in the past.
    #[inline]
    fn within_rotation(&self, bucket: u64) -> Option<u64> {
        (bucket - self.cursor < self.heads.len() as u64).then_some(bucket)
    }

    /// Moves events that are now less than one rotation ahead into the wheel.
    fn pull_far(&mut self) {
        let rotation = self.heads.len() as u64;
        while let Some(Reverse(event)) = self.far.peek() {
            let bucket = event.time >> self.shift;
            if bucket - self.cursor >= rotation {
                break;
            }
            let event = *event;
            let (time, source) = (event.time, event.source());
            self.far.pop();
            // A source that was moved away and back to the same time has two entries; one stays.
            let doubled = self.far.peek().is_some_and(|Reverse(next)| *next == event);
            if doubled || self.due[source as usize] != time {
                continue;
            }
            if bucket == self.cursor {
                self.insert_current(time, EventSource(source));
            } else {
                self.link(bucket, source);
            }
        }
    }

    #[inline]
    fn empty_bucket(&mut self, bucket: u64) {
        let index = bucket as usize & (self.heads.len() - 1);
        let mut source = std::mem::replace(&mut self.heads[index], NONE);
        self.occupied[index / 64] &= !(1 << (index % 64));
        while source != NONE {
            let event = self.pending(self.due[source as usize], source);
            self.current.push(event);
            source = self.next[source as usize];
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
}

impl Pending {
    #[inline]
    const fn source(self) -> u32 {
        self.tie as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.pop(Time::MAX)).map(|(time, source)| (time.as_ps(), source.0)).collect()
    }

    /// Compares with a simple list: random insertions, moves and pops in windows give the same order.
    #[test]
    fn order_is_that_of_a_sorted_list() {
        for seed in 0..20 {
            let mut queue = EventQueue::new(seed, 300, Span::from_us(2));
            let mut plain: Vec<u64> = vec![NEVER; 300];
            let (mut now, mut random) = (0_u64, mix(seed));
            let mut draw = |below: u64| {
                random = mix(random);
                random % below
            };
            for _ in 0..20_000 {
                let source = draw(300) as u32;
                let ahead = match draw(10) {
                    0 => draw(5_000_000_000),
                    1 => draw(50),
                    _ => draw(3_000_000),
                };
                // Far times are coarse, so that a source is often moved away and back to the same time.
                let time = if ahead > 1_000_000_000 {
                    (now + ahead).next_multiple_of(1_000_000_000)
                } else {
                    now + ahead
                };
                if plain[source as usize] == NEVER {
                    queue.arm(EventSource(source), Time::from_ps(time));
                    plain[source as usize] = time;
                } else {
                    queue.arm_by(EventSource(source), Time::from_ps(time));
                    plain[source as usize] = plain[source as usize].min(time);
                }
                let end = now + draw(40_000);
                while let Some((time, source)) = queue.pop(Time::from_ps(end)) {
                    let first = (0..300)
                        .filter(|s| plain[*s] != NEVER)
                        .min_by_key(|s| queue.pending(plain[*s], *s as u32));
                    assert_eq!(Some(source.0 as usize), first);
                    assert_eq!(plain[source.0 as usize], time.as_ps());
                    plain[source.0 as usize] = NEVER;
                }
                assert!(plain.iter().all(|time| *time >= end));
                now = end;
            }
            assert_eq!(
                queue.next_time().map(Time::as_ps),
                plain.iter().copied().min().filter(|time| *time != NEVER)
            );
            let left = plain.iter().filter(|time| **time != NEVER).count();
            assert_eq!(drain(&mut queue).len(), left);
        }
    }

    #[test]
    fn ties_are_fair_and_do_not_depend_on_insertion() {
        let mut first = 0;
        for round in 0..1_000_u64 {
            let time = Time::from_ns(round);
            let (mut ab, mut ba) =
                (EventQueue::new(1, 2, Span::from_us(1)), EventQueue::new(1, 2, Span::from_us(1)));
            ab.arm(EventSource(0), time);
            ab.arm(EventSource(1), time);
            ba.arm(EventSource(1), time);
            ba.arm(EventSource(0), time);
            let order = drain(&mut ab);
            assert_eq!(order, drain(&mut ba));
            first += u32::from(order[0].1 == 0);
        }
        assert!((400..600).contains(&first), "source 0 came first in {first} of 1000 ties");
    }

    #[test]
    fn an_empty_pop_still_allows_earlier_events() {
        let mut queue = EventQueue::new(1, 2, Span::from_us(1));
        queue.arm(EventSource(0), Time::from_ns(900));
        assert_eq!(queue.pop(Time::from_ns(10)), None);
        queue.arm(EventSource(1), Time::from_ns(20));
        assert_eq!(drain(&mut queue), [(20_000, 1), (900_000, 0)]);
    }
}
