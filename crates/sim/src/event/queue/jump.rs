//! What skipping time needs to know of the event queue, and the jump to a later time.

use wiremend_units::{Span, Time};

use super::{EventQueue, EventSource, NEVER, NONE};

impl EventQueue {
    /// Returns the sources that are due at the time of the next event, in no particular order.
    pub(crate) fn next_sources(&mut self) -> Vec<EventSource> {
        let Some(time) = self.next_time().map(Time::as_ps) else { return Vec::new() };
        let is_due = |source: &u32| self.slots[*source as usize].due == time;
        let bucket = time >> self.shift;
        if bucket - self.cursor >= self.heads.len() as u64 {
            // It is in the heap, which is rare: usually a timer.
            return (0..self.slots.len() as u32).filter(is_due).map(EventSource).collect();
        }
        let first = Some(self.heads[self.index(bucket)]).filter(|source| *source != NONE);
        let next = |source: &u32| Some(self.slots[*source as usize].next).filter(|next| *next != NONE);
        std::iter::successors(first, next).filter(is_due).map(EventSource).collect()
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
        self.heads.fill(NONE);
        self.occupied.fill(0);
        self.first_by_node.fill(NONE);
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
        self.tie_mask == 0
    }

    /// Returns whether the order of events between nodes is free.
    pub(crate) const fn is_by_node(&self) -> bool {
        self.is_by_node
    }
}
