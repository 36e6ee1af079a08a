//! Counters of trimming switches.

use serde::{Deserialize, Serialize};

/// Counters of one port, or sums over all ports. All zero without trimming.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trims {
    /// Packets trimmed to their headers.
    pub trimmed: u64,
    /// Header-only packets dropped because the control queue was full. The sender gets no notice of these
    /// losses.
    pub headers_dropped: u64,
    /// Acknowledgements dropped because the queue was above the threshold.
    pub acks_dropped: u64,
    /// Other packets dropped because the queue was above the threshold and they cannot be trimmed.
    pub others_dropped: u64,
}

impl Trims {
    /// All counters with their names in the digest.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("trim.trimmed", self.trimmed),
            ("trim.headers_dropped", self.headers_dropped),
            ("trim.acks_dropped", self.acks_dropped),
            ("trim.others_dropped", self.others_dropped),
        ]
    }

    /// Dropped packets.
    pub const fn dropped(&self) -> u64 {
        self.headers_dropped + self.acks_dropped + self.others_dropped
    }
}

add_counters!(Trims; sum trimmed, headers_dropped, acks_dropped, others_dropped);
