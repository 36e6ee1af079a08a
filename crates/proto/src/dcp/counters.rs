//! Counters of trimming transports, beside those of every connection.

/// Counters of the requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Headers returned by the receiver.
    pub headers_returned: u64,
    /// Packets that the receiver reported as missing.
    pub reported_missing: u64,
    /// Fetches of a batch of entries from host memory.
    pub fetches: u64,
    /// Entries in the largest batch.
    pub batch_max: u32,
    /// Probes sent.
    pub probes: u32,
    /// Units resent because the receiver could not count them.
    pub recounts: u32,
    /// Units resent because the timer expired.
    pub restarts: u32,
}

/// Counters of the responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverCounters {
    /// Trimmed packets received.
    pub trimmed: u64,
    /// Packets beyond the tracked range, returned as if they were trimmed.
    pub out_of_range: u64,
    /// Packets of an earlier round.
    pub stale: u64,
    /// Duplicate packets that the tracking detected.
    pub duplicates: u64,
    /// Packets reported to the sender as missing.
    pub reported_missing: u64,
    /// Recounts requested from the sender.
    pub recounts: u32,
    /// Probes answered.
    pub probes: u32,
    /// Headers not returned because too many were queued.
    pub headers_dropped: u32,
    /// Packets that arrived after a later one.
    pub out_of_order: u64,
    /// Maximum distance of a packet behind the latest one.
    pub disorder_max: u32,
    /// Packets looked up.
    pub tracked: u64,
    /// Steps of all lookups.
    pub steps: u64,
    /// Maximum steps of one lookup.
    pub steps_max: u32,
    /// Maximum number of linked chunks.
    pub chunks_max: u32,
}
