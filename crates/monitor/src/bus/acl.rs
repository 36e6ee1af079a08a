//! Who may write what: a user for each node.

use crate::bus::store::PREFIX;
use crate::name::Name;

/// The rules of a node's user, as `ACL SETUSER` takes them behind its name and password.
///
/// It reads everything and writes under its own name alone, so that a switch in the wrong hands can lie about its own ports and
/// about nothing else. With one user for all, each could forge every other.
pub fn acl_rules(node: &Name) -> Vec<String> {
    [
        "reset",
        "on",
        "resetchannels",
        "-@all",
        "+auth",
        "+ping",
        "+info",
        "+hmget",
        "+hset",
        "+hincrby",
        "+hget",
        "+eval",
        "+publish",
        "+subscribe",
        "+xadd",
        "+time",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([
        format!("%R~{PREFIX}:*"),
        format!("~{PREFIX}:*:{node}"),
        format!("~{PREFIX}:*:{node}:*"),
        format!("~{PREFIX}:audit"),
        format!("&{PREFIX}:*"),
    ])
    .collect()
}
