//! Dummies behind the last packet, and copies of packets.

use wiremend_units::Time;

use super::Requester;
use crate::engine::{Purpose, Transmit};
use crate::mend::DummyTiming;
use crate::rc::config::Config;
use crate::rc::inbound::PacketShape;
use crate::rc::packet::Packet;
use crate::rc::send_queue::WorkItem;

impl Requester {
    /// Handles the transmission of the last posted packet; `last` is its work item.
    #[inline]
    pub(super) fn on_drained(&mut self, config: &Config, now: Time, last: &WorkItem) {
        if !last.dummy && !last.op.has_response() {
            self.copies_left = self.copies_left.max(config.mend.tail_copies);
            self.copy_seq = last.end() - 1;
        }
        // Dummies are retransmitted with the tail; copies are sent again.
        let is_denied = config.mend.dummies.write_denied && !last.dummy && last.lacks_rights();
        if self.dummies.on_drained(&config.mend.dummies, now)
            || is_denied && self.flight.copy(last.end() - 1) > 0
        {
            self.protect_tail(config);
        }
    }

    /// Adds dummies behind the last packet, or copies where the peer may deny dummies, or where the tail has a timer.
    #[cold]
    pub(super) fn protect_tail(&mut self, config: &Config) {
        let count = config.mend.dummies.count;
        if config.mend.dummies.timing == DummyTiming::TailTimeout {
            (self.copy_seq, self.copies_left) = (self.queue.end_seq - 1, self.copies_left.max(count));
            return;
        }
        let without_rights = self.queue.tail_without_rights().filter(|_| config.mend.dummies.write_denied);
        if let Some(last) = without_rights {
            (self.copy_seq, self.copies_left) = (last.end() - 1, self.copies_left.max(count));
        } else {
            self.queue.push_dummies(count);
        }
    }

    /// Sends a copy of the last packet.
    #[cold]
    pub(super) fn repeat(&mut self, config: &Config) -> Option<Transmit<Packet>> {
        let seq = self.copy_seq;
        self.copies_left -= 1;
        let item = *self.queue.owner(seq)?;
        let offset = item.offset(seq, config.mtu);
        let shape = PacketShape { op: item.op, first: seq == item.first, last: seq + 1 == item.end() };
        let packet = if item.op.is_atomic() {
            self.atomic_request(&item, self.psn(seq))
        } else {
            self.data_packet(config, &item, shape, self.psn(seq), offset).with_ack_req(shape.last)
        };
        self.counters.packets += 1;
        self.counters.repeats += 1;
        let copy = self.flight.copy(seq);
        Some(Transmit { packet, work: item.id, offset, copy, purpose: Purpose::Repeat, path: 0 })
    }
}
