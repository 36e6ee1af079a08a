//! Names of keys and channels. The ACL of a user fixes the part that names its node.

use crate::name::{Name, PortName};
use crate::redis::record::Record;

/// Prefix of all keys and channels.
pub(super) const PREFIX: &str = "wiremend";
/// Lease of the leading planner.
pub(super) const PLANNER_LEASE: &str = "wiremend:planner-lease";
/// Audit stream of the planners.
pub(super) const PLANNER_AUDIT: &str = "wiremend:planner-audit";
/// Pattern of the channels on which nodes report changes.
pub(super) const CHANGES: &str = "wiremend:notify:*";
/// Pattern of the channels on which planners report changes.
pub(super) const ADVISED: &str = "wiremend:advised:*";

/// Key of a record.
pub(super) fn record<R: Record>(port: &PortName) -> String {
    format!("{PREFIX}:{}:{port}", R::KIND)
}

/// Key of a node's lease.
pub(super) fn lease(node: &Name) -> String {
    format!("{PREFIX}:lease:{node}")
}

/// Key of a node's audit stream. With one stream for all nodes, each could fill or erase it for all.
pub(super) fn audit(node: &Name) -> String {
    format!("{PREFIX}:audit:{node}")
}

/// Key of the stream of a port's counters.
pub(super) fn counters(port: &PortName) -> String {
    format!("{PREFIX}:counters:{port}")
}

/// Channel on which `from` tells `to` that a record changed. Only `from` may publish there.
pub(super) fn changes(from: &Name, to: &Name) -> String {
    format!("{PREFIX}:notify:{from}:{to}")
}

/// Channel on which planners tell `node` that advice or a hold changed.
pub(super) fn advised(node: &Name) -> String {
    format!("{PREFIX}:advised:{node}")
}

/// Returns the node that messages on this channel are about.
pub(super) fn node_of_channel(channel: &str) -> Option<Name> {
    if let Some(node) = channel.strip_prefix("wiremend:advised:") {
        return node.parse().ok();
    }
    // Only the node itself may publish there.
    let (node, _) = channel.strip_prefix("wiremend:notify:")?.split_once(':')?;
    node.parse().ok()
}
