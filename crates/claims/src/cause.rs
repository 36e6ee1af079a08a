//! Causes of timeouts: as the model reckons them, and as the simulator counts them. Neither crate knows the other.

use wiremend_measure::{TimeoutCause, TimeoutCounts};
use wiremend_model::Cause;

/// What the simulator calls a cause of the model.
pub(crate) const fn counted(cause: Cause) -> TimeoutCause {
    match cause {
        Cause::TailPacket => TimeoutCause::TailPacket,
        Cause::TailAck => TimeoutCause::TailAck,
        Cause::Nak => TimeoutCause::Nak,
        Cause::Twice => TimeoutCause::Twice,
    }
}

/// Timeouts by cause, as the model has them.
pub(crate) fn by_cause(timeouts: &TimeoutCounts) -> [u64; 4] {
    Cause::ALL.map(|cause| timeouts.of(counted(cause)))
}
