//! How much is done against timeouts (JCST §4).

/// The mechanisms, each as the number of extra packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Mend {
    /// Zero-length messages sent behind a flow's last packet.
    pub dummies: u32,
    /// Copies of each NAK that the responder's `ToR` adds.
    pub nak_copies: u32,
    /// Copies of each retransmission that the requester's `ToR` adds.
    pub retransmission_copies: u32,
    /// Repeats of a flow's last packet: the older way, for comparison.
    pub tail_repeat: u32,
}

impl Mend {
    /// Most of each. Beyond, the copies of one NAK would outlast the packet that answers the first.
    pub const EACH_MAX: u32 = 12;
    /// Nothing is done.
    pub const NONE: Self = Self::new(0, 0, 0);
    /// The paper's choice "All" for its simulations.
    pub const ALL: Self = Self::new(2, 1, 3);
    /// The paper's choice "All Optimized".
    pub const ALL_OPTIMIZED: Self = Self::new(3, 2, 4);
    /// The paper's choice for its testbed.
    pub const TESTBED: Self = Self::new(2, 1, 1);

    /// Dummies and copies, without repeated tails.
    pub const fn new(dummies: u32, nak_copies: u32, retransmission_copies: u32) -> Self {
        Self { dummies, nak_copies, retransmission_copies, tail_repeat: 0 }
    }
}
