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

/// If the one NAK, or what is sent because of it, is lost, only a timeout helps (JCST §3.1).
#[inline]
pub(super) fn on_ahead(inbound: &mut Inbound) -> Ahead {
    inbound.ask_once().map_or(Ahead::Drop, Ahead::Nak)
}
