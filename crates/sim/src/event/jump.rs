//! What skipping of time asks of the queue between two windows, when no event is being handled.

use std::cmp::Reverse;

use wiremend_units::{Span, Time};

use super::queue::{EventQueue, EventSource, NEVER};

impl EventQueue {
    /// Returns the sources that are due at the time of the next event, wherever the queue keeps them: how far ahead
    /// they may be differs between partitions.
    pub(crate) fn next_sources(&mut self) -> Vec<EventSource> {
        let Some(time) = self.next_time().map(Time::as_ps) else { return Vec::new() };
        let bucket = time >> self.shift;
        let is_near = bucket - self.cursor < self.buckets.len() as u64;
        let near = is_near.then(|| &self.buckets[self.index(bucket)]).into_iter().flatten();
        let far = self.far.iter().map(|Reverse(event)| event);
        let due = near.chain(far).filter(|event| event.time == time && self.is_due(event));
        let mut sources: Vec<u32> = due.map(|event| event.source()).collect();
        // An event that was moved away and back has two entries.
        sources.sort_unstable();
        sources.dedup();
        sources.into_iter().map(EventSource).collect()
    }

    /// Returns when a source is due, if it is pending.
    pub(crate) fn due(&self, source: EventSource) -> Option<Time> {
        let due = self.slots[source.0 as usize].due;
        (due != NEVER).then(|| Time::from_ps(due))
    }

    /// Moves to a later time: events of all sources before `first_fixed` are `by` later, those of the others stay.
    /// No event is being handled.
    pub(crate) fn jump(&mut self, now: Time, by: Span, first_fixed: EventSource) {
        let pending: Vec<_> = (0..self.slots.len() as u32)
            .filter_map(|source| self.due(EventSource(source)).map(|due| (EventSource(source), due)))
            .collect();
        self.buckets.iter_mut().for_each(Vec::clear);
        self.occupied.fill(0);
        self.turns.clear();
        self.current.clear();
        self.far.clear();
        (self.turn, self.next) = (0, 0);
        (self.start, self.limit) = (now.as_ps(), now.as_ps());
        self.cursor = self.limit >> self.shift;
        for (source, due) in pending {
            self.slots[source.0 as usize].due = NEVER;
            self.arm(source, if source.0 < first_fixed.0 { due + by } else { due.max(now) });
        }
    }

    /// Returns whether two sources always tie in the same order.
    pub(crate) const fn has_fixed_ties(&self) -> bool {
        self.order.has_fixed_ties()
    }
}
