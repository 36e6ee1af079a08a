//! What protection adds to the traffic.

use serde::{Deserialize, Serialize};

/// Frames that mechanisms add, apart from what is sent again after a loss. Counted where they are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Added {
    /// Dummies, sent for the first time: extra work requests.
    pub dummies: Frames,
    /// Copies that requesters send right behind a packet.
    pub repeats: Frames,
    /// Copies of NAKs that switches make.
    pub nak_copies: Frames,
    /// Copies of packets sent again that switches make.
    pub retransmission_copies: Frames,
    /// Of these, copies of packets that were not sent again: another connection's NAK had asked for their number.
    pub false_matches: u64,
    /// Sequence numbers that a switch forgot before their packet came.
    pub overwritten_registers: u64,
}

/// Frames and their bytes, MAC header to FCS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Frames {
    /// How many.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Frames {
    /// One more frame.
    #[inline]
    pub fn add(&mut self, bytes: u64) {
        self.frames += 1;
        self.bytes += bytes;
    }
}

impl Added {
    /// Bytes of all mechanisms.
    pub const fn bytes(&self) -> u64 {
        self.dummies.bytes + self.repeats.bytes + self.nak_copies.bytes + self.retransmission_copies.bytes
    }

    /// All of it by name, for the digest.
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

add_counters!(Frames; sum frames, bytes);

add_counters!(
    Added;
    sum dummies, repeats, nak_copies, retransmission_copies, false_matches, overwritten_registers
);
