//! Simulated time that a run has skipped.

use serde::{Deserialize, Serialize};

/// Simulated time that was skipped because the network only repeated a pattern. It changes no other result than the
/// number of events, and is not part of the digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SkippedTime {
    /// Number of jumps.
    pub jumps: u64,
    /// Sum of the times that they have skipped.
    pub skipped_ps: u64,
}

add_counters!(SkippedTime; sum jumps, skipped_ps);

impl SkippedTime {
    /// Returns whether nothing was skipped.
    pub fn is_none(&self) -> bool {
        self.jumps == 0
    }
}
