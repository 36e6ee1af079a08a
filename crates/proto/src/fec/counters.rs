//! Counters of an end of a link with FEC.

/// Counters of one end. The sender's are about leaving frames, the receiver's about arriving ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sender: frames with an index.
    pub protected: u64,
    /// Sender: parities.
    pub parities: u64,
    /// Sender: blocks closed.
    pub blocks: u64,
    /// Sender: blocks closed short, by the flush timeout or at the end.
    pub short_blocks: u64,
    /// Receiver: protected frames that arrived.
    pub arrived: u64,
    /// Receiver: frames restored.
    pub recovered: u64,
    /// Receiver: frames that neither arrived nor were restored. Counted when the block is unrecoverable or
    /// the next one begins.
    pub lost: u64,
    /// Receiver: timeouts of waiting for a parity.
    pub given_up: u64,
    /// Receiver: block numbers out of sequence: the sender restarted.
    pub restarts: u64,
    /// Receiver: headers that contradict themselves or their block.
    pub malformed: u64,
    /// Receiver: restored frames whose block was over.
    pub late: u64,
    /// Receiver: frames that wait for an earlier one.
    pub held: u64,
    /// Receiver: maximum of `held`.
    pub held_max: u64,
}

impl Counters {
    /// All counters by name, without `held`.
    pub fn named(&self) -> [(&'static str, u64); 12] {
        named!(
            "fec.", self: protected, parities, blocks, short_blocks, arrived, recovered, lost, given_up,
            restarts, malformed, late, held_max
        )
    }
}
