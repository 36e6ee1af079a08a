//! Go-back-N, the recovery of the specification (IBA 9.7.5, 9.9): the responder keeps its place and asks once
//! for what is missing; the requester sends everything again from there.

use super::Ahead;
use crate::rc::flight::Flight;
use crate::rc::inbound::Inbound;
use crate::rc::send_queue::Item;

#[inline]
pub(super) fn released(_: &Flight, _: &Item, limit: u64) -> u64 {
    limit
}

#[inline]
pub(super) fn resume(flight: &Flight, _: &Item) -> u64 {
    flight.una
}

/// One NAK per expected number. If it, or what is sent because of it, is lost, only a timeout helps (JCST §3.1).
#[inline]
pub(super) fn on_ahead(inbound: &mut Inbound) -> Ahead {
    if inbound.nak_sent {
        return Ahead::Drop;
    }
    inbound.nak_sent = true;
    Ahead::Nak(inbound.expected)
}
