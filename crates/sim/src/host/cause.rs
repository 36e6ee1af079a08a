//! The name of a timeout's cause, from the state of both ends.

use wiremend_measure::TimeoutCause;
use wiremend_proto::engine::Expiry;
use wiremend_units::Psn;

/// Judges by what the responder expects and what the requester has sent.
///
/// If the responder has everything, only acknowledgements are missing. Else some packet is: nobody asked for it
/// (nothing followed that could show the gap), or it was asked for and the NAK was lost, or the NAK came and what
/// was sent again was lost again. The oldest unacknowledged packet alone does not tell, since with
/// acknowledgements for only some packets it may well have arrived.
///
/// The responder is asked as soon as word can reach it, a bare propagation delay after the timer fired. A
/// packet that was still under way at the expiry, and arrived in between, counts as having arrived.
pub(crate) fn name(expiry: &Expiry, expected: Psn, nak_sent: bool) -> TimeoutCause {
    if expected.distance(expiry.end) >= 0 {
        TimeoutCause::TailAck
    } else if expiry.nak_received {
        TimeoutCause::Twice
    } else if nak_sent {
        TimeoutCause::Nak
    } else {
        TimeoutCause::TailPacket
    }
}
