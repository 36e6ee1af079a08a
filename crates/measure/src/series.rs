//! Quantities over time.

use std::fmt;

/// One sample of one quantity of one entity: a row of a long table, which every plotting library groups as it likes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesRow {
    /// When the sample was taken.
    pub time_ps: u64,
    /// Whose it is: the number of a lane, a node or a queue pair, as the metric says.
    pub entity: u32,
    /// What was sampled.
    pub metric: Metric,
    /// The sample. Sums since the last sample for bytes and frames that pass, the state at the instant otherwise.
    pub value: u64,
}

keyed! {
    /// What can be sampled.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    Metric {
        /// Frame bytes that have crossed a lane since the last sample.
        TxBytes = "tx_bytes",
        /// Bytes that wait for a lane or are leaving over it now, with the preambles and gaps between frames.
        QueueBytes = "queue_bytes",
        /// Frames that have crossed a lane since the last sample and were corrupted.
        CorruptedFrames = "corrupted_frames",
        /// Frames that found no room before a lane since the last sample.
        DroppedFrames = "dropped_frames",
        /// Bytes that the end of a protected link keeps of what it sent over a lane.
        TxBufferBytes = "tx_buffer_bytes",
        /// Bytes that came over a lane and wait at the end of a protected link for earlier ones.
        RxBufferBytes = "rx_buffer_bytes",
        /// Classes that the sender over a lane must hold now, as PFC frames have told it.
        PausedClasses = "paused_classes",
        /// Bytes that came over a lane and lie in the buffer of a lossless switch.
        IngressBytes = "ingress_bytes",
        /// Packets that a host has sent again over its lane since the last sample.
        RetransmittedPackets = "retransmitted_packets",
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}
