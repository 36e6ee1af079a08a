//! The event queue: a timing wheel for the near future and a heap for the far future.
//!
//! An event has a *source* (a lane whose oldest frame arrives, a port that becomes free, a timer of a host),
//! and a source has at most one pending event. So an event is a time and a source, and a bucket is a linked
//! list in an array indexed by source. The queue allocates nothing per event: frames wait in the lanes.
//!
//! A source belongs to a *node*, the host or switch that handles its events. No event of one node affects
//! another node in less than the shortest delay between nodes. In a *window* of that length the order between
//! nodes is free, so the queue returns all events of one node, then those of the next: what a node needs stays
//! in the cache, and the next node's memory can be prefetched.
//!
//! The events of a node leave in the order (time, mix(seed, time, source), source). No two pending events
//! share a source, so the order is total and does not depend on the order of insertion. Of two sources that
//! tie repeatedly, neither is always first, unless ties are fixed: then the order is (time, mix(seed, source), source).

mod jump;

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use wiremend_units::{Span, Time, mix};

/// The source of an event. The queue gives it no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventSource(pub(crate) u32);

/// The node of each source, and the shortest delay between two nodes.
pub(crate) struct NodeWindows {
    /// By source. Nodes are numbered from 0.
    pub(crate) nodes: Vec<u32>,
    /// `None`: all events are returned in order of time.
    pub(crate) window: Option<Span>,
    /// Whether two sources always tie in the same order.
    pub(crate) has_fixed_ties: bool,
}

pub(crate) struct EventQueue {
    seed: u64,
    /// The bits of the time on which the order of simultaneous events depends: all or none.
    tie_mask: u64,
    /// A bucket is 2^shift picoseconds wide.
    shift: u32,
    /// First source of each bucket's list.
    heads: Vec<u32>,
    /// One bit per bucket that is not empty.
    occupied: Vec<u64>,
    /// By source.
    slots: Vec<Slot>,
    is_by_node: bool,
    /// Length of a window, in picoseconds.
    window: u64,
    /// Start of the current window: every event before it has been handled.
    start: u64,
    /// End of the current window. Events from here on are in the wheel or in the heap.
    limit: u64,
    /// The nodes with events in the current window, in order of memory. Those before `turn` have had their turn;
    /// the last of these has it.
    turns: Vec<u32>,
    turn: usize,
    /// By node: the first source in the list of its events in the current window, if its turn is still to come.
    first_by_node: Vec<u32>,
    /// The events of the node that has its turn, in order. Those before `next` are handled. May contain stale
    /// entries; see [`EventQueue::pop`].
    current: Vec<Pending>,
    next: usize,
    has_new_node: bool,
    /// Number of the bucket with the time `limit`, counted from time zero.
    cursor: u64,
    /// Events at least one rotation of the wheel ahead. May contain stale entries.
    far: BinaryHeap<Reverse<Pending>>,
}

#[derive(Clone)]
struct Slot {
    /// When the source is due, or [`NEVER`].
    due: u64,
    /// The next source in the same bucket or of the same node.
    next: u32,
    node: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    time: u64,
    source: u32,
}

const NEVER: u64 = u64::MAX;
const NONE: u32 = u32::MAX;
const BUCKETS_MIN: usize = 1 << 10;
const BUCKETS_MAX: usize = 1 << 16;

impl EventQueue {
    /// Returns a queue for all sources of `nodes`. Most events should lie at most `horizon` ahead.
    pub(crate) fn new(seed: u64, nodes: NodeWindows, horizon: Span) -> Self {
        let NodeWindows { nodes, window, has_fixed_ties } = nodes;
        let sources = nodes.len();
        assert!(sources < NONE as usize, "a source fits in 32 bits");
        let buckets = (sources * 2).next_power_of_two().clamp(BUCKETS_MIN, BUCKETS_MAX);
        // A window must be shorter than one rotation of the wheel.
        let rotation = horizon.max(window.unwrap_or(Span::ZERO) * 2).as_ps();
        let width = (rotation / buckets as u64).max(1).next_power_of_two();
        let node_count = nodes.iter().max().map_or(0, |last| *last as usize + 1);
        let is_by_node = window.is_some();
        let node = |node: u32| if is_by_node { node } else { 0 };
        Self {
            seed: mix(seed),
            tie_mask: if has_fixed_ties { 0 } else { u64::MAX },
            shift: width.trailing_zeros(),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets / 64],
            slots: nodes.into_iter().map(|n| Slot { due: NEVER, next: NONE, node: node(n) }).collect(),
            is_by_node,
            window: window.map_or(width, Span::as_ps),
            start: 0,
            limit: 0,
            turns: Vec::new(),
            turn: 0,
            first_by_node: vec![NONE; if is_by_node { node_count } else { 1 }],
            current: Vec::new(),
            next: 0,
            has_new_node: false,
            cursor: 0,
            far: BinaryHeap::new(),
        }
    }

    /// Makes `source` due at `time`. It must not be pending. Within the current window it must belong to the
    /// node whose event is being handled.
    #[inline]
    pub(crate) fn arm(&mut self, source: EventSource, time: Time) {
        let time = time.as_ps();
        let slot = &mut self.slots[source.0 as usize];
        debug_assert!(slot.due == NEVER, "one pending event per source");
        slot.due = time;
        if time < self.limit {
            debug_assert!(
                self.turns.get(self.turn.wrapping_sub(1)).is_some_and(|node| *node == slot.node),
                "an event affects other nodes after the window"
            );
            self.insert_current(Pending { time, source: source.0 });
            return;
        }
        let bucket = time >> self.shift;
        if bucket - self.cursor < self.heads.len() as u64 {
            self.link(bucket, source.0);
        } else {
            self.far.push(Reverse(Pending { time, source: source.0 }));
        }
    }

    /// Makes `source` due at `time`, unless it is due earlier.
    #[inline]
    pub(crate) fn arm_by(&mut self, source: EventSource, time: Time) {
        let pending = self.slots[source.0 as usize].due;
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
        let pending = self.slots[source.0 as usize].due;
        if pending == time.as_ps() {
            return;
        }
        if pending != NEVER {
            self.disarm(source, pending);
        }
        self.arm(source, time);
    }

    /// Removes and returns the next event before `end`: of the node that has its turn, or of the next node, or
    /// of the next window.
    #[inline]
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, EventSource)> {
        loop {
            let Some(&Pending { time, source }) = self.current.get(self.next) else {
                if self.turn_to_next_node() || self.advance(end.as_ps()) {
                    continue;
                }
                return None;
            };
            self.next += 1;
            let due = &mut self.slots[source as usize].due;
            if *due == time {
                *due = NEVER;
                return Some((Time::from_ps(time), EventSource(source)));
            }
        }
    }

    /// Returns the time of the next event, between two calls of [`EventQueue::pop`] with different ends. Does
    /// not advance: earlier events may still be inserted.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        debug_assert!(self.next == self.current.len() && self.turn == self.turns.len());
        if let Some(bucket) = self.next_occupied(self.cursor) {
            let mut source = self.heads[self.index(bucket)];
            let mut first = NEVER;
            while source != NONE {
                let slot = &self.slots[source as usize];
                first = first.min(slot.due);
                source = slot.next;
            }
            return Some(Time::from_ps(first));
        }
        self.first_far().map(|event| Time::from_ps(event.time))
    }

    /// Returns a time before which all events of all nodes have been handled, while an event at `now` is
    /// handled.
    #[inline]
    pub(crate) fn handled_until(&self, now: Time) -> Time {
        if self.is_by_node { Time::from_ps(self.start) } else { now }
    }

    /// Returns whether [`EventQueue::pop`] has turned to another node since the last call.
    #[inline]
    pub(crate) fn take_new_node(&mut self) -> bool {
        std::mem::take(&mut self.has_new_node)
    }

    /// Returns the sources with events of the node whose turn is `ahead` turns away, in no particular order.
    #[inline]
    pub(crate) fn upcoming(&self, ahead: usize) -> impl Iterator<Item = EventSource> {
        let node = self.turns.get(self.turn + ahead - 1);
        let mut source = node.map_or(NONE, |node| self.first_by_node[*node as usize]);
        std::iter::from_fn(move || {
            let found = (source != NONE).then_some(EventSource(source))?;
            source = self.slots[source as usize].next;
            Some(found)
        })
    }

    /// Compares two events of a node.
    #[inline]
    fn order(&self, a: Pending, b: Pending) -> Ordering {
        let tie = |event: Pending| {
            let fair = mix(self.seed ^ (event.time & self.tie_mask) ^ (u64::from(event.source) << 40));
            fair & !u64::from(u32::MAX) | u64::from(event.source)
        };
        a.time.cmp(&b.time).then_with(|| tie(a).cmp(&tie(b)))
    }

    #[inline]
    const fn index(&self, bucket: u64) -> usize {
        bucket as usize & (self.heads.len() - 1)
    }

    #[inline]
    fn link(&mut self, bucket: u64, source: u32) {
        let index = self.index(bucket);
        self.slots[source as usize].next = self.heads[index];
        self.heads[index] = source;
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    #[inline]
    fn insert_current(&mut self, event: Pending) {
        let mut place = self.current.len();
        while place > self.next && self.order(event, self.current[place - 1]).is_lt() {
            place -= 1;
        }
        self.current.insert(place, event);
    }

    /// Removes a pending event from its list. In `current` and `far` it stays as a stale entry: its time no
    /// longer matches that of its source, so `pop` skips it.
    #[cold]
    fn disarm(&mut self, source: EventSource, time: u64) {
        let slot = &mut self.slots[source.0 as usize];
        slot.due = NEVER;
        if time < self.limit {
            let first = &mut self.first_by_node[slot.node as usize];
            if *first != NONE {
                unlink(&mut self.slots, first, source.0);
            }
            return;
        }
        let bucket = time >> self.shift;
        if bucket - self.cursor >= self.heads.len() as u64 {
            return;
        }
        let index = self.index(bucket);
        unlink(&mut self.slots, &mut self.heads[index], source.0);
        if self.heads[index] == NONE {
            self.occupied[index / 64] &= !(1 << (index % 64));
        }
    }

    /// Collects the events of the next node of the window. Returns false if there is none.
    #[inline]
    fn turn_to_next_node(&mut self) -> bool {
        let Some(&node) = self.turns.get(self.turn) else { return false };
        self.turn += 1;
        self.has_new_node = true;
        self.current.clear();
        self.next = 0;
        let mut source = std::mem::replace(&mut self.first_by_node[node as usize], NONE);
        while source != NONE {
            let slot = &self.slots[source as usize];
            self.current.push(Pending { time: slot.due, source });
            source = slot.next;
        }
        if self.current.len() > 1 {
            let mut current = std::mem::take(&mut self.current);
            current.sort_unstable_by(|a, b| self.order(*a, *b));
            self.current = current;
        }
        true
    }

    /// Begins the next window that starts before `end` and has an event. Returns false if there is none.
    fn advance(&mut self, end: u64) -> bool {
        let first = match self.next_occupied(self.cursor) {
            Some(bucket) => bucket,
            None => match self.first_far() {
                Some(event) => event.time >> self.shift,
                None => return false,
            },
        };
        let start = (first << self.shift).max(self.limit);
        if start >= end {
            return false;
        }
        (self.start, self.limit) = (start, start.saturating_add(self.window).min(end));
        self.turns.clear();
        self.turn = 0;
        self.cursor = first;
        self.pull_far();
        let last = (self.limit - 1) >> self.shift;
        let mut next = Some(first);
        while let Some(bucket) = next.filter(|bucket| *bucket <= last) {
            self.collect(bucket);
            next = self.next_occupied(bucket + 1);
        }
        self.turns.sort_unstable();
        self.cursor = self.limit >> self.shift;
        self.pull_far();
        true
    }

    /// Moves the events of a bucket into the lists of their nodes, except those after the window.
    #[inline]
    fn collect(&mut self, bucket: u64) {
        let index = self.index(bucket);
        let mut source = std::mem::replace(&mut self.heads[index], NONE);
        self.occupied[index / 64] &= !(1 << (index % 64));
        let is_partial = (bucket + 1) << self.shift > self.limit;
        while source != NONE {
            let slot = &mut self.slots[source as usize];
            let next = slot.next;
            if is_partial && slot.due >= self.limit {
                self.link(bucket, source);
            } else {
                let first = &mut self.first_by_node[slot.node as usize];
                if *first == NONE {
                    self.turns.push(slot.node);
                }
                slot.next = std::mem::replace(first, source);
            }
            source = next;
        }
    }

    /// Returns the number of the first occupied bucket from `bucket` on, within one rotation from `cursor`.
    #[inline]
    fn next_occupied(&self, bucket: u64) -> Option<u64> {
        let mask = self.heads.len() - 1;
        let start = bucket as usize & mask;
        let words = self.occupied.len();
        let first = self.occupied[start / 64] >> (start % 64);
        if first != 0 {
            return self.within_rotation(bucket + u64::from(first.trailing_zeros()));
        }
        for step in 1..=words {
            let word = (start / 64 + step) & (words - 1);
            if self.occupied[word] != 0 {
                let index = word * 64 + self.occupied[word].trailing_zeros() as usize;
                return self.within_rotation(bucket + (index.wrapping_sub(start) & mask) as u64);
            }
        }
        None
    }

    /// The wheel is circular: a bucket that seems more than one rotation ahead is in the past.
    #[inline]
    fn within_rotation(&self, bucket: u64) -> Option<u64> {
        (bucket - self.cursor < self.heads.len() as u64).then_some(bucket)
    }

    /// Returns the first event of the heap, after removing stale entries.
    fn first_far(&mut self) -> Option<Pending> {
        while let Some(&Reverse(event)) = self.far.peek() {
            if self.slots[event.source as usize].due == event.time {
                return Some(event);
            }
            self.far.pop();
        }
        None
    }

    /// Moves events that are now less than one rotation ahead into the wheel.
    fn pull_far(&mut self) {
        let rotation = self.heads.len() as u64;
        while let Some(&Reverse(event)) = self.far.peek() {
            let bucket = event.time >> self.shift;
            if bucket - self.cursor >= rotation {
                break;
            }
            self.far.pop();
            // A source that was moved away and back to the same time has two entries; one stays.
            let is_doubled = self.far.peek().is_some_and(|Reverse(next)| *next == event);
            if !is_doubled && self.slots[event.source as usize].due == event.time {
                self.link(bucket, event.source);
            }
        }
    }
}

/// Removes a source from the list that begins with `first`.
fn unlink(slots: &mut [Slot], first: &mut u32, source: u32) {
    let after = slots[source as usize].next;
    if *first == source {
        *first = after;
        return;
    }
    let mut before = *first;
    while slots[before as usize].next != source {
        before = slots[before as usize].next;
    }
    slots[before as usize].next = after;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const SOURCES: u32 = 300;
    const NODES: u32 = 30;

    fn queue(seed: u64, sources: u32, window: Option<u64>) -> EventQueue {
        let nodes = (0..sources).map(|source| source % NODES).collect();
        EventQueue::new(
            seed,
            NodeWindows { nodes, window: window.map(Span::from_ps), has_fixed_ties: false },
            Span::from_us(2),
        )
    }

    fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.pop(Time::MAX)).map(|(time, source)| (time.as_ps(), source.0)).collect()
    }

    /// A network of nodes that send each other messages. A source is due at the first of its messages.
    struct Nodes {
        queue: EventQueue,
        messages: Vec<BTreeSet<u64>>,
        left: u32,
        /// Handled events by node, in order.
        log: Vec<Vec<(u64, u32)>>,
    }

    impl Nodes {
        fn new(seed: u64, window: Option<u64>) -> Self {
            let mut nodes = Self {
                queue: queue(seed, SOURCES, window),
                messages: vec![BTreeSet::new(); SOURCES as usize],
                left: 20_000,
                log: vec![Vec::new(); NODES as usize],
            };
            (0..SOURCES).for_each(|source| nodes.post(source, mix(seed ^ u64::from(source)) % 1_000_000));
            nodes
        }

        fn post(&mut self, source: u32, time: u64) {
            self.messages[source as usize].insert(time);
            let first = self.messages[source as usize].first().expect("just inserted");
            self.queue.rearm(EventSource(source), Time::from_ps(*first));
        }

        /// Handles the events before `end`. What an event causes depends on its time, its source and the number of
        /// events of its node before it.
        fn run(&mut self, end: u64, delay: u64) {
            while let Some((time, EventSource(source))) = self.queue.pop(Time::from_ps(end)) {
                let time = time.as_ps();
                let node = source % NODES;
                self.log[node as usize].push((time, source));
                self.messages[source as usize].remove(&time);
                if let Some(next) = self.messages[source as usize].first() {
                    self.queue.arm(EventSource(source), Time::from_ps(*next));
                }
                let mut random =
                    mix(time ^ mix(u64::from(source) << 32 | self.log[node as usize].len() as u64));
                let mut draw = |below: u64| {
                    random = mix(random);
                    random % below
                };
                for _ in 0..draw(3) {
                    let to = draw(u64::from(SOURCES)) as u32;
                    let least = if to % NODES == node { 0 } else { delay };
                    // Coarse times tie often; a few are beyond the wheel.
                    let ahead = match draw(20) {
                        0 => 1_000_000_000 * draw(5),
                        1..5 => 10_000 * draw(10),
                        _ => draw(3_000_000),
                    };
                    if self.left > 0 {
                        self.post(to, time + least.max(ahead));
                    }
                    self.left = self.left.saturating_sub(1);
                }
            }
        }
    }

    /// Windows change the order between nodes only: each node handles the same events in the same order.
    #[test]
    fn nodes_handle_the_same_events_in_windows_of_any_length() {
        for seed in 0..20 {
            let mut in_order = Nodes::new(seed, None);
            // Budgets are spent in the order of events, so they would differ.
            in_order.left = u32::MAX;
            let delay = [2_000, 90_000, 1_000_000][seed as usize % 3];
            in_order.run(4_000_000, delay);
            for window in [1, delay / 3, delay] {
                let mut by_node = Nodes::new(seed, Some(window));
                by_node.left = u32::MAX;
                for end in (0..=4_000_000).step_by(370_000).chain([4_000_000]) {
                    by_node.run(end, delay);
                }
                assert_eq!(by_node.log, in_order.log, "seed {seed}, window {window}");
                assert_eq!(by_node.queue.next_time(), in_order.queue.next_time());
            }
        }
    }

    #[test]
    fn order_is_that_of_a_sorted_list() {
        for seed in 0..20 {
            let mut nodes = Nodes::new(seed, None);
            let mut handled: Vec<(u64, u32)> = Vec::new();
            let mut end = 0;
            while nodes.queue.next_time().is_some() {
                end += 40_000_000;
                nodes.run(end, 0);
                let mut window: Vec<_> = nodes.log.iter_mut().flat_map(std::mem::take).collect();
                window.sort_unstable();
                assert!(window.iter().all(|(time, _)| *time < end));
                assert!(
                    handled.last().is_none_or(|last| window.first().is_none_or(|first| last.0 <= first.0))
                );
                handled.extend(window);
            }
            assert!(handled.len() > 10_000, "{} events", handled.len());
            assert!(nodes.messages.iter().all(BTreeSet::is_empty));
        }
    }

    #[test]
    fn ties_are_fair_and_do_not_depend_on_insertion() {
        let mut first = 0;
        for round in 0..1_000_u64 {
            let time = Time::from_ns(round);
            let (mut ab, mut ba) = (queue(1, 2, None), queue(1, 2, None));
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
        for window in [None, Some(100_000)] {
            let mut queue = queue(1, 2, window);
            queue.arm(EventSource(0), Time::from_ns(900));
            assert_eq!(queue.pop(Time::from_ns(10)), None);
            queue.arm(EventSource(1), Time::from_ns(20));
            assert_eq!(drain(&mut queue), [(20_000, 1), (900_000, 0)]);
        }
    }
}
