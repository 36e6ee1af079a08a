//! The cause of a timeout, from the state of both ends.

use wiremend_measure::TimeoutCause;
use wiremend_proto::engine::Expiry;
use wiremend_units::Psn;

/// Classifies a timeout by the responder's expected PSN and the requester's state.
///
/// If the responder has everything, only acknowledgements are missing. Otherwise a packet is missing: no NAK
/// asked for it (no later packet showed the gap), or the NAK was lost, or the NAK arrived and the
/// retransmission was lost. The oldest unacknowledged packet alone is not enough: if only some packets are
/// acknowledged, it may have arrived.
///
/// The responder's state is read one bare propagation delay after the timer fired. A packet that was in
/// flight at the timeout and arrived in between counts as arrived.
pub(crate) fn classify(expiry: &Expiry, expected: Psn, nak_sent: bool) -> TimeoutCause {
    if expected.distance(expiry.end) >= 0 {
        TimeoutCause::TailAck
    } else if expiry.nak_received {
        TimeoutCause::Retransmission
    } else if nak_sent {
        TimeoutCause::Nak
    } else {
        TimeoutCause::TailPacket
    }
}
