//! What the two ends of a trimming transport have seen, beside what every connection counts.

/// Of the requester.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sender {
    /// Headers that came back and were acted on.
    pub returned: u64,
    /// Packets that the receiver named as missing.
    pub named: u64,
    /// Reads of a batch of entries from host memory.
    pub fetches: u64,
    /// Entries in the largest batch.
    pub batch_max: u32,
    /// Questions sent.
    pub probes: u32,
    /// Units sent anew because the receiver could not count them.
    pub recounts: u32,
    /// Units sent anew because the timer expired.
    pub restarts: u32,
}

/// Of the responder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Receiver {
    /// Headers without payload that came, and were sent back.
    pub cut: u64,
    /// Packets for which there was no room, sent back as if they had been cut.
    pub beyond: u64,
    /// Packets of a round that is over.
    pub stale: u64,
    /// Packets that came twice, as far as the tracking can tell.
    pub doubles: u64,
    /// Packets named to the sender as missing.
    pub named: u64,
    /// Units that the sender was asked to send anew.
    pub recounts: u32,
    /// Questions answered.
    pub probes: u32,
    /// Headers not sent back because too many waited.
    pub headers_dropped: u32,
    /// Packets that came after a later one.
    pub out_of_order: u64,
    /// The most numbers by which a packet was behind the latest.
    pub disorder_max: u32,
    /// Packets whose state was looked for.
    pub tracked: u64,
    /// Steps taken to find the state of a packet, all packets together.
    pub steps: u64,
    /// The most steps that one packet took.
    pub steps_max: u32,
    /// The most chunks linked at a time.
    pub chunks_max: u32,
}
