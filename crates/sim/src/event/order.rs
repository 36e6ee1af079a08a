//! The order of the events of a node.

use std::cmp::Ordering;

use wiremend_units::mix;

use super::queue::Pending;

/// Orders the events of a node: by time, then by a hash of seed, time and source, then by source.
#[derive(Clone, Copy)]
pub(super) struct EventOrder {
    seed: u64,
    /// The bits of the time on which the order of simultaneous events depends: all or none.
    tie_mask: u64,
}

impl EventOrder {
    pub(super) fn new(seed: u64, has_fixed_ties: bool) -> Self {
        Self { seed: mix(seed), tie_mask: if has_fixed_ties { 0 } else { u64::MAX } }
    }

    /// Returns whether two sources always tie in the same order.
    pub(super) const fn has_fixed_ties(self) -> bool {
        self.tie_mask == 0
    }

    /// Returns whether an event comes before another one.
    #[inline]
    pub(super) fn is_before(self, event: Pending, other: Pending) -> bool {
        event.time < other.time || event.time == other.time && self.tie(event) < self.tie(other)
    }

    #[inline]
    pub(super) fn compare(self, a: Pending, b: Pending) -> Ordering {
        a.time.cmp(&b.time).then_with(|| self.tie(a).cmp(&self.tie(b)))
    }

    #[inline]
    fn tie(self, event: Pending) -> u64 {
        let fair = mix(self.seed ^ (event.time & self.tie_mask) ^ (u64::from(event.source()) << 40));
        fair & !u64::from(u32::MAX) | u64::from(event.source())
    }
}
