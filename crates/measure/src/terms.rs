//! The terms on which a variant competes.

use serde::{Deserialize, Serialize};

/// What a variant has beside its recovery scheme, as texts. If two variants differ here, a comparison of them compares
/// this too.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// Number of packets that a connection may have unacknowledged; for TCP, its receive window.
    pub window: String,
    /// Buffers of switches.
    pub buffer: String,
    /// Queue length above which switches trim.
    pub trim_threshold: String,
    /// Congestion control.
    pub congestion: String,
    /// Choice among equal paths.
    pub balance: String,
}

impl Terms {
    /// All terms with their names for readers.
    pub fn named(&self) -> [(&'static str, &str); 5] {
        [
            ("window", &self.window),
            ("buffer", &self.buffer),
            ("trim threshold", &self.trim_threshold),
            ("congestion control", &self.congestion),
            ("load balancing", &self.balance),
        ]
    }
}
