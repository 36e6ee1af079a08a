//! What an event may know of its window, for state that is brought up to date when an event looks at it, and for
//! memory that the next nodes need.

use wiremend_units::{Span, Time};

use super::queue::{EventQueue, EventSource, Pending};
use crate::memory::prefetch;

impl EventQueue {
    /// Returns whether the events of a window are handled node by node.
    pub(crate) fn is_by_node(&self) -> bool {
        self.is_by_node
    }

    /// Returns the last instant of the current window; zero before the first one.
    #[inline]
    pub(crate) fn window_end(&self) -> Time {
        Time::from_ps(self.limit.saturating_sub(1))
    }

    /// Returns whether the event being handled is that of `source`.
    #[inline]
    pub(crate) fn is_current(&self, source: EventSource) -> bool {
        self.current[self.next - 1].source() == source.0
    }

    /// Returns the time of the event being handled; zero before the first one.
    #[inline]
    pub(crate) fn now(&self) -> Time {
        self.next.checked_sub(1).map_or(Time::ZERO, |current| Time::from_ps(self.current[current].time))
    }

    /// Returns whether an event of `source` at `time` would have come before the event being handled.
    #[inline]
    pub(crate) fn is_before_current(&self, source: EventSource, time: Time) -> bool {
        self.order.is_before(pending((time, source)), self.current[self.next - 1])
    }

    /// Returns whether an event comes before another one of the same node.
    #[inline]
    pub(crate) fn is_before(&self, event: (Time, EventSource), other: (Time, EventSource)) -> bool {
        self.order.is_before(pending(event), pending(other))
    }

    /// Returns the length of a window.
    pub(crate) fn window(&self) -> Span {
        Span::from_ps(self.window)
    }

    /// Returns the sources with events of the node whose turn is `ahead` turns away, in no particular order.
    #[inline]
    pub(crate) fn upcoming(&self, ahead: usize) -> impl Iterator<Item = EventSource> {
        let (first, node) = (self.turn + ahead - 2, self.turn + ahead - 1);
        let events = match (self.turns.get(first), self.turns.get(node)) {
            (Some(before), Some(turn)) => &self.events[before.end as usize..turn.end as usize],
            _ => &[],
        };
        events.iter().map(|event| EventSource(event.source()))
    }

    /// Returns the node whose turn is `ahead` turns away, and the number of its events.
    #[inline]
    pub(crate) fn upcoming_node(&self, ahead: usize) -> Option<(u32, u32)> {
        let (before, turn) = (self.turns.get(self.turn + ahead - 2)?, self.turns.get(self.turn + ahead - 1)?);
        Some((turn.node, turn.end - before.end))
    }

    /// Returns the node whose turn is `ahead` turns away; 0: the node that has its turn.
    #[inline]
    pub(crate) fn node_of_turn(&self, ahead: usize) -> Option<u32> {
        self.turns.get(self.turn + ahead - 1).map(|turn| turn.node)
    }

    /// Prefetches what the queue needs to return an event of a source.
    #[inline]
    pub(crate) fn prefetch(&self, source: EventSource) {
        prefetch(&self.slots[source.0 as usize]);
    }
}

/// Returns an event for comparisons, which do not look at its node.
#[inline]
fn pending((time, source): (Time, EventSource)) -> Pending {
    Pending::new(time.as_ps(), source.0, 0)
}
