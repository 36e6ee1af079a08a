//! What switches that trim packets did.

use serde::{Deserialize, Serialize};

/// Of one port, or sums over all ports. All zero where nothing is trimmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Trims {
    /// Packets that were cut to their headers.
    pub trimmed: u64,
    /// Header-only packets for which the control queue had no room. Each is a loss that nobody is told of.
    pub headers_dropped: u64,
    /// Acknowledgements that met a long queue and were dropped.
    pub acks_dropped: u64,
    /// Other packets that met a long queue and could not be trimmed.
    pub others_dropped: u64,
}

impl Trims {
    /// All of them by name, for the digest.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("trim.trimmed", self.trimmed),
            ("trim.headers_dropped", self.headers_dropped),
            ("trim.acks_dropped", self.acks_dropped),
            ("trim.others_dropped", self.others_dropped),
        ]
    }

    /// Packets that were dropped.
    pub const fn dropped(&self) -> u64 {
        self.headers_dropped + self.acks_dropped + self.others_dropped
    }
}

add_counters!(Trims; sum trimmed, headers_dropped, acks_dropped, others_dropped);
