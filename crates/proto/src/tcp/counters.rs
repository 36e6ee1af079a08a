//! What a sender has done and seen beyond what all transports count.

/// What a TCP sender has done and seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Recoveries that began without a timeout.
    pub recoveries: u32,
    /// Recoveries and timeouts that turned out to be needless, and were undone.
    pub undone: u32,
    /// Probes for a lost tail (RFC 8985 §7).
    pub probes: u32,
    /// Probes that repaired a loss nothing else had told of.
    pub repaired: u32,
    /// Acknowledgements that told of a segment that came twice.
    pub twice: u32,
    /// Answers to marks.
    pub reductions: u32,
    /// Bytes that were acknowledged beyond a gap.
    pub sacked_bytes: u64,
    /// Segments that went again over another subflow.
    pub reinjected: u32,
}

impl Counters {
    /// Adds what another connection has done and seen.
    pub fn add(&mut self, other: &Self) {
        add!(
            self, other: recoveries, undone, probes, repaired, twice, reductions, sacked_bytes, reinjected
        );
    }

    /// All of them by name.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        named!(
            "tcp.", self: recoveries, undone, probes, repaired, twice, reductions, sacked_bytes, reinjected
        )
    }
}
