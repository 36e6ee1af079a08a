//! Credits of the peer's receive queue.

use wiremend_wire::Syndrome;

use super::Requester;
use crate::rc::packet::Packet;

impl Requester {
    /// Handles the credits of a response: with its message number, they say up to which message the peer has receive
    /// buffers. Credits are never taken back, and a responder without credits sends none at all (IBA 9.7.7.2).
    #[cold]
    pub(super) fn take_credits(&mut self, packet: &Packet) {
        if let Some(aeth) = packet.aeth()
            && let Syndrome::Ack { credits } = aeth.syndrome
        {
            let executed = self.queue.message_number(aeth.msn);
            let limit = credits.count().map_or(u64::MAX, |credits| executed.saturating_add(credits.into()));
            self.credit_limit = self.credit_limit.max(limit);
        }
        if self.queue.sendable < self.queue.end_seq {
            self.queue.permit(self.credit_limit);
        }
    }
}
