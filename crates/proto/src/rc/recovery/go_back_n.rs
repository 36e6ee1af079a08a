//! Go-back-N, the recovery of the specification (IBA 9.7.5, 9.9): the responder keeps the expected number and
//! sends one NAK for it; the requester retransmits everything from there on.

use super::OutOfSequence;
use crate::rc::flight::Flight;
use crate::rc::inbound::Inbound;
use crate::rc::send_queue::WorkItem;

#[inline]
pub(super) fn acknowledged_limit(_: &Flight, _: &WorkItem, limit: u64) -> u64 {
    limit
}

#[inline]
pub(super) fn resume_seq(flight: &Flight, _: &WorkItem) -> u64 {
    flight.una
}

/// If this NAK or its retransmission is lost, only a timeout recovers (JCST §3.1).
#[inline]
pub(super) fn on_out_of_sequence(inbound: &mut Inbound) -> OutOfSequence {
    inbound.take_nak_seq().map_or(OutOfSequence::Drop, OutOfSequence::Nak)
}
