//! What skipping of time asks of the queue between two windows, when no event is being handled.

use wiremend_units::{Span, Time};

use super::queue::{EventQueue, EventSource, NEVER};

impl EventQueue {
    /// Returns the sources that are due at the time of the next event; `None` if they lie far ahead.
    pub(crate) fn next_sources(&mut self) -> Option<impl Iterator<Item = EventSource>> {
        let time = self.next_time()?.as_ps();
        let bucket = time >> self.shift;
        let is_near = bucket - self.cursor < self.buckets.len() as u64;
        let this: &Self = self;
        let events = is_near.then(|| &this.buckets[this.index(bucket)])?.iter();
        let due = events.filter(move |event| event.time == time && this.is_due(event));
        Some(due.map(|event| EventSource(event.source)))
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
