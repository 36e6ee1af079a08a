//! Who may write what: a user for each node.

use crate::bus::board::LEAD;
use crate::bus::store::PREFIX;
use crate::bus::word::{Advice, Deed, Halt, Repair, Sighting, Word as _};
use crate::name::Name;

/// The rules of a node's user, as `ACL SETUSER` takes them behind its name and password.
///
/// It reads everything and writes under its own name alone, so that a switch in the wrong hands can lie about its own ports and
/// about nothing else. With one user for all, each could forge every other.
pub fn acl_rules(node: &Name) -> Vec<String> {
    let own = [Sighting::KIND, Deed::KIND, Repair::KIND].map(|kind| format!("~{PREFIX}:{kind}:{node}:*"));
    let lease = format!("~{PREFIX}:lease:{node}");
    rules(&["hincrby"], own.into_iter().chain([lease]))
}

/// The rules of a planner's user: it reads everything, and writes advice and nothing else.
pub fn planner_acl_rules() -> Vec<String> {
    let own = [Advice::KIND, Halt::KIND].map(|kind| format!("~{PREFIX}:{kind}:*"));
    let lead = format!("~{LEAD}");
    rules(&["xread", "xrevrange", "hincrby"], own.into_iter().chain([lead]))
}

fn rules(more: &[&str], keys: impl Iterator<Item = String>) -> Vec<String> {
    const COMMANDS: [&str; 10] =
        ["auth", "ping", "info", "hmget", "hset", "hget", "eval", "publish", "subscribe", "xadd"];
    let plain = ["reset", "on", "resetchannels", "-@all"].into_iter().map(str::to_owned);
    let commands = COMMANDS.iter().chain(more).chain(&["time"]).map(|command| format!("+{command}"));
    let shared = [format!("%R~{PREFIX}:*"), format!("~{PREFIX}:audit"), format!("&{PREFIX}:*")];
    plain.chain(commands).chain(keys).chain(shared).collect()
}
