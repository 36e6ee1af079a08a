//! The event queue: a timing wheel for the near future and a heap for the far future.
//!
//! An event has a *source* (a lane whose oldest frame arrives, a port that becomes free, a timer of a host),
//! and a source has at most one pending event. So an event is a time and a source. It is written to the end of
//! its bucket and read in that order: memory that is read in sequence costs little. An event that was moved
//! leaves a stale entry, whose time differs from that of its source.
//!
//! A source belongs to a *node*, the host or switch that handles its events. No event of one node affects
//! another node in less than the shortest delay between nodes. In a *window* of that length the order between
//! nodes is free, so the queue returns all events of one node, then those of the next: what a node needs stays
//! in the cache, and the next node's memory can be prefetched.
//!
//! The events of a node leave in the order (time, mix(seed, time, source), source). No two pending events
//! share a source, so the order is total and does not depend on the order of insertion. Of two sources that
//! tie repeatedly, neither is always first, unless ties are fixed: then the order is (time, mix(seed, source), source).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wiremend_units::{Span, Time};

use super::order::EventOrder;

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
    pub(super) order: EventOrder,
    /// A bucket is 2^shift picoseconds wide.
    pub(super) shift: u32,
    pub(super) buckets: Vec<Vec<Pending>>,
    /// One bit per bucket that is not empty.
    pub(super) occupied: Vec<u64>,
    /// By source.
    pub(super) slots: Vec<Slot>,
    pub(super) is_by_node: bool,
    /// Length of a window, in picoseconds.
    pub(super) window: u64,
    /// Start of the current window: every event before it has been handled.
    pub(super) start: u64,
    /// End of the current window. Events from here on are in the wheel or in the heap.
    pub(super) limit: u64,
    /// The events of the current window that were pending at its start, by node.
    pub(super) events: Vec<Pending>,
    /// The nodes with such events, in order of memory. Those before `turn` have had their turn; the last of these
    /// has it.
    pub(super) turns: Vec<Turn>,
    pub(super) turn: usize,
    /// By node: the number of its events in the window that begins, then the place of the next one. Otherwise 0.
    places: Vec<u32>,
    /// The events of the node that has its turn, in order. Those before `next` are handled.
    pub(super) current: Vec<Pending>,
    pub(super) next: usize,
    has_new_node: bool,
    /// Number of the bucket with the time `limit`, counted from time zero.
    pub(super) cursor: u64,
    /// Events at least one rotation of the wheel ahead.
    pub(super) far: BinaryHeap<Reverse<Pending>>,
    /// Memory for buckets that get their first entry.
    spare: Vec<Vec<Pending>>,
}

#[derive(Clone)]
pub(super) struct Slot {
    /// When the source is due, or [`NEVER`].
    pub(super) due: u64,
    node: u32,
}

/// The entry of an event. Stale unless its source is due at its time.
///
/// Two words, so that it is moved as it was written: a load of more bytes than one store has written waits until
/// the stores have left the processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pending {
    pub(super) time: u64,
    /// The source in the upper half, its node in the lower.
    origin: u64,
}

/// A node with events in the current window, and where these end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    pub(super) node: u32,
    pub(super) end: u32,
}

pub(super) const NEVER: u64 = u64::MAX;
const BUCKETS_MIN: usize = 1 << 6;
const BUCKETS_MAX: usize = 1 << 16;
/// Buckets of a window, at least. The entries of a bucket that the end of a window divides are read twice.
const BUCKETS_PER_WINDOW: u64 = 8;

impl Pending {
    #[inline]
    pub(super) const fn new(time: u64, source: u32, node: u32) -> Self {
        Self { time, origin: (source as u64) << 32 | node as u64 }
    }

    #[inline]
    pub(super) const fn source(self) -> u32 {
        (self.origin >> 32) as u32
    }

    #[inline]
    pub(super) const fn node(self) -> u32 {
        self.origin as u32
    }
}

impl EventQueue {
    /// Returns a queue for all sources of `nodes`. Most events should lie at most `horizon` ahead.
    pub(crate) fn new(seed: u64, nodes: NodeWindows, horizon: Span) -> Self {
        let NodeWindows { nodes, window, has_fixed_ties } = nodes;
        let sources = nodes.len();
        assert!(sources < u32::MAX as usize, "a source fits in 32 bits");
        // A window must be shorter than one rotation of the wheel.
        let rotation = horizon.max(window.unwrap_or(Span::ZERO) * 2).as_ps();
        let width = match window {
            Some(window) => window.as_ps() / BUCKETS_PER_WINDOW + 1,
            None => rotation / (sources as u64 * 2) + 1,
        };
        let shift = width.ilog2().max(rotation.div_ceil(BUCKETS_MAX as u64).next_power_of_two().ilog2());
        let buckets = ((rotation >> shift) as usize + 1).next_power_of_two().clamp(BUCKETS_MIN, BUCKETS_MAX);
        let node_count = nodes.iter().max().map_or(0, |last| *last as usize + 1);
        let is_by_node = window.is_some();
        let node = |node: u32| if is_by_node { node } else { 0 };
        Self {
            order: EventOrder::new(seed, has_fixed_ties),
            shift,
            buckets: vec![Vec::new(); buckets],
            occupied: vec![0; buckets / 64],
            slots: nodes.into_iter().map(|n| Slot { due: NEVER, node: node(n) }).collect(),
            is_by_node,
            window: window.map_or(1 << shift, Span::as_ps),
            start: 0,
            limit: 0,
            events: Vec::new(),
            turns: Vec::new(),
            turn: 0,
            places: vec![0; if is_by_node { node_count } else { 1 }],
            current: Vec::new(),
            next: 0,
            has_new_node: false,
            cursor: 0,
            far: BinaryHeap::new(),
            spare: Vec::new(),
        }
    }

    /// Makes `source` due at `time`. It must not be pending. Within the current window it must belong to the
    /// node whose event is being handled.
    #[inline]
    pub(crate) fn arm(&mut self, source: EventSource, time: Time) {
        debug_assert!(self.slots[source.0 as usize].due == NEVER, "one pending event per source");
        self.rearm(source, time);
    }

    /// Makes `source` due at `time`, unless it is due earlier.
    #[inline]
    pub(crate) fn arm_by(&mut self, source: EventSource, time: Time) {
        if time.as_ps() < self.slots[source.0 as usize].due {
            self.rearm(source, time);
        }
    }

    /// Makes `source` due at `time`, whenever it was due before.
    #[inline]
    pub(crate) fn rearm(&mut self, source: EventSource, time: Time) {
        let time = time.as_ps();
        let slot = &mut self.slots[source.0 as usize];
        if slot.due == time {
            return;
        }
        slot.due = time;
        let event = Pending::new(time, source.0, slot.node);
        if time < self.limit {
            debug_assert!(
                self.turns.get(self.turn.wrapping_sub(1)).is_some_and(|turn| turn.node == event.node()),
                "an event affects other nodes after the window"
            );
            self.insert_current(event);
            return;
        }
        let bucket = time >> self.shift;
        if bucket - self.cursor < self.buckets.len() as u64 {
            self.append(bucket, event);
        } else {
            self.far.push(Reverse(event));
        }
    }

    /// Removes and returns the next event before `end`: of the node that has its turn, or of the next node, or
    /// of the next window.
    #[inline]
    pub(crate) fn pop(&mut self, end: Time) -> Option<(Time, EventSource)> {
        loop {
            let Some(&event) = self.current.get(self.next) else {
                if self.turn_to_next_node() || self.advance(end.as_ps()) {
                    continue;
                }
                return None;
            };
            self.next += 1;
            let due = &mut self.slots[event.source() as usize].due;
            if *due == event.time {
                *due = NEVER;
                return Some((Time::from_ps(event.time), EventSource(event.source())));
            }
        }
    }

    /// Returns the time of the next event, between two calls of [`EventQueue::pop`] with different ends. Does
    /// not advance: earlier events may still be inserted.
    pub(crate) fn next_time(&mut self) -> Option<Time> {
        debug_assert!(self.next == self.current.len() && self.turn == self.turns.len());
        let mut from = self.cursor;
        while let Some(bucket) = self.next_occupied(from) {
            let events = self.buckets[self.index(bucket)].iter().filter(|event| self.is_due(event));
            if let Some(first) = events.map(|event| event.time).min() {
                return Some(Time::from_ps(first));
            }
            from = bucket + 1;
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

    #[inline]
    pub(super) const fn index(&self, bucket: u64) -> usize {
        bucket as usize & (self.buckets.len() - 1)
    }

    #[inline]
    pub(super) fn is_due(&self, event: &Pending) -> bool {
        self.slots[event.source() as usize].due == event.time
    }

    #[inline]
    fn append(&mut self, bucket: u64, event: Pending) {
        let index = self.index(bucket);
        if self.buckets[index].capacity() == 0 {
            self.buckets[index] = self.spare.pop().unwrap_or_default();
        }
        self.buckets[index].push(event);
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    /// Most events of a node come after those that are pending, so the search begins at the end.
    #[inline]
    fn insert_current(&mut self, event: Pending) {
        self.current.push(event);
        let pending = &mut self.current[self.next..];
        let mut place = pending.len() - 1;
        while let Some(before) = place.checked_sub(1).map(|before| pending[before])
            && self.order.is_before(event, before)
        {
            pending[place] = before;
            place -= 1;
        }
        pending[place] = event;
    }

    /// Collects the events of the next node of the window. Returns false if there is none.
    #[inline]
    fn turn_to_next_node(&mut self) -> bool {
        let Some(turn) = self.turns.get(self.turn) else { return false };
        let first = if self.turn == 0 { 0 } else { self.turns[self.turn - 1].end };
        let events = &self.events[first as usize..turn.end as usize];
        self.turn += 1;
        self.has_new_node = true;
        self.current.clear();
        self.current.extend_from_slice(events);
        self.next = 0;
        if events.len() > 1 {
            let order = self.order;
            self.current.sort_unstable_by(|a, b| order.compare(*a, *b));
        }
        true
    }

    /// Begins the next window that starts before `end` and has an event. Returns false if there is none.
    fn advance(&mut self, end: u64) -> bool {
        let first = match self.next_occupied(self.cursor) {
            Some(bucket) => {
                let times = self.buckets[self.index(bucket)].iter().map(|event| event.time);
                times.min().expect("an occupied bucket has an event")
            }
            None => match self.first_far() {
                Some(event) => event.time,
                None => return false,
            },
        };
        if first >= end {
            return false;
        }
        (self.start, self.limit) = (first, first.saturating_add(self.window).min(end));
        self.cursor = first >> self.shift;
        self.pull_far();
        self.group();
        self.cursor = self.limit >> self.shift;
        self.pull_far();
        true
    }

    /// Sorts the events of the window by node, in the time that it takes to read and write each of them.
    fn group(&mut self) {
        self.turns.clear();
        self.turn = 0;
        let mut next = self.next_of_window(self.cursor);
        while let Some(bucket) = next {
            for event in self.buckets[self.index(bucket)].iter().filter(|event| event.time < self.limit) {
                let count = &mut self.places[event.node() as usize];
                if *count == 0 {
                    self.turns.push(Turn { node: event.node(), end: 0 });
                }
                *count += 1;
            }
            next = self.next_of_window(bucket + 1);
        }
        self.turns.sort_unstable();
        let mut end = 0;
        for turn in &mut self.turns {
            let place = &mut self.places[turn.node as usize];
            end += std::mem::replace(place, end);
            turn.end = end;
        }
        self.events.resize(end as usize, Pending::new(0, 0, 0));
        next = self.next_of_window(self.cursor);
        while let Some(bucket) = next {
            self.distribute(bucket);
            next = self.next_of_window(bucket + 1);
        }
        for turn in &self.turns {
            self.places[turn.node as usize] = 0;
        }
    }

    /// Moves the events of a bucket to those of their nodes, except those after the window.
    fn distribute(&mut self, bucket: u64) {
        let index = self.index(bucket);
        let mut events = std::mem::take(&mut self.buckets[index]);
        for event in events.iter().filter(|event| event.time < self.limit) {
            let place = &mut self.places[event.node() as usize];
            self.events[*place as usize] = *event;
            *place += 1;
        }
        if (bucket + 1) << self.shift > self.limit {
            events.retain(|event| event.time >= self.limit);
        } else {
            events.clear();
        }
        if events.is_empty() {
            self.occupied[index / 64] &= !(1 << (index % 64));
            self.spare.push(events);
        } else {
            self.buckets[index] = events;
        }
    }

    /// Returns the number of the first bucket from `bucket` on with an entry, if the window reaches it.
    #[inline]
    fn next_of_window(&self, bucket: u64) -> Option<u64> {
        self.next_occupied(bucket).filter(|bucket| *bucket <= (self.limit - 1) >> self.shift)
    }

    /// Returns the number of the first occupied bucket from `bucket` on, within one rotation from `cursor`.
    #[inline]
    fn next_occupied(&self, bucket: u64) -> Option<u64> {
        let mask = self.buckets.len() - 1;
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
        (bucket - self.cursor < self.buckets.len() as u64).then_some(bucket)
    }

    /// Returns the first event of the heap, after removing stale entries.
    fn first_far(&mut self) -> Option<Pending> {
        while let Some(&Reverse(event)) = self.far.peek() {
            if self.is_due(&event) {
                return Some(event);
            }
            self.far.pop();
        }
        None
    }

    /// Moves events that are now less than one rotation ahead into the wheel.
    fn pull_far(&mut self) {
        let rotation = self.buckets.len() as u64;
        while let Some(&Reverse(event)) = self.far.peek() {
            let bucket = event.time >> self.shift;
            if bucket - self.cursor >= rotation {
                break;
            }
            self.far.pop();
            if self.is_due(&event) {
                self.append(bucket, event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wiremend_units::mix;

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
