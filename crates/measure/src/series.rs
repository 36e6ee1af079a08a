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
    /// Frame bytes that a lane began to send since the last sample.
    TxBytes,
    /// Frame bytes waiting for a lane now.
    QueueBytes,
    /// The most frame bytes that waited for a lane since the last sample.
    QueueBytesMax,
    /// Frames that a lane corrupted since the last sample.
    CorruptedFrames,
    /// Frames that a node dropped since the last sample.
    DroppedFrames,
    /// Payload bytes that a host accepted in order since the last sample.
    DeliveredBytes,
    /// Payload bytes that a host sent again since the last sample.
    RetransmittedBytes,
    /// Flows that a host has posted and not finished now.
    OpenFlows,
    /// The rate in bit/s that a host may send at now.
    RateBps,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 9] = [
        Self::TxBytes,
        Self::QueueBytes,
        Self::QueueBytesMax,
        Self::CorruptedFrames,
        Self::DroppedFrames,
        Self::DeliveredBytes,
        Self::RetransmittedBytes,
        Self::OpenFlows,
        Self::RateBps,
    ];

    /// The name in files: units last.
    pub const fn key(self) -> &'static str {
        match self {
            Self::TxBytes => "tx_bytes",
            Self::QueueBytes => "queue_bytes",
            Self::QueueBytesMax => "queue_bytes_max",
            Self::CorruptedFrames => "corrupted_frames",
            Self::DroppedFrames => "dropped_frames",
            Self::DeliveredBytes => "delivered_bytes",
            Self::RetransmittedBytes => "retransmitted_bytes",
            Self::OpenFlows => "open_flows",
            Self::RateBps => "rate_bps",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key())
    }
}
