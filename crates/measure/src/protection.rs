//! What protected links did.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::Frames;

/// Sums over all protected links, but for the buffers: those are the largest of any end. All zero without protection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Protection {
    /// Frames that got a number, each link that they crossed counted.
    pub protected: u64,
    /// Bytes of link headers in front of them.
    pub header_bytes: u64,
    /// Copies sent again.
    pub resent: Frames,
    /// Frames of the links' own: dummies, acknowledgements, notifications, pauses, handshakes, parities.
    pub own: Frames,
    /// Frames found missing.
    pub missed: u64,
    /// Of these, frames that came later.
    pub recovered: u64,
    /// Of these, frames that were given up.
    pub lost: u64,
    /// Frames that came again and were taken away.
    pub duplicates: u64,
    /// Frames that could not be kept for want of room, and were sent all the same.
    pub unkept: u64,
    /// Requests that were not met: the copy was gone, or too many were asked for.
    pub refused: u64,
    /// Frames that found no room where they had to wait for others.
    pub overflowed: u64,
    /// Times that a receiver asked its sender to pause.
    pub pauses: u64,
    /// Most bytes that any sender kept.
    pub tx_buffer_bytes_max: u64,
    /// Most bytes that waited at any receiver.
    pub rx_buffer_bytes_max: u64,
}

impl Protection {
    /// Bytes that protection put on links.
    pub const fn bytes(&self) -> u64 {
        self.header_bytes + self.resent.bytes + self.own.bytes
    }
}

impl AddAssign for Protection {
    fn add_assign(&mut self, other: Self) {
        self.protected += other.protected;
        self.header_bytes += other.header_bytes;
        self.resent += other.resent;
        self.own += other.own;
        self.missed += other.missed;
        self.recovered += other.recovered;
        self.lost += other.lost;
        self.duplicates += other.duplicates;
        self.unkept += other.unkept;
        self.refused += other.refused;
        self.overflowed += other.overflowed;
        self.pauses += other.pauses;
        self.tx_buffer_bytes_max = self.tx_buffer_bytes_max.max(other.tx_buffer_bytes_max);
        self.rx_buffer_bytes_max = self.rx_buffer_bytes_max.max(other.rx_buffer_bytes_max);
    }
}
