//! Number of dummies and copies (JCST §4).

/// Number of extra packets of each mechanism.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MendCounts {
    /// Zero-length messages behind a flow's last packet.
    pub dummies: u32,
    /// Copies of each NAK that the responder's `ToR` adds.
    pub nak_copies: u32,
    /// Copies of each retransmission that the requester's `ToR` adds.
    pub retransmission_copies: u32,
    /// Copies of a flow's last packet: the older scheme, for comparison.
    pub tail_copies: u32,
}

impl MendCounts {
    /// Largest value of each. With more, the copies of one NAK would last longer than the retransmission.
    pub const EACH_MAX: u32 = 12;
    /// No mechanism.
    pub const NONE: Self = Self::new(0, 0, 0);
    /// "All" of the paper's simulations.
    pub const ALL: Self = Self::new(2, 1, 3);
    /// "All Optimized" of the paper.
    pub const ALL_OPTIMIZED: Self = Self::new(3, 2, 4);
    /// Setting of the paper's testbed.
    pub const TESTBED: Self = Self::new(2, 1, 1);

    /// Dummies and copies, without copies of the last packet.
    pub const fn new(dummies: u32, nak_copies: u32, retransmission_copies: u32) -> Self {
        Self { dummies, nak_copies, retransmission_copies, tail_copies: 0 }
    }
}
