//! The queue pair over which perftest with `-R` exchanges messages, in place of TCP: one SEND per message.

use std::collections::VecDeque;

use wiremend_proto::engine::Op;

use super::exchange::MESSAGE_MAX;
use crate::connection_manager::ConnectionId;
use crate::event::Event;
use crate::host::Host;
use crate::queue_pair::{PairId, Post};
use crate::region::{Access, RegionId, Slice};

/// Messages that are under way in each direction. perftest has one.
const SLOTS: u64 = 16;

/// A queue pair for messages.
pub(super) struct ControlPair {
    pub(super) pair: PairId,
    pub(super) id: ConnectionId,
    /// Slots for received messages, then slots for sent ones.
    region: RegionId,
    inbox: VecDeque<Vec<u8>>,
    outbox: VecDeque<Vec<u8>>,
    sent: u64,
    pub(super) is_ended: bool,
}

impl ControlPair {
    /// Memory for the messages of a queue pair.
    pub(super) fn memory(host: &mut Host) -> RegionId {
        host.endpoint.register(2 * SLOTS * MESSAGE_MAX as u64, Access::NONE)
    }

    /// Uses a connected queue pair for messages.
    pub(super) fn new(host: &mut Host, pair: PairId, id: ConnectionId, region: RegionId) -> Self {
        let (inbox, outbox) = (VecDeque::new(), VecDeque::new());
        let control = Self { pair, id, region, inbox, outbox, sent: 0, is_ended: false };
        for number in 0..SLOTS {
            let posted = host.endpoint.post_receive(pair, number, control.slot(number));
            posted.expect("a new queue pair takes this many");
        }
        control
    }

    fn slot(&self, number: u64) -> Slice {
        Slice { region: self.region, offset: number * MESSAGE_MAX as u64, len: MESSAGE_MAX as u32 }
    }

    /// Takes an event of its queue pair. Returns whether it was one.
    pub(super) fn on_event(&mut self, host: &mut Host, event: &Event) -> bool {
        if event.pair() != self.pair {
            return false;
        }
        match *event {
            Event::Received { id, op: Op::Send, len, .. } if self.inbox.len() < SLOTS as usize => {
                let slot = self.slot(id);
                let bytes = &host.endpoint.memory(self.region)[slot.offset as usize..][..len as usize];
                self.inbox.push_back(bytes.to_vec());
                // It fails only if the queue pair is gone.
                let _ = host.endpoint.post_receive(self.pair, id, slot);
            }
            Event::Completed { status, .. } => {
                self.is_ended |= status != wiremend_proto::engine::Status::Success;
            }
            Event::Received { .. } | Event::Refused { .. } => self.is_ended = true,
            Event::Expired { .. } => {}
        }
        true
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.inbox.pop_front()
    }

    /// Sends a message at the next [`Self::pump`].
    pub(super) fn write(&mut self, message: &[u8]) {
        self.outbox.push_back(message.to_vec());
    }

    /// Sends what waits.
    pub(super) fn pump(&mut self, host: &mut Host) {
        while let Some(message) = self.outbox.pop_front() {
            let slot = self.slot(SLOTS + self.sent % SLOTS);
            self.sent += 1;
            let local = Slice { len: message.len() as u32, ..slot };
            host.endpoint.memory_mut(self.region)[slot.offset as usize..][..message.len()]
                .copy_from_slice(&message);
            let post =
                Post { id: self.sent, op: Op::Send, local, address: 0, key: 0, imm: None, operands: [0; 2] };
            // A failed connection shows in its events.
            let _ = host.endpoint.post(host.now(), self.pair, post);
        }
    }

    /// Removes the queue pair.
    pub(super) fn remove(&mut self, host: &mut Host) {
        host.endpoint.remove(self.pair);
        host.endpoint.release(self.region);
    }
}
