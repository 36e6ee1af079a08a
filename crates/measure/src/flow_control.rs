//! What lossless switches did.

use serde::{Deserialize, Serialize};

/// Sums over all lossless switches, but for the buffers: those are the largest of any switch. All zero without one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowControl {
    /// Times that a class of a neighbour was told to stop.
    pub pauses: u64,
    /// Times that it was told so again.
    pub refreshes: u64,
    /// Times that it was told to go on.
    pub resumes: u64,
    /// PFC frames sent, each of which may tell of several classes.
    pub frames: u64,
    /// PFC frames that arrived.
    pub received: u64,
    /// PFC frames that links corrupted.
    pub corrupted: u64,
    /// How long ports had to hold a class, each port and class counted, in nanoseconds.
    pub paused_ns: u64,
    /// Ports that ever had to hold a class.
    pub paused_ports: u64,
    /// Of these, ports of hosts.
    pub paused_hosts: u64,
    /// Frames of lossless classes that were dropped for want of room.
    pub lossless_dropped: u64,
    /// Frames of other classes that were.
    pub lossy_dropped: u64,
    /// Most bytes that lay in any switch.
    pub buffer_bytes_max: u64,
    /// Most bytes in the headroom of any port and class.
    pub headroom_bytes_max: u64,
}

add_counters!(
    FlowControl;
    sum pauses, refreshes, resumes, frames, received, corrupted, paused_ns, paused_ports, paused_hosts,
    lossless_dropped, lossy_dropped;
    max buffer_bytes_max, headroom_bytes_max
);
