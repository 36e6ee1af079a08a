//! Counters of the data path, beside those of its endpoint.

use serde::{Deserialize, Serialize};

/// Counters of one class of frames from the LAN.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassCounts {
    /// Frames accepted.
    pub frames: u64,
    /// Bytes of the accepted frames.
    pub bytes: u64,
    /// Frames dropped because the queue or the frame memory was full.
    pub dropped: u64,
}

/// Counters of frames and bytes, and of drops by reason.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// Frames received from the LAN.
    pub lan_in: u64,
    /// Frames sent to the LAN.
    pub lan_out: u64,
    /// Frames received from the link, control frames included.
    pub link_in: u64,
    /// Frames sent to the link, control frames included.
    pub link_out: u64,
    /// Bytes received from the LAN.
    pub lan_in_bytes: u64,
    /// Bytes sent to the LAN.
    pub lan_out_bytes: u64,
    /// Bytes received from the link.
    pub link_in_bytes: u64,
    /// Bytes sent to the link.
    pub link_out_bytes: u64,
    /// Frames from the LAN dropped because the queue was full: congestion, not corruption.
    pub queue_dropped: u64,
    /// Frames from the LAN with the `EtherType` of the link header, which only the link may carry.
    pub forged: u64,
    /// Control frames with our own source address: the link is a loop, or another port has the same address.
    #[serde(default)]
    pub echoed: u64,
    /// Control frames from another address than that of the other end.
    #[serde(default)]
    pub foreign_address: u64,
    /// Control frames without a seal, although this end has a key.
    #[serde(default)]
    pub no_seal: u64,
    /// Control frames whose seal is not of our key.
    #[serde(default)]
    pub wrong_seal: u64,
    /// Control frames whose seal is valid but old: somebody repeats them, or the other end has just started.
    #[serde(default)]
    pub old_seal: u64,
    /// Frames with the link's `EtherType` that cannot be parsed.
    pub malformed: u64,
    /// Frames that are too short for their addresses, or longer than the port accepts.
    pub bad_length: u64,
    /// Frames dropped because the frame memory was full.
    pub pool_empty: u64,
    /// Frames that the LAN port did not accept: it was down, or full for too long.
    pub lan_refused: u64,
    /// Send errors of either interface. Each costs one frame.
    pub port_errors: u64,
    /// Frames whose checksum the sender had left to its device, and which the relay has filled in.
    #[serde(default)]
    pub checksums_filled: u64,
    /// Frames that the relay has cut into several, because the sender had left that to its device.
    #[serde(default)]
    pub segmented: u64,
    /// Frames that the relay could not cut or sum, such as those of tunnels.
    #[serde(default)]
    pub unfinished: u64,
    /// Link-local frames from the LAN dropped because they exceeded their share of the link.
    #[serde(default)]
    pub link_local_excess: u64,
    /// Bytes in the queue.
    pub queue_bytes: u64,
    /// Maximum of `queue_bytes`.
    pub queue_bytes_max: u64,
}
