//! Events of a daemon, for the log.

use wiremend_units::Span;

use crate::detector::LinkVerdict;
use crate::forecast::ForecastChange;
use crate::redis::LinkAction;

/// An event for the log.
#[derive(Clone, PartialEq, Debug)]
pub enum DaemonEvent {
    /// The verdict on a received direction changed.
    VerdictChanged {
        /// Link number.
        link: usize,
        /// The new verdict.
        verdict: LinkVerdict,
    },
    /// The loss forecast of a port crossed the threshold.
    ForecastChanged {
        /// Link number.
        link: usize,
        /// The change.
        change: ForecastChange,
    },
    /// An action was applied to a link.
    Acted {
        /// Link number.
        link: usize,
        /// The action.
        action: LinkAction,
    },
    /// An action failed.
    ActionFailed {
        /// Link number.
        link: usize,
        /// Reason.
        reason: String,
    },
    /// Somebody changed the protection of a link by hand. The daemon holds the link.
    ChangedByHand {
        /// Link number.
        link: usize,
        /// The protection that was set by hand.
        action: LinkAction,
        /// Length of the hold.
        hold: Span,
    },
    /// A hold of a link began, or ended (`None`).
    HoldChanged {
        /// Link number.
        link: usize,
        /// Reason of the hold.
        why: Option<String>,
    },
    /// The daemon at the other end of a link fell silent, or reports again.
    PeerSilent {
        /// Link number.
        link: usize,
        /// Whether it is silent.
        silent: bool,
    },
    /// The counters of a port cannot be read, or can be read again.
    PortUnread {
        /// Link number.
        link: usize,
        /// Whether it cannot be read.
        unread: bool,
    },
    /// Another daemon holds the lease of this node.
    LeaseRefused,
    /// Number of invalid records read.
    InvalidRecords(u64),
}
