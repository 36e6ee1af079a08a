//! The scoreboard of a requester: which packets were sent and which have arrived.

use super::bitmap::Bitmap;

/// Numbers count from 0 without wrapping. Everything before `una` has arrived and everything before `next`
/// was sent; `sacked` holds the arrived packets between them.
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    /// Oldest missing number.
    pub una: u64,
    /// Next number to send for the first time.
    pub next: u64,
    sacked: Bitmap,
    /// One past the highest number that has arrived.
    pub arrived_end: u64,
}

impl Scoreboard {
    /// Numbers sent from the oldest missing one on.
    #[inline]
    pub const fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Outstanding numbers that have arrived.
    #[inline]
    pub const fn sacked(&self) -> u64 {
        self.sacked.len()
    }

    /// Returns whether a number is known to have arrived.
    pub fn has_arrived(&self, seq: u64) -> bool {
        seq < self.una || self.sacked.contains(seq)
    }

    /// Records the arrival of a packet out of order.
    pub(super) fn sack(&mut self, seq: u64) {
        assert!(seq < self.next, "the number was not sent");
        if seq >= self.una {
            self.sacked.insert(seq);
            self.arrived_end = self.arrived_end.max(seq + 1);
        }
    }

    /// Records that everything before `una` has arrived.
    pub(super) fn advance(&mut self, una: u64) {
        assert!((self.una..=self.next).contains(&una), "the number was not sent");
        self.una = una;
        self.arrived_end = self.arrived_end.max(una);
        self.sacked.release(una);
    }

    /// Returns the first number in `from..limit` that is not known to have arrived.
    pub fn first_missing(&self, from: u64, limit: u64) -> Option<u64> {
        let seq = self.sacked.first_missing(from.max(self.una));
        (seq < limit.min(self.next)).then_some(seq)
    }
}
