//! Redis ACL rules for the users of nodes and planners.

use crate::name::Name;
use crate::redis::key::{self, ADVISED, CHANGES, PLANNER_AUDIT, PLANNER_LEASE, PREFIX};
use crate::redis::record::{
    ActionRecord, Advice, HaltRecord, HoldRecord, Observation, Record as _, RepairRecord,
};

/// Commands on hashes, with optimistic transactions. There is no script: it could block the server.
const COMMANDS: &str = "+time +info +hmget +hset +watch +unwatch +multi +exec";

/// The selector that reads the streams.
const READS_STREAMS: &str =
    "(+xrevrange %R~wiremend:audit:* %R~wiremend:planner-audit %R~wiremend:counters:*)";

/// Returns the rules of a node's user, in the syntax of `ACL SETUSER`.
///
/// The user reads what its daemon needs and writes only keys of its own node. A compromised switch can
/// therefore report false state only for its own ports. With one user for all nodes, each could forge the
/// records of every other.
pub fn acl_rules(node: &Name) -> Vec<String> {
    let own = [Observation::KIND, ActionRecord::KIND, RepairRecord::KIND, HoldRecord::KIND]
        .map(|kind| format!("~{PREFIX}:{kind}:{node}:*"));
    let read = [
        format!("%R~{PREFIX}:{}:*", Observation::KIND),
        format!("%R~{PREFIX}:{}:{node}:*", Advice::KIND),
        format!("%R~{PREFIX}:lease:*"),
    ];
    let lease = [format!("~{}", key::lease(node))];
    // Each selector allows its commands on keys or channels of its own.
    let selectors = [
        format!("(+xadd ~{})", key::audit(node)),
        format!("(+xadd +expire ~{PREFIX}:counters:{node}:*)"),
        format!("(+publish &{PREFIX}:notify:{node}:*)"),
        format!("(+subscribe &{PREFIX}:notify:*:{node} &{})", key::advised(node)),
    ];
    rules(own.into_iter().chain(lease).chain(read).chain(selectors))
}

/// Returns the rules of a planner's user: it reads all keys and writes only the planner's keys and holds.
pub fn planner_acl_rules() -> Vec<String> {
    let own = [Advice::KIND, HaltRecord::KIND, HoldRecord::KIND].map(|kind| format!("~{PREFIX}:{kind}:*"));
    let more = [format!("~{PLANNER_LEASE}"), format!("%R~{PREFIX}:*")];
    let selectors = [
        format!("(+xadd ~{PLANNER_AUDIT})"),
        format!("(+publish &{PREFIX}:advised:*)"),
        format!("(+psubscribe &{CHANGES} &{ADVISED})"),
        READS_STREAMS.to_owned(),
    ];
    rules(own.into_iter().chain(more).chain(selectors))
}

/// Returns the rules of a viewer's user: it reads everything and writes nothing.
pub fn viewer_acl_rules() -> Vec<String> {
    let more =
        [format!("%R~{PREFIX}:*"), format!("(+psubscribe &{CHANGES} &{ADVISED})"), READS_STREAMS.to_owned()];
    let plain = ["reset", "on", "resetchannels", "-@all", "+time", "+info", "+hmget"].map(str::to_owned);
    plain.into_iter().chain(more).collect()
}

/// Returns the rule of a password. It contains only its hash, so that it can be stored and shown.
pub fn password_rule(password: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, password.as_bytes());
    let hex = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
    std::iter::once("#".to_owned()).chain(hex).collect()
}

fn rules(more: impl Iterator<Item = String>) -> Vec<String> {
    let plain = ["reset", "on", "resetchannels", "-@all"].into_iter();
    plain.chain(COMMANDS.split(' ')).map(str::to_owned).chain(more).collect()
}
