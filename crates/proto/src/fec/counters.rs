//! What one end of a link with error correction has counted.

/// Counts of one end; those of the sender are about what leaves here, those of the receiver about what arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Sender: frames that got a number.
    pub protected: u64,
    /// Sender: parities.
    pub parities: u64,
    /// Sender: blocks closed, and how many of them short.
    pub blocks: u64,
    /// See `blocks`.
    pub short_blocks: u64,
    /// Receiver: numbered frames that came by themselves.
    pub arrived: u64,
    /// Receiver: frames restored.
    pub recovered: u64,
    /// Receiver: frames that neither came nor were restored: lost to whoever uses the link. Known when the block is hopeless
    /// or the next one begins, whichever is first.
    pub lost: u64,
    /// Receiver: times that waiting for a parity ended by the clock.
    pub given_up: u64,
    /// Receiver: numbers that do not follow those before: the sender began anew.
    pub restarts: u64,
    /// Receiver: headers that contradict themselves or their block.
    pub malformed: u64,
    /// Receiver: restored frames whose block was over.
    pub late: u64,
    /// Receiver: frames that wait for an earlier one now, and the most there were.
    pub held: u64,
    /// See `held`.
    pub held_max: u64,
}

impl Counters {
    /// All counts by name, without what waits just now.
    pub fn named(&self) -> [(&'static str, u64); 12] {
        named!(
            "fec.", self: protected, parities, blocks, short_blocks, arrived, recovered, lost, given_up,
            restarts, malformed, late, held_max
        )
    }
}
