//! The state of a requester that sends one packet of a message after the other.

use wiremend_units::Time;

use super::{Requester, State};
use crate::engine::{StateKind, StateVisitor};

impl Requester {
    /// Visits the state. `of` names the sequence of its packets.
    ///
    /// The first and the last packet of a message do not belong to the pattern: they differ from the others. So the
    /// next packet is behind the first one of its message, and repetitions end before the last one is sent, and
    /// before the oldest message is acknowledged. Within these bounds the send queue does not change, and nothing
    /// compares a sequence number with anything but other numbers of the same sequence.
    pub fn visit_state(&mut self, visitor: &mut impl StateVisitor, of: u64) {
        let (oldest, current) = (self.queue.oldest(), self.queue.current());
        visitor.exact(oldest.map_or(u64::MAX, |item| item.first));
        visitor.exact(current.map_or(u64::MAX, |item| item.first));
        visitor.exact(self.queue.end_seq);
        visitor.absent(self.queue.sendable == self.queue.end_seq);
        visitor.exact(self.queue.messages);
        visitor.exact(current.is_some_and(|item| self.flight.next > item.first));
        let before = |end: u64, value: u64| (end - 1).saturating_sub(value);
        let unacknowledged = oldest.map_or(0, |item| before(item.end(), self.flight.una));
        let unsent = current.map_or(0, |item| before(item.end(), self.flight.next));
        // A retransmission has `next < high`, and `high` stays.
        visitor.exact(self.flight.high - self.flight.next);
        visitor.sequence(of, &mut self.flight.next, unsent);
        visitor.sequence(of, &mut self.flight.una, unacknowledged);
        visitor.sequence(of, &mut self.flight.high, u64::MAX);
        visitor.time(StateKind::Deadline, &mut self.deadline);
        visitor.absent(self.dummies.due() == Time::MAX && self.copies_left == 0);
        visitor.exact(self.state_number());
        visitor.exact(self.since_ack_req);
        visitor.exact(self.reads);
        visitor.exact(self.cc_window);
        let [retries, rnr_retries] = [self.retries, self.rnr_retries].map(u64::from);
        let [nak_received, retry_started] = [self.nak_received, self.retry_started].map(u64::from);
        visitor.exact(retries << 16 | rnr_retries << 8 | nak_received << 1 | retry_started);
        self.visit_counters(visitor);
    }

    fn visit_counters(&mut self, visitor: &mut impl StateVisitor) {
        let counters = &mut self.counters;
        visitor.counter(&mut counters.packets);
        // Rows contain differences of some of these.
        for rare in [
            counters.retransmitted_packets,
            counters.retransmitted_bytes,
            counters.dummies,
            counters.repeats,
            counters.timeouts.into(),
            counters.dummy_timeouts.into(),
            counters.naks.into(),
            counters.rnr_naks.into(),
            counters.implied_naks.into(),
            counters.ignored.into(),
        ] {
            visitor.exact(rare);
        }
    }

    fn state_number(&self) -> u64 {
        match self.state {
            State::Open => 0,
            State::Fetching => 1,
            State::NotReady => 2,
            State::Failed(_) => 3,
        }
    }
}
