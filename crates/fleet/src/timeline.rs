//! The state of the whole fabric over time, from changes of its parts.
//!
//! Parts are simulated one after the other, each for a span of time. Every change has a cause, which decides
//! the order of changes at the same time: returns from repair in the order in which the links left, then
//! corruption events in the order of the trace. The order does not depend on the parts.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use wiremend_fabric::tiers::Tiers;
use wiremend_units::LinkId;

use crate::metrics::{Meter, Shares, State};
use crate::min_tree::MinTree;
use crate::penalty::Penalty;
use crate::pipe_counts::PipeCounts;
use crate::pod_capacity::ONE;
use crate::trace_time::{TimeWindow, TraceTime};

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
#[derive(Debug)]
struct Change {
    at: TraceTime,
    cause: Cause,
    paths: i64,
    least_paths: u64,
    disabled: u32,
    active: u32,
}

/// The same under one kind of protection.
#[derive(Debug)]
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
    protected: Vec<(LinkId, bool)>,
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
        });
    }

    /// Adds what has changed under the next kind of protection.
    pub(crate) fn add_view(&mut self, change: impl FnOnce(&mut Vec<(LinkId, bool)>) -> ViewChange) {
        self.views.push(change(&mut self.protected));
    }

    /// Order of a change that was not merged among those of other parts.
    fn order(&self, number: usize) -> (TraceTime, bool, u64) {
        let Change { at, cause, .. } = self.changes[number];
        match cause {
            Cause::Return { sent_by } => (at, false, self.ranks[sent_by as usize]),
            Cause::Event(event) => (at, true, u64::from(event)),
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
            pipes: PipeCounts::new(tiers),
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
    pub(crate) fn merge(&mut self, logs: &mut [PartLog]) {
        let mut next = vec![0; logs.len()];
        let mut protected = vec![0; logs.len()];
        let first = |(part, log): (usize, &PartLog)| (!log.changes.is_empty()).then(|| (log.order(0), part));
        let mut heads: BinaryHeap<_> = logs.iter().enumerate().filter_map(first).map(Reverse).collect();
        while let Some(mut head) = heads.peek_mut() {
            let part = head.0.1;
            let log = &mut logs[part];
            self.apply(part, log, next[part], &mut protected[part]);
            log.ranks.push(self.merged);
            self.merged += 1;
            next[part] += 1;
            if next[part] < log.changes.len() {
                head.0.0 = log.order(next[part]);
            } else {
                PeekMut::pop(head);
            }
        }
        for log in logs {
            log.changes.clear();
            log.views.clear();
            log.protected.clear();
        }
    }

    fn apply(&mut self, part: usize, log: &PartLog, number: usize, protected: &mut usize) {
        let change = &log.changes[number];
        self.paths = self.paths.wrapping_add_signed(i128::from(change.paths));
        self.least_paths.set(part, change.least_paths);
        self.disabled = self.disabled.wrapping_add(change.disabled);
        self.active = self.active.wrapping_add(change.active);
        let count = self.views.len();
        for (view, of_view) in self.views.iter_mut().zip(&log.views[number * count..]) {
            view.penalty = view.penalty.wrapping_add(of_view.penalty);
            view.capacity = view.capacity.wrapping_add_signed(i128::from(of_view.capacity));
            view.least_capacity.set(part, of_view.least_capacity);
            let upto = *protected + of_view.protected as usize;
            for (link, is_protected) in &log.protected[*protected..upto] {
                view.pipes.change(*link, *is_protected);
            }
            *protected = upto;
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
            view.meter.set_state(change.at, State { penalty, shares });
        }
    }
}
