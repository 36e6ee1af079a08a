//! The state of a switch port on which the repetition of a pattern depends.

use wiremend_proto::engine::{StateKind, StateVisitor};

use super::Egress;
use crate::link::Lanes;

impl Egress {
    /// Visits the state. Ports with pauses or weighted classes are not supported.
    pub(crate) fn visit_state(&mut self, lanes: &mut Lanes, visitor: &mut impl StateVisitor) {
        self.forget_departed(visitor.now());
        visitor.absent(self.maybe_paused == 0 && self.schedule.strict() == u8::MAX);
        visitor.exact(self.occupied);
        visitor.exact(self.separate_bytes);
        visitor.exact(self.queued_bytes);
        visitor.exact(self.leaving_bytes);
        visitor.length(self.leaving.len());
        for (done, bytes) in &mut self.leaving {
            visitor.time(StateKind::Event, done);
            visitor.exact(*bytes);
        }
        let mut left = self.occupied;
        while left != 0 {
            let queue = &self.queues[left.trailing_zeros() as usize];
            left &= left - 1;
            visitor.length(queue.iter().count());
            for waiting in queue.iter() {
                visitor.exact(waiting.ingress());
                lanes.visit_queued(visitor, waiting.frame());
            }
        }
    }
}
