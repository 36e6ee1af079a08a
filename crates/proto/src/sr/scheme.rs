//! The recovery schemes of selective repeat.

use std::fmt::Debug;
use std::sync::Arc;

use super::config::Config;
use super::recovery_policy::RecoveryPolicy;

/// A scheme of loss detection and recovery. Each has a file in `policy`.
#[derive(Clone, Debug)]
pub enum Scheme {
    /// Improved RoCE NIC (Mittal et al., SIGCOMM 2018): an out-of-order packet counts as a loss and causes a
    /// NAK.
    Irn,
    /// Only the timer detects losses; acknowledged packets are not retransmitted.
    TimeoutOnly,
    /// Recent acknowledgement and tail loss probe (RFC 8985): a packet is lost if it was sent long enough
    /// before one that has arrived.
    RackTlp,
    /// Multi-path RDMA (Lu et al., NSDI 2018): packets over many paths, with a bound on reordering.
    MpRdma,
    /// A scheme that another program has registered.
    Custom(Arc<dyn CustomScheme>),
}

/// A scheme of another program: the recovery policy of its requesters and the NAKs of its responders.
pub trait CustomScheme: Debug + Send + Sync {
    /// Name in scenarios and results.
    fn name(&self) -> &str;

    /// Creates the recovery policy of a new connection.
    fn new_policy(&self, config: &Config) -> Box<dyn RecoveryPolicy>;

    /// Returns whether responders send a NAK when a packet arrives out of order.
    fn naks_gaps(&self) -> bool {
        false
    }

    /// Bytes of NIC state for a connection with this window; by default a bit for each packet.
    fn state_bytes(&self, window: u64) -> u64 {
        window.div_ceil(8)
    }
}

/// Schemes are compared by name.
impl PartialEq for Scheme {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Scheme {}

impl Scheme {
    /// All schemes of this library.
    pub const ALL: [Self; 4] = [Self::Irn, Self::TimeoutOnly, Self::RackTlp, Self::MpRdma];

    /// Name in scenarios and results.
    pub fn name(&self) -> &str {
        match self {
            Self::Irn => "selective-repeat",
            Self::TimeoutOnly => "timeout-only",
            Self::RackTlp => "rack-tlp",
            Self::MpRdma => "mp-rdma",
            Self::Custom(other) => other.name(),
        }
    }

    /// Returns whether responders send a NAK when a packet arrives out of order.
    pub(super) fn naks_gaps(&self) -> bool {
        match self {
            Self::Irn => true,
            Self::TimeoutOnly | Self::RackTlp | Self::MpRdma => false,
            Self::Custom(other) => other.naks_gaps(),
        }
    }

    /// Returns whether the requester needs each acknowledgement, so that they must not coalesce.
    pub(super) const fn needs_every_ack(&self) -> bool {
        matches!(self, Self::MpRdma)
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
