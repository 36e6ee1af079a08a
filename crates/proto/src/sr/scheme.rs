//! The schemes that share this engine.

use std::fmt::Debug;
use std::sync::Arc;

use super::config::Config;
use super::policy::RecoveryPolicy;

/// How losses are noticed and repaired. One file of `policy` each.
#[derive(Clone, Debug)]
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
    /// One that another program has brought.
    Other(Arc<dyn OtherScheme>),
}

/// A scheme that another program brings: what its requesters do about losses, and what its responders do.
pub trait OtherScheme: Debug + Send + Sync {
    /// The name in scenarios and results.
    fn name(&self) -> &str;

    /// The requester's half on a new connection.
    fn start(&self, config: &Config) -> Box<dyn RecoveryPolicy>;

    /// Responders ask for what is missing when a packet comes out of order.
    fn naks_gaps(&self) -> bool {
        false
    }

    /// Bytes that a NIC keeps of it for a connection with that window; by default a bit for each packet.
    fn state_bytes(&self, window: u64) -> u64 {
        window.div_ceil(8)
    }
}

/// Schemes are told apart by their names.
impl PartialEq for Scheme {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Scheme {}

impl Scheme {
    /// Every scheme of this library.
    pub const ALL: [Self; 4] = [Self::Irn, Self::TimeoutOnly, Self::RackTlp, Self::MpRdma];

    /// The name in scenarios and results.
    pub fn name(&self) -> &str {
        match self {
            Self::Irn => "selective-repeat",
            Self::TimeoutOnly => "timeout-only",
            Self::RackTlp => "rack-tlp",
            Self::MpRdma => "mp-rdma",
            Self::Other(other) => other.name(),
        }
    }

    /// The responder asks for what is missing when a packet comes out of order.
    pub(super) fn naks_gaps(&self) -> bool {
        match self {
            Self::Irn => true,
            Self::TimeoutOnly | Self::RackTlp | Self::MpRdma => false,
            Self::Other(other) => other.naks_gaps(),
        }
    }

    /// The requester learns something from each acknowledgement, so that none may stand for others.
    pub(super) const fn counts_acks(&self) -> bool {
        matches!(self, Self::MpRdma)
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
