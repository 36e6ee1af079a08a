//! The state of the whole fabric over time, from changes of its parts.
//!
//! Parts are simulated one after the other, each for a span of time. Every change has a cause, which decides
//! the order of changes at the same time: returns from repair in the order in which the links left, then
//! corruption events in the order of the trace. The order does not depend on the parts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use wiremend_fabric::tiers::Tiers;

use crate::metrics::{Meter, Shares, State};
use crate::min_tree::MinTree;
use crate::penalty::Penalty;
use crate::pipe_counts::{Pipe, PipeCounts, Pipes};
use crate::pod_capacity::ONE;
use crate::trace_time::{TimeWindow, TraceSpan, TraceTime};

/// Why the state of a part changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// A link returned that had left with this change of its part.
    Return {
        /// Number of the change in its part.
        sent_by: u32,
    },
    /// This event of the trace.
    Event(u32),
}

/// Sums over the whole fabric, in the order of the simulation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) paths: u128,
    pub(crate) disabled: u32,
    pub(crate) active: u32,
}

/// Differences of sums, and new minimums of the part.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: TraceTime,
    cause: Cause,
    paths: i64,
    least_paths: u64,
    disabled: u32,
    active: u32,
    /// Where its links begin whose protection has started or ended.
    protected: u32,
}

/// The same under one kind of protection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewChange {
    pub(crate) penalty: u128,
    pub(crate) capacity: i64,
    pub(crate) least_capacity: u64,
    /// Number of links whose protection has started or ended.
    pub(crate) protected: u32,
}

/// Changes of one part that are not yet merged.
#[derive(Debug, Default)]
pub(crate) struct PartLog {
    changes: Vec<Change>,
    /// Of each change, by kind of protection.
    views: Vec<ViewChange>,
    /// Pipes of links whose protection has started or ended.
    protected: Vec<([Pipe; 2], bool)>,
    /// Place of each merged change among those of all parts.
    ranks: Vec<u64>,
}

impl PartLog {
    /// Returns the number that the next change of this part will have.
    pub(crate) fn next_number(&self) -> u32 {
        u32::try_from(self.ranks.len() + self.changes.len()).expect("a part has few changes")
    }

    /// Adds a change between these totals. The same under each kind of protection must follow.
    pub(crate) fn add(
        &mut self,
        (at, cause): (TraceTime, Cause),
        [before, after]: [Totals; 2],
        least_paths: u64,
    ) {
        self.changes.push(Change {
            at,
            cause,
            paths: difference(after.paths, before.paths),
            least_paths,
            disabled: after.disabled.wrapping_sub(before.disabled),
            active: after.active.wrapping_sub(before.active),
            protected: self.protected.len() as u32,
        });
    }

    /// Adds what has changed under the next kind of protection.
    pub(crate) fn add_view(&mut self, change: impl FnOnce(&mut Vec<([Pipe; 2], bool)>) -> ViewChange) {
        self.views.push(change(&mut self.protected));
    }
}

impl Cause {
    /// Order of a change of this part among changes of other parts at the same time.
    fn order(self, log: &PartLog) -> (bool, u64) {
        match self {
            Self::Return { sent_by } => (false, log.ranks[sent_by as usize]),
            Self::Event(event) => (true, u64::from(event)),
        }
    }
}

/// Returns the change of a sum of shares by one event, which is small.
pub(crate) fn difference(after: u128, before: u128) -> i64 {
    after.wrapping_sub(before) as i64
}

/// The state of the whole fabric.
pub(crate) struct Timeline {
    tor_count: u128,
    paths: u128,
    /// By part.
    least_paths: MinTree,
    disabled: u32,
    active: u32,
    pub(crate) views: Vec<ViewState>,
    merged: u64,
}

/// The state under one kind of protection.
pub(crate) struct ViewState {
    pod_count: u128,
    penalty: u128,
    capacity: u128,
    /// By part.
    least_capacity: MinTree,
    pipes: PipeCounts,
    pub(crate) meter: Meter,
}

impl Timeline {
    /// Starts with a clean fabric, with this sum of residual loss rates under each kind of protection, and
    /// least paths and capacity of each part: 1, or `u64::MAX` where there is none.
    pub(crate) fn new(
        tiers: &Tiers,
        pipes: &Pipes,
        least_paths: &[u64],
        least_capacity: &[u64],
        penalties: impl Iterator<Item = Penalty>,
        (window, record): (TimeWindow, bool),
    ) -> Self {
        let (tors, pods) = (tiers.tors().len(), tiers.pod_count() as usize);
        let least = |values: &[u64]| values.iter().copied().min().unwrap_or(u64::MAX);
        let shares = Shares {
            least_paths: least(least_paths),
            mean_paths: if tors > 0 { ONE } else { 0 },
            least_capacity: least(least_capacity),
            mean_capacity: if pods > 0 { ONE } else { 0 },
            disabled: 0,
            active: 0,
            most_per_pipe: 0,
        };
        let view = |penalty: Penalty| ViewState {
            pod_count: pods.max(1) as u128,
            penalty: penalty.raw(),
            capacity: u128::from(ONE) * pods as u128,
            least_capacity: MinTree::new(least_capacity),
            pipes: PipeCounts::new(pipes),
            meter: Meter::new(window, State { penalty: penalty.value(), shares }, record),
        };
        Self {
            tor_count: tors.max(1) as u128,
            paths: u128::from(ONE) * tors as u128,
            least_paths: MinTree::new(least_paths),
            disabled: 0,
            active: 0,
            views: penalties.map(view).collect(),
            merged: 0,
        }
    }

    /// Applies the changes of all parts in order, and forgets them. Later ones must come after all of these.
    ///
    /// They are merged in slices of time, whose changes are first copied part by part. So a change costs the same
    /// whatever the number of parts, although their logs do not fit into the cache.
    pub(crate) fn merge(&mut self, logs: &mut [PartLog]) {
        let mut taken = vec![0; logs.len()];
        let mut slice = Slice::default();
        for end in slice_ends(logs) {
            slice.clear();
            for ((log, taken), part) in logs.iter().zip(&mut taken).zip(0..) {
                *taken = slice.add(part, log, *taken, end);
            }
            slice.order.sort_unstable();
            for simultaneous in slice.order.chunk_by(|a, b| a.at == b.at) {
                self.apply_simultaneous(&slice, simultaneous, logs);
            }
        }
        for log in logs {
            log.changes.clear();
            log.views.clear();
            log.protected.clear();
        }
    }

    /// Applies changes at the same time. Those of one part are in their order.
    fn apply_simultaneous(&mut self, slice: &Slice, places: &[Place], logs: &mut [PartLog]) {
        if places.iter().all(|place| place.part == places[0].part) {
            for place in places {
                self.apply(slice, *place, logs);
            }
            return;
        }
        let mut parts: Vec<&[Place]> = places.chunk_by(|a, b| a.part == b.part).collect();
        let order = |logs: &[PartLog], Place { part, number, .. }: Place| {
            (slice.changes[number as usize].cause.order(&logs[part as usize]), part)
        };
        let first = |at: usize| Reverse((order(logs, parts[at][0]), at));
        let mut heads: BinaryHeap<_> = (0..parts.len()).map(first).collect();
        while let Some(mut head) = heads.peek_mut() {
            let at = head.0.1;
            let (first, rest) = parts[at].split_first().expect("a part without changes has left");
            self.apply(slice, *first, logs);
            parts[at] = rest;
            if let Some(next) = rest.first() {
                head.0.0 = order(logs, *next);
            } else {
                PeekMut::pop(head);
            }
        }
    }

    fn apply(&mut self, slice: &Slice, Place { at, part, number }: Place, logs: &mut [PartLog]) {
        let (part, number) = (part as usize, number as usize);
        let change = &slice.changes[number];
        self.paths = self.paths.wrapping_add_signed(i128::from(change.paths));
        self.least_paths.set(part, change.least_paths);
        self.disabled = self.disabled.wrapping_add(change.disabled);
        self.active = self.active.wrapping_add(change.active);
        let count = self.views.len();
        let mut protected = slice.protected[change.protected as usize..].iter();
        for (view, of_view) in self.views.iter_mut().zip(&slice.views[number * count..]) {
            view.penalty = view.penalty.wrapping_add(of_view.penalty);
            view.capacity = view.capacity.wrapping_add_signed(i128::from(of_view.capacity));
            view.least_capacity.set(part, of_view.least_capacity);
            for (pipes, is_protected) in protected.by_ref().take(of_view.protected as usize) {
                view.pipes.change(*pipes, *is_protected);
            }
            let shares = Shares {
                least_paths: self.least_paths.least(),
                mean_paths: (self.paths / self.tor_count) as u64,
                least_capacity: view.least_capacity.least(),
                mean_capacity: (view.capacity / view.pod_count) as u64,
                disabled: self.disabled,
                active: self.active,
                most_per_pipe: view.pipes.most(),
            };
            let penalty = Penalty::from_raw(view.penalty).value();
            view.meter.set_state(at, State { penalty, shares });
        }
        logs[part].ranks.push(self.merged);
        self.merged += 1;
    }
}

/// Changes of all parts in a slice of time.
#[derive(Default)]
struct Slice {
    order: Vec<Place>,
    changes: Vec<Change>,
    views: Vec<ViewChange>,
    protected: Vec<([Pipe; 2], bool)>,
}

/// A change in a slice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    at: TraceTime,
    part: u32,
    number: u32,
}

impl Slice {
    fn clear(&mut self) {
        self.order.clear();
        self.changes.clear();
        self.views.clear();
        self.protected.clear();
    }

    /// Copies the changes of a part before `end` without the first `from`. Returns the number of its changes so far.
    fn add(&mut self, part: u32, log: &PartLog, from: usize, end: Option<TraceTime>) -> usize {
        let rest = &log.changes[from..];
        let count = rest.iter().take_while(|change| end.is_none_or(|end| change.at < end)).count();
        let (upto, first) = (from + count, self.changes.len());
        let protected_from = |number: usize| {
            log.changes.get(number).map_or(log.protected.len(), |next| next.protected as usize)
        };
        let protected = protected_from(from)..protected_from(upto);
        let moved = (self.protected.len() as u32).wrapping_sub(protected.start as u32);
        let views = log.views.len() / log.changes.len().max(1);
        self.order.extend(rest[..count].iter().zip(first as u32..).map(|(change, number)| Place {
            at: change.at,
            part,
            number,
        }));
        self.changes.extend(
            rest[..count]
                .iter()
                .map(|change| Change { protected: change.protected.wrapping_add(moved), ..*change }),
        );
        self.views.extend_from_slice(&log.views[from * views..upto * views]);
        self.protected.extend_from_slice(&log.protected[protected]);
        upto
    }
}

/// Changes that are merged together, about. Tests have few.
const SLICE_CHANGES: usize = if cfg!(test) { 1 << 3 } else { 1 << 11 };

/// Divides the time of all changes into slices; the last one has no end.
fn slice_ends(logs: &[PartLog]) -> impl Iterator<Item = Option<TraceTime>> + use<> {
    let count: usize = logs.iter().map(|log| log.changes.len()).sum();
    let ends = logs.iter().filter_map(|log| Some((log.changes.first()?.at, log.changes.last()?.at)));
    let (first, last) =
        ends.reduce(|all, of_part| (all.0.min(of_part.0), all.1.max(of_part.1))).unwrap_or_default();
    let slices = (count / SLICE_CHANGES + 1) as u64;
    let length = TraceSpan::from_us((last.as_us() - first.as_us()) / slices);
    let inner = (1..slices).scan(first, move |end, _| {
        *end = end.after(length);
        Some(Some(*end))
    });
    inner.chain([None])
}
