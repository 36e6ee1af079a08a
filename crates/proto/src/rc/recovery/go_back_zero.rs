//! Go-back-0, as the NICs did it that livelocked (Guo et al., SIGCOMM 2016, §4.1): a loss anywhere in a message
//! starts the message again at both ends. Delivery is exactly once per message, not per packet.
//!
//! That the responder forgets its part is what fills the link with useless repetitions. With one that keeps its
//! place, the repetitions would be taken for duplicates and a NAK would be good for the rest of the message.

use super::Ahead;
use crate::rc::flight::Flight;
use crate::rc::inbound::Inbound;
use crate::rc::send_queue::Item;

/// An ACK for the middle of a message opens the window, and no more: `resume` goes back before it. It may be about
/// packets of an earlier round, which this round has yet to repeat; those are not skipped, because the responder may
/// have forgotten them.
#[inline]
pub(super) fn released(flight: &Flight, _: &Item, limit: u64) -> u64 {
    limit.min(flight.next)
}

#[inline]
pub(super) fn resume(_: &Flight, oldest: &Item) -> u64 {
    oldest.first
}

#[inline]
pub(super) fn on_ahead(inbound: &mut Inbound) -> Ahead {
    let Some(missing) = inbound.ask_once() else { return Ahead::Drop };
    inbound.restart_message();
    Ahead::Nak(missing)
}
