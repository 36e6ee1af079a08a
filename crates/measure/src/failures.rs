//! Losses on links that failed.

use serde::{Deserialize, Serialize};

/// Counters of failed links. All zero if no link failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Failures {
    /// Links that failed at least once before the end of the run.
    pub links: u64,
    /// How often they failed.
    pub failures: u64,
    /// Frames that they lost.
    pub lost_frames: u64,
    /// Connections that lost frames there. Each flow has a connection, unless queue pairs are shared.
    pub connections: u64,
    /// Frames that ports kept and sent over another path, instead of losing them.
    #[serde(default)]
    pub rerouted: u64,
}

add_counters!(Failures; sum links, failures, lost_frames, connections, rerouted);
