//! Counters of protected links.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::FrameCount;

/// Sums over all protected links; buffer fields are the largest of any end. All zero without protection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Protection {
    /// Numbered frames, counted on each link.
    pub protected: u64,
    /// Bytes of their link headers.
    pub header_bytes: u64,
    /// Retransmitted copies.
    pub resent: FrameCount,
    /// Control frames: dummies, acknowledgements, loss notifications, pauses, handshakes, parities.
    pub control: FrameCount,
    /// Frames with a link header that receivers delivered.
    pub delivered: u64,
    /// Loss notifications that receivers sent.
    pub notifications: u64,
    /// Frames that receivers detected as missing.
    pub missed: u64,
    /// Missing frames that arrived later.
    pub recovered: u64,
    /// Missing frames that never arrived.
    pub lost: u64,
    /// Duplicate frames that were discarded.
    pub duplicates: u64,
    /// Frames sent without a copy because the retransmission buffer was full.
    pub unbuffered: u64,
    /// Retransmission requests that were not met: the copy was gone, or too many were requested.
    pub refused: u64,
    /// Frames that found the reordering buffer full.
    pub overflowed: u64,
    /// Pauses that receivers requested.
    pub pauses: u64,
    /// Time that senders were paused, in nanoseconds.
    pub paused_ns: u64,
    /// Recirculations of copies in the retransmission buffer; only in the prototype.
    pub tx_recirculations: u64,
    /// Recirculations of frames in the reordering buffer; only in the prototype.
    pub rx_recirculations: u64,
    /// Time from detection to recovery of missing frames. The hardened protocol rounds times up by at most an
    /// eighth.
    pub recovery_delays: DelayHistogram,
    /// Largest retransmission buffer of any sender, in bytes.
    pub tx_buffer_bytes_max: u64,
    /// Largest reordering buffer of any receiver, in bytes.
    pub rx_buffer_bytes_max: u64,
}

/// Histogram of recovery delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DelayHistogram {
    /// Longest delay.
    pub max_ns: u64,
    /// Frames by delay, in buckets of [`Self::BUCKET_NS`]. The last bucket is open.
    pub buckets: [u64; 32],
}

impl DelayHistogram {
    /// Width of a bucket.
    pub const BUCKET_NS: u64 = 250;

    /// Adds one delay.
    pub fn add(&mut self, ns: u64) {
        self.add_many(ns, 1);
    }

    /// Adds `count` equal delays.
    pub fn add_many(&mut self, ns: u64, count: u64) {
        let last = self.buckets.len() - 1;
        self.max_ns = self.max_ns.max(ns);
        self.buckets[usize::try_from(ns / Self::BUCKET_NS).unwrap_or(last).min(last)] += count;
    }

    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

impl AddAssign for DelayHistogram {
    fn add_assign(&mut self, other: Self) {
        self.max_ns = self.max_ns.max(other.max_ns);
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
    }
}

impl Protection {
    /// Bytes that protection added to links.
    pub const fn bytes(&self) -> u64 {
        self.header_bytes + self.resent.bytes + self.control.bytes
    }
}

add_counters!(
    Protection;
    sum protected, header_bytes, resent, control, delivered, notifications, missed, recovered, lost, duplicates,
    unbuffered, refused, overflowed, pauses, paused_ns, tx_recirculations, rx_recirculations, recovery_delays;
    max tx_buffer_bytes_max, rx_buffer_bytes_max
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_counted_in_buckets_and_the_last_is_open() {
        let mut delays = DelayHistogram::default();
        for ns in [0, 249, 250, 5_500, 1_000_000] {
            delays.add(ns);
        }
        assert_eq!(
            (delays.buckets[0], delays.buckets[1], delays.buckets[22], delays.buckets[31]),
            (2, 1, 1, 1)
        );
        let mut sum = delays;
        sum += delays;
        assert_eq!((sum.count(), sum.max_ns), (10, 1_000_000));
    }
}
