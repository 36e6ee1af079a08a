//! How many bytes a queue pair takes, of which memory.

use super::config::Config;
use super::policy::Policy;
use super::tracking::Tracking;

/// Bytes of a queue pair beyond what a go-back-N connection keeps as well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateBytes {
    /// In the NIC, at the requester.
    pub requester: u64,
    /// In the NIC, at the responder: set aside for the connection.
    pub responder: u64,
    /// In the NIC, at the responder, when disorder is worst: differs where memory is taken as needed.
    pub responder_peak: u64,
    /// In the memory of the responder's host.
    pub host: u64,
}

impl StateBytes {
    /// What a connection takes that is configured so: from the sizes of this code's own types, with a bitmap's bits
    /// counted as bits.
    pub fn of(config: &Config) -> Self {
        let (responder, responder_peak) = Tracking::state_bytes(config.tracking, config.tracked);
        // A second bit for each packet: the last one of a message, whose completion has to wait (IRN §5.3).
        let host = u64::from(config.tracked).div_ceil(8);
        Self { requester: Policy::state_bytes(config), responder, responder_peak, host }
    }
}
