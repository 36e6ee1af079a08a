//! Redis ACL rules for the users of nodes and planners.

use crate::name::Name;
use crate::redis::planner_store::PLANNER_LEASE;
use crate::redis::record::{ActionRecord, Advice, HaltRecord, Observation, Record as _, RepairRecord};
use crate::redis::store::PREFIX;

/// Returns the rules of a node's user, in the syntax of `ACL SETUSER`.
///
/// The user reads all keys and writes only keys of its own node. A compromised switch can therefore report
/// false state only for its own ports. With one user for all nodes, each could forge the records of every
/// other.
pub fn acl_rules(node: &Name) -> Vec<String> {
    let own = [Observation::KIND, ActionRecord::KIND, RepairRecord::KIND]
        .map(|kind| format!("~{PREFIX}:{kind}:{node}:*"));
    let lease = format!("~{PREFIX}:lease:{node}");
    rules(&["hincrby"], own.into_iter().chain([lease]))
}

/// Returns the rules of a planner's user: it reads all keys and writes only the planner's keys.
pub fn planner_acl_rules() -> Vec<String> {
    let own = [Advice::KIND, HaltRecord::KIND].map(|kind| format!("~{PREFIX}:{kind}:*"));
    let lease = format!("~{PLANNER_LEASE}");
    rules(&["xread", "xrevrange", "hincrby"], own.into_iter().chain([lease]))
}

fn rules(more: &[&str], keys: impl Iterator<Item = String>) -> Vec<String> {
    const COMMANDS: [&str; 10] =
        ["auth", "ping", "info", "hmget", "hset", "hget", "eval", "publish", "subscribe", "xadd"];
    let plain = ["reset", "on", "resetchannels", "-@all"].into_iter().map(str::to_owned);
    let commands = COMMANDS.iter().chain(more).chain(&["time"]).map(|command| format!("+{command}"));
    let shared = [format!("%R~{PREFIX}:*"), format!("~{PREFIX}:audit"), format!("&{PREFIX}:*")];
    plain.chain(commands).chain(keys).chain(shared).collect()
}
