//! The name of a timeout's cause, from the state of both ends.

use wiremend_measure::TimeoutCause;
use wiremend_proto::rc;

/// Judges by the oldest unacknowledged PSN `p` at the requester and by what its responder expects.
///
/// The responder is asked as soon as word can reach it, a bare propagation delay after the timer fired. A
/// packet that was still under way at the expiry, and arrived in between, counts as having arrived.
pub(crate) fn name(expiry: &rc::Expiry, responder: &rc::Responder) -> TimeoutCause {
    let ahead = responder.expected().distance(expiry.oldest);
    if ahead > 0 {
        TimeoutCause::TailAck
    } else if ahead < 0 {
        // Something older than the oldest unacknowledged packet is missing: go-back-0 has rolled back.
        TimeoutCause::Other
    } else if expiry.nak_received {
        TimeoutCause::Twice
    } else if responder.nak_sent() {
        TimeoutCause::Nak
    } else {
        TimeoutCause::TailPacket
    }
}
