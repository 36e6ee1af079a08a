//! Go-back-0, as in the NICs that livelocked (Guo et al., SIGCOMM 2016, §4.1): a loss anywhere in a message
//! restarts the message at both ends. Delivery is exactly once per message, not per packet.
//!
//! The responder discards its part of the message, which fills the link with useless retransmissions. If it
//! kept its position, the retransmissions would be duplicates, and a NAK would recover the rest of the
//! message.

use super::OutOfSequence;
use crate::rc::flight::Flight;
use crate::rc::inbound::Inbound;
use crate::rc::send_queue::WorkItem;

/// An ACK for the middle of a message only opens the window: `resume_seq` goes back before it. The ACK may
/// concern packets of an earlier round that this round has not repeated yet; those are not skipped, because
/// the responder may have discarded them.
#[inline]
pub(super) fn acknowledged_limit(flight: &Flight, _: &WorkItem, limit: u64) -> u64 {
    limit.min(flight.next)
}

#[inline]
pub(super) fn resume_seq(_: &Flight, oldest: &WorkItem) -> u64 {
    oldest.first
}

#[inline]
pub(super) fn on_out_of_sequence(inbound: &mut Inbound) -> OutOfSequence {
    let Some(missing) = inbound.take_nak_seq() else { return OutOfSequence::Drop };
    inbound.restart_message();
    OutOfSequence::Nak(missing)
}
