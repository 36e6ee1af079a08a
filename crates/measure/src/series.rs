//! Time series.

use std::fmt;

/// One sample of one quantity of one entity: a row of a table in long format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesRow {
    /// When the sample was taken.
    pub time_ps: u64,
    /// Index of the lane, node or queue pair; the metric determines which.
    pub entity: u32,
    /// What was sampled.
    pub metric: Metric,
    /// The value. Sum since the last sample for bytes and frames that pass, state at the time otherwise.
    pub value: u64,
}

keyed! {
    /// What can be sampled.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    Metric {
        /// Frame bytes that crossed a lane since the last sample.
        TxBytes = "tx_bytes",
        /// Bytes that wait for a lane or are being sent, with preambles and gaps.
        QueueBytes = "queue_bytes",
        /// Frames that crossed a lane since the last sample and were corrupted.
        CorruptedFrames = "corrupted_frames",
        /// Frames dropped before a lane since the last sample because the buffer was full.
        DroppedFrames = "dropped_frames",
        /// Bytes in the retransmission buffer of a protected link.
        TxBufferBytes = "tx_buffer_bytes",
        /// Bytes in the reordering buffer of a protected link.
        RxBufferBytes = "rx_buffer_bytes",
        /// Classes that PFC frames pause at the sender of a lane now.
        PausedClasses = "paused_classes",
        /// Bytes that arrived over a lane and are in the buffer of a lossless switch.
        IngressBytes = "ingress_bytes",
        /// Packets that a host retransmitted over its lane since the last sample.
        RetransmittedPackets = "retransmitted_packets",
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}
