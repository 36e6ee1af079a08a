//! What one end of a protected link has counted.

use std::ops::AddAssign;

/// Counts of one end; those of the sender are about what leaves here, those of the receiver about what arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sender: frames that got a number.
    pub protected: u64,
    /// Sender: copies sent again.
    pub resent: u64,
    /// Sender: dummies.
    pub dummies: u64,
    /// Sender: frames that could not be kept, because the buffer was full.
    pub unkept: u64,
    /// Sender: requests that were not met: the copy was gone, or the share of the link for retransmissions was used up.
    pub refused: u64,
    /// Sender: times that it had to begin anew: the other end had restarted, or did not answer.
    pub reopened: u64,
    /// Sender: frames that were let go without knowing what became of them, because the other end had restarted or was silent.
    pub abandoned: u64,
    /// Sender: steps down from ordered to non-blocking and from there to no protection, because too much is lost.
    pub fallbacks: u64,
    /// Sender: bytes that are kept now, and the most there were.
    pub tx_bytes: u64,
    /// See `tx_bytes`.
    pub tx_bytes_max: u64,
    /// Receiver: numbers found missing.
    pub missed: u64,
    /// Receiver: of those, frames that came later.
    pub recovered: u64,
    /// Receiver: of those, given up: lost to whoever uses the link.
    pub lost: u64,
    /// Receiver: frames that had been here before, or came after they were given up.
    pub duplicates: u64,
    /// Receiver: frames for which the reordering buffer had no room.
    pub overflowed: u64,
    /// Receiver: notifications sent, and how many of them because nothing had come of those before. Copies count.
    pub notifications: u64,
    /// See `notifications`.
    pub renotifications: u64,
    /// Receiver: frames with nothing but an ACK, or what has arrived behind holes that were told of before.
    pub acks: u64,
    /// Receiver: times it asked the sender to pause.
    pub pauses: u64,
    /// Receiver: bytes in the reordering buffer now, and the most there were.
    pub rx_bytes: u64,
    /// See `rx_bytes`.
    pub rx_bytes_max: u64,
    /// Signals of another epoch or of numbers that cannot be: they changed nothing.
    pub ignored: u64,
}

impl Counters {
    /// All counts by name, without what is buffered just now.
    pub fn named(&self) -> [(&'static str, u64); 20] {
        named!(
            "link.", self: protected, resent, dummies, unkept, refused, reopened, abandoned, fallbacks,
            tx_bytes_max, missed, recovered, lost, duplicates, overflowed, notifications, renotifications,
            acks, pauses, rx_bytes_max, ignored
        )
    }
}

/// A later part of the same end's life: what is buffered is what is buffered then.
impl AddAssign for Counters {
    fn add_assign(&mut self, later: Self) {
        add!(
            self, later: protected, resent, dummies, unkept, refused, reopened, abandoned, fallbacks,
            missed, recovered, lost, duplicates, overflowed, notifications, renotifications, acks, pauses,
            ignored
        );
        self.tx_bytes = later.tx_bytes;
        self.tx_bytes_max = self.tx_bytes_max.max(later.tx_bytes_max);
        self.rx_bytes = later.rx_bytes;
        self.rx_bytes_max = self.rx_bytes_max.max(later.rx_bytes_max);
    }
}
