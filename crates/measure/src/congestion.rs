//! What marks and congestion control did.

use std::ops::AddAssign;

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

impl AddAssign for Congestion {
    fn add_assign(&mut self, other: Self) {
        self.marked += other.marked;
        self.cnps_sent += other.cnps_sent;
        self.cnps_received += other.cnps_received;
    }
}
