//! What a requester knows of the numbers it has sent.

use super::bitmap::Bitmap;

/// Numbers count from 0 without wrapping. Everything before `una` has arrived, everything before `next` was sent;
/// between them, what has arrived is in `sacked`.
#[derive(Clone, Debug, Default)]
pub struct Board {
    /// The oldest number that is missing.
    pub una: u64,
    /// The number that is sent next for the first time.
    pub next: u64,
    sacked: Bitmap,
    /// The number behind the highest that has arrived.
    pub reached: u64,
}

impl Board {
    /// Numbers that were sent from the oldest missing one on.
    #[inline]
    pub const fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Numbers outstanding that have arrived.
    #[inline]
    pub const fn sacked(&self) -> u64 {
        self.sacked.len()
    }

    /// Whether a number that was sent has arrived, as far as is known.
    pub fn has_arrived(&self, seq: u64) -> bool {
        seq < self.una || self.sacked.contains(seq)
    }

    /// A packet has arrived out of order.
    pub(super) fn sack(&mut self, seq: u64) {
        assert!(seq < self.next, "only what was sent arrives");
        if seq >= self.una {
            self.sacked.insert(seq);
            self.reached = self.reached.max(seq + 1);
        }
    }

    /// Everything before `una` has arrived.
    pub(super) fn advance(&mut self, una: u64) {
        assert!((self.una..=self.next).contains(&una), "only what was sent arrives");
        self.una = una;
        self.reached = self.reached.max(una);
        self.sacked.release(una);
    }

    /// The first number from `from` on, and before `limit`, that is not known to have arrived.
    pub fn first_missing(&self, from: u64, limit: u64) -> Option<u64> {
        let seq = self.sacked.first_missing(from.max(self.una));
        (seq < limit.min(self.next)).then_some(seq)
    }
}
