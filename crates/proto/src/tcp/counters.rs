//! Counters of a sender that other transports do not have.

/// Counters of a TCP sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Recoveries that started without a timeout.
    pub recoveries: u32,
    /// Recoveries and timeouts that were spurious and undone.
    pub undone: u32,
    /// Tail loss probes (RFC 8985 §7).
    pub probes: u32,
    /// Probes that repaired a loss that no ACK had shown.
    pub repaired: u32,
    /// ACKs with a DSACK: a segment arrived twice.
    pub dsacks: u32,
    /// Window reductions after ECN marks.
    pub reductions: u32,
    /// Bytes sacked beyond a gap.
    pub sacked_bytes: u64,
    /// Segments sent again over another subflow.
    pub reinjected: u32,
}

impl Counters {
    /// Adds the counters of another sender.
    pub fn add(&mut self, other: &Self) {
        add!(
            self, other: recoveries, undone, probes, repaired, dsacks, reductions, sacked_bytes, reinjected
        );
    }

    /// All counters by name.
    pub fn named(&self) -> [(&'static str, u64); 8] {
        named!(
            "tcp.", self: recoveries, undone, probes, repaired, dsacks, reductions, sacked_bytes, reinjected
        )
    }
}
