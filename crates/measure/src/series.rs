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

/// What can be sampled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Metric {
    /// Frame bytes that have crossed a lane since the last sample.
    TxBytes,
    /// Bytes that wait for a lane or are leaving over it now, with the preambles and gaps between frames.
    QueueBytes,
    /// Frames that have crossed a lane since the last sample and were corrupted.
    CorruptedFrames,
    /// Frames that found no room before a lane since the last sample.
    DroppedFrames,
    /// Bytes that the end of a protected link keeps of what it sent over a lane.
    TxBufferBytes,
    /// Bytes that came over a lane and wait at the end of a protected link for earlier ones.
    RxBufferBytes,
    /// Classes that the sender over a lane must hold now, as PFC frames have told it.
    PausedClasses,
    /// Bytes that came over a lane and lie in the buffer of a lossless switch.
    IngressBytes,
    /// Packets that a host has sent again over its lane since the last sample.
    RetransmittedPackets,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 9] = [
        Self::TxBytes,
        Self::QueueBytes,
        Self::CorruptedFrames,
        Self::DroppedFrames,
        Self::TxBufferBytes,
        Self::RxBufferBytes,
        Self::PausedClasses,
        Self::IngressBytes,
        Self::RetransmittedPackets,
    ];

    /// The name in files: units last.
    pub const fn key(self) -> &'static str {
        match self {
            Self::TxBytes => "tx_bytes",
            Self::QueueBytes => "queue_bytes",
            Self::CorruptedFrames => "corrupted_frames",
            Self::DroppedFrames => "dropped_frames",
            Self::TxBufferBytes => "tx_buffer_bytes",
            Self::RxBufferBytes => "rx_buffer_bytes",
            Self::PausedClasses => "paused_classes",
            Self::IngressBytes => "ingress_bytes",
            Self::RetransmittedPackets => "retransmitted_packets",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}
