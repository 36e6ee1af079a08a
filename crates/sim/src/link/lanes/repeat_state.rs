//! The state of the lanes of a partition, on which the repetition of a pattern depends.

use wiremend_proto::engine::{StateKind, StateVisitor};
use wiremend_units::{LaneId, Time};

use super::Lanes;
use crate::event::EventSource;
use crate::frame::{FrameId, FrameStore};
use crate::link::Outbox;

impl Lanes {
    /// Visits the state of all lanes and of the frames on them. Times of events are visited here and written by
    /// [`EventQueue::jump`](crate::event::EventQueue::jump).
    pub(crate) fn visit_state(&mut self, visitor: &mut impl StateVisitor) {
        visitor.exact(self.draws);
        visitor.length(self.frames.len());
        visitor.exact(self.kept_copies);
        visitor.absent(self.notices.is_empty() && self.feedback.is_none());
        visitor.absent(self.outbox.iter().all(Outbox::is_empty));
        for number in 0..self.ports.len() {
            if visitor.is_over() {
                return;
            }
            self.visit_lane(visitor, LaneId(number as u32));
        }
    }

    fn visit_lane(&mut self, visitor: &mut impl StateVisitor, lane: LaneId) {
        for source in [EventSource(lane.0), self.sources.port_free(lane)] {
            let mut due = self.queue.due(source).unwrap_or(Time::MAX);
            visitor.time(StateKind::Event, &mut due);
        }
        let port = &mut self.ports[lane.index()];
        visitor.time(StateKind::Time, &mut port.busy_until);
        port.clean = visitor.visit(StateKind::Falling, port.clean);
        visitor.exact(self.dropped[lane.index()]);
        let ring = &mut self.rings[lane.index()];
        visitor.counter(&mut ring.frames);
        visitor.counter(&mut ring.bytes);
        visitor.exact(ring.corrupted);
        visitor.length(ring.places().count());
        let Some(first) = ring.first() else { return };
        visit_frame(&mut self.frames, visitor, first);
        for place in ring.places() {
            let (mut at, frame) = self.pool.entry(place);
            visitor.time(StateKind::Event, &mut at);
            self.pool.set_time(place, at);
            visit_frame(&mut self.frames, visitor, frame);
        }
    }

    /// Visits a frame that waits in a queue.
    pub(crate) fn visit_queued(&mut self, visitor: &mut impl StateVisitor, frame: FrameId) {
        visit_frame(&mut self.frames, visitor, frame);
    }

    /// Returns the frames on a lane, in order, each with its arrival time.
    pub(crate) fn on_lane(&self, lane: LaneId) -> impl Iterator<Item = (Time, FrameId)> {
        let ring = &self.rings[lane.index()];
        let due = self.queue.due(EventSource(lane.0));
        let first = due.zip(ring.first());
        first.into_iter().chain(ring.places().map(|place| self.pool.entry(place)))
    }

    /// Returns the frame that arrives next on a lane.
    pub(crate) fn first_on(&self, lane: LaneId) -> Option<FrameId> {
        self.rings[lane.index()].first()
    }
}

fn visit_frame(frames: &mut FrameStore, visitor: &mut impl StateVisitor, id: FrameId) {
    let frame = frames.get_mut(id);
    let src = frame.src;
    frame.visit_state(visitor, Some(src));
}
