//! Counters of lossless switches.

use serde::{Deserialize, Serialize};

/// Sums over all lossless switches; buffer fields are the largest of any switch. All zero without lossless
/// switches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowControl {
    /// Times that a class of a neighbour was paused.
    pub pauses: u64,
    /// Times that a pause was refreshed.
    pub refreshes: u64,
    /// Times that a paused class was resumed.
    pub resumes: u64,
    /// PFC frames sent. One frame may pause several classes.
    pub frames: u64,
    /// PFC frames that arrived.
    pub received: u64,
    /// PFC frames that links corrupted.
    pub corrupted: u64,
    /// Time that classes were paused, summed over ports and classes, in nanoseconds.
    pub paused_ns: u64,
    /// Ports that were paused at least once.
    pub paused_ports: u64,
    /// Ports of hosts among these.
    pub paused_hosts: u64,
    /// Frames of lossless classes dropped because the buffer was full.
    pub lossless_dropped: u64,
    /// Frames of other classes dropped because the buffer was full.
    pub lossy_dropped: u64,
    /// Largest buffer use of any switch, in bytes.
    pub buffer_bytes_max: u64,
    /// Largest headroom use of any port and class, in bytes.
    pub headroom_bytes_max: u64,
}

add_counters!(
    FlowControl;
    sum pauses, refreshes, resumes, frames, received, corrupted, paused_ns, paused_ports, paused_hosts,
    lossless_dropped, lossy_dropped;
    max buffer_bytes_max, headroom_bytes_max
);
