//! What a bump has counted beside what its end of the link counts.

use serde::{Deserialize, Serialize};

/// What came from the LAN of a class of frames.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassCounts {
    /// Frames that were taken.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames for which the queue, or memory, had no room.
    pub dropped: u64,
}

/// Frames and bytes; what was dropped, and why.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// Frames from the LAN that were taken.
    pub lan_in: u64,
    /// Frames to the LAN.
    pub lan_out: u64,
    /// Frames from the link, those of its own included.
    pub link_in: u64,
    /// Frames to the link, those of its own included.
    pub link_out: u64,
    /// Bytes from the LAN that were taken.
    pub lan_in_bytes: u64,
    /// Bytes to the LAN.
    pub lan_out_bytes: u64,
    /// Bytes from the link.
    pub link_in_bytes: u64,
    /// Bytes to the link.
    pub link_out_bytes: u64,
    /// Frames from the LAN for which the queue had no room: congestion, not corruption.
    pub queue_dropped: u64,
    /// Frames from the LAN with the link's own `EtherType`: nobody there may speak for the link.
    pub forged: u64,
    /// Frames of the link's own that came back to the end which had sent them: the link is a loop, or another port has its address.
    #[serde(default)]
    pub echoed: u64,
    /// Frames with the link's `EtherType` that are none of this version.
    pub malformed: u64,
    /// Frames that are shorter than their addresses, or longer than the port was opened for.
    pub misshapen: u64,
    /// Frames for which there was no memory.
    pub pool_empty: u64,
    /// Frames that the LAN did not take: it was down, or had no room for too long.
    pub lan_refused: u64,
    /// Times that an interface reported an error, and what it refused was thrown away.
    pub port_errors: u64,
    /// Bytes in the queue now.
    pub queue_bytes: u64,
    /// The most there were.
    pub queue_bytes_max: u64,
}
