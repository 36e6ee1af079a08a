//! What marks and congestion control did.

use serde::{Deserialize, Serialize};

/// Sums over all ports and hosts. All zero where nothing is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Congestion {
    /// Frames that ports of switches marked; a frame that meets several queues may be counted by each.
    pub marked: u64,
    /// Congestion notifications that receivers sent.
    pub cnps_sent: u64,
    /// Congestion notifications that reached their senders.
    pub cnps_received: u64,
}

add_counters!(Congestion; sum marked, cnps_sent, cnps_received);
