//! Counters of ECN marking and congestion control.

use serde::{Deserialize, Serialize};

/// Sums over all ports and hosts. All zero without marking.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Congestion {
    /// Frames that switch ports marked. A frame that crosses several queues may be counted by each.
    pub marked: u64,
    /// Congestion notification packets sent by receivers.
    pub cnps_sent: u64,
    /// Congestion notification packets received by senders.
    pub cnps_received: u64,
}

add_counters!(Congestion; sum marked, cnps_sent, cnps_received);
