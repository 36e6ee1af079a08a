//! Counters of an end of a protected link.

use std::ops::AddAssign;

/// Counters of one end. The sender's are about leaving frames, the receiver's about arriving ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sender: frames with a sequence number.
    pub protected: u64,
    /// Sender: copies retransmitted.
    pub resent: u64,
    /// Sender: dummies.
    pub dummies: u64,
    /// Sender: frames sent without a copy, because the TX buffer was full.
    pub unbuffered: u64,
    /// Sender: requests refused: the copy was released, or retransmissions had used up their share of the
    /// link.
    pub refused: u64,
    /// Sender: new starts, because the other end had restarted or did not answer.
    pub reopened: u64,
    /// Sender: frames released with unknown fate, because the other end had restarted or was silent.
    pub abandoned: u64,
    /// Sender: steps down of the protection level, because of too much loss.
    pub fallbacks: u64,
    /// Sender: bytes in the TX buffer.
    pub tx_bytes: u64,
    /// Sender: maximum of `tx_bytes`.
    pub tx_bytes_max: u64,
    /// Receiver: frames found missing.
    pub missed: u64,
    /// Receiver: missing frames that arrived later.
    pub recovered: u64,
    /// Receiver: missing frames given up: losses that remain in spite of protection.
    pub lost: u64,
    /// Receiver: frames that arrived before, or after they were given up.
    pub duplicates: u64,
    /// Receiver: frames dropped because the reordering buffer was full.
    pub overflowed: u64,
    /// Receiver: notifications sent, copies included.
    pub notifications: u64,
    /// Receiver: notifications that repeat an earlier one without effect.
    pub renotifications: u64,
    /// Receiver: ACK frames, including reports of arrivals behind known holes.
    pub acks: u64,
    /// Receiver: pauses requested.
    pub pauses: u64,
    /// Receiver: bytes in the reordering buffer.
    pub rx_bytes: u64,
    /// Receiver: maximum of `rx_bytes`.
    pub rx_bytes_max: u64,
    /// Signals without effect: of another epoch, or with an impossible number.
    pub ignored: u64,
}

impl Counters {
    /// All counters by name, without current buffer levels.
    pub fn named(&self) -> [(&'static str, u64); 20] {
        named!(
            "link.", self: protected, resent, dummies, unbuffered, refused, reopened, abandoned, fallbacks,
            tx_bytes_max, missed, recovered, lost, duplicates, overflowed, notifications, renotifications,
            acks, pauses, rx_bytes_max, ignored
        )
    }
}

/// Adds the counters of a later run of the same end. Buffer levels are the later ones.
impl AddAssign for Counters {
    fn add_assign(&mut self, later: Self) {
        add!(
            self, later: protected, resent, dummies, unbuffered, refused, reopened, abandoned, fallbacks,
            missed, recovered, lost, duplicates, overflowed, notifications, renotifications, acks, pauses,
            ignored
        );
        self.tx_bytes = later.tx_bytes;
        self.tx_bytes_max = self.tx_bytes_max.max(later.tx_bytes_max);
        self.rx_bytes = later.rx_bytes;
        self.rx_bytes_max = self.rx_bytes_max.max(later.rx_bytes_max);
    }
}
