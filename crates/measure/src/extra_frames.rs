//! Frames that the mending mechanisms add to the traffic.

use serde::{Deserialize, Serialize};

/// Frames that mechanisms add, besides retransmissions after a loss. Each is counted where it is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ExtraFrames {
    /// Dummies sent for the first time: additional work requests.
    pub dummies: FrameCount,
    /// Copies that requesters send directly behind a packet.
    pub repeats: FrameCount,
    /// Copies of NAKs made by switches.
    pub nak_copies: FrameCount,
    /// Copies of retransmissions made by switches.
    pub retransmission_copies: FrameCount,
    /// Copies among these of packets that were no retransmissions: another connection's NAK had named their
    /// PSN.
    pub false_matches: u64,
    /// PSNs that a switch overwrote before their packet arrived.
    pub overwritten_registers: u64,
}

/// Number and bytes of frames, MAC header to FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FrameCount {
    /// Number of frames.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
}

impl FrameCount {
    /// Counts one frame.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

impl ExtraFrames {
    /// Bytes of all mechanisms.
    pub const fn bytes(&self) -> u64 {
        self.dummies.bytes + self.repeats.bytes + self.nak_copies.bytes + self.retransmission_copies.bytes
    }

    /// All counters with their names in the digest.
    pub fn named(&self) -> [(&'static str, u64); 10] {
        [
            ("added.dummies", self.dummies.frames),
            ("added.dummy_bytes", self.dummies.bytes),
            ("added.repeats", self.repeats.frames),
            ("added.repeat_bytes", self.repeats.bytes),
            ("added.nak_copies", self.nak_copies.frames),
            ("added.nak_copy_bytes", self.nak_copies.bytes),
            ("added.retransmission_copies", self.retransmission_copies.frames),
            ("added.retransmission_copy_bytes", self.retransmission_copies.bytes),
            ("added.false_matches", self.false_matches),
            ("added.overwritten_registers", self.overwritten_registers),
        ]
    }
}

add_counters!(FrameCount; sum frames, bytes);

add_counters!(
    ExtraFrames;
    sum dummies, repeats, nak_copies, retransmission_copies, false_matches, overwritten_registers
);
