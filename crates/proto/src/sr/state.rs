//! Memory of a queue pair in bytes.

use super::config::Config;
use super::policy::Policy;
use super::tracking::Tracking;

/// Bytes of a queue pair beyond those of a go-back-N connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateBytes {
    /// NIC memory at the requester.
    pub requester: u64,
    /// NIC memory reserved at the responder.
    pub responder: u64,
    /// NIC memory at the responder with the most reordering; it differs from `responder` if memory is
    /// allocated on demand.
    pub responder_peak: u64,
    /// Host memory at the responder.
    pub host: u64,
}

impl StateBytes {
    /// Computes the memory of a connection from the sizes of this crate's types; a bitmap counts one bit per
    /// packet.
    pub fn for_config(config: &Config) -> Self {
        let (responder, responder_peak) = Tracking::state_bytes(config.tracking, config.tracked_packets);
        // A second bit for each packet marks the last packet of a message whose completion is delayed (IRN
        // §5.3).
        let host = u64::from(config.tracked_packets).div_ceil(8);
        Self { requester: Policy::state_bytes(config), responder, responder_peak, host }
    }
}
