//! The schemes that share this engine.

/// How losses are noticed and repaired. One file of `policy` each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scheme {
    /// Improved RoCE NIC (Mittal et al., SIGCOMM 2018): a packet out of order is a loss behind it, and a NAK says so.
    Irn,
    /// Nothing but the timer shows a loss; what was acknowledged is not sent again.
    TimeoutOnly,
    /// Recent acknowledgement and tail loss probe (RFC 8985): what was sent long enough before something that
    /// arrived is lost.
    RackTlp,
    /// Multi-path RDMA (Lu et al., NSDI 2018): packets over many paths, with a bound on disorder.
    MpRdma,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 4] = [Self::Irn, Self::TimeoutOnly, Self::RackTlp, Self::MpRdma];

    /// The name in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Irn => "selective-repeat",
            Self::TimeoutOnly => "timeout-only",
            Self::RackTlp => "rack-tlp",
            Self::MpRdma => "mp-rdma",
        }
    }

    /// The responder asks for what is missing when a packet comes out of order.
    pub(super) const fn naks_gaps(self) -> bool {
        matches!(self, Self::Irn)
    }

    /// The requester learns something from each acknowledgement, so that none may stand for others.
    pub(super) const fn counts_acks(self) -> bool {
        matches!(self, Self::MpRdma)
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
