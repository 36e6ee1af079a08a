//! Maps the causes of timeouts of the model to those that the simulator counts. Neither crate depends on the
//! other.

use wiremend_measure::{TimeoutCause, TimeoutCounts};
use wiremend_model::Cause;

/// The simulator's counterpart of a cause of the model.
pub(crate) const fn counted(cause: Cause) -> TimeoutCause {
    match cause {
        Cause::TailPacket => TimeoutCause::TailPacket,
        Cause::TailAck => TimeoutCause::TailAck,
        Cause::Nak => TimeoutCause::Nak,
        Cause::Retransmission => TimeoutCause::Retransmission,
    }
}

/// Counted timeouts in the order of the model's causes.
pub(crate) fn by_cause(timeouts: &TimeoutCounts) -> [u64; 4] {
    Cause::ALL.map(|cause| timeouts.get(counted(cause)))
}
