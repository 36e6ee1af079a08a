//! Audit streams: what was written, when, and by whom.

use crate::name::{Name, PortName};
use crate::redis::connection::{RedisConnection, RedisError};
use crate::redis::key::{self, PLANNER_AUDIT};
use crate::redis::resp::Reply;
use crate::redis::transaction::RECORD_BYTES_MAX;

/// Maximum number of entries that one call reads. Streams are about as long.
const ENTRIES_MAX: &[u8] = b"600";
/// Longest name of an operator that is taken over.
const AUTHOR_BYTES_MAX: usize = 100;

/// A record that was written to Redis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditEntry {
    /// Id in its stream.
    pub id: String,
    /// Time of the server in milliseconds since 1970.
    pub at_ms: u64,
    /// Port that the record is about.
    pub port: PortName,
    /// Kind of the record, such as `observation`.
    pub kind: String,
    /// JSON of the record.
    pub body: String,
    /// The operator who wrote it; `None` if a daemon or planner did.
    pub by: Option<String>,
}

/// Reads the entries of a stream after the one with this id, the newest first. Entries that no daemon wrote are left
/// out: a node may write anything to its own stream.
pub(super) fn read(
    connection: &mut RedisConnection,
    node: Option<&Name>,
    after: Option<&str>,
) -> Result<Vec<AuditEntry>, RedisError> {
    let key = node.map_or_else(|| PLANNER_AUDIT.to_owned(), key::audit);
    let first = after.map_or_else(|| "-".to_owned(), |id| format!("({id}"));
    let reply =
        connection.call(&[b"XREVRANGE", key.as_bytes(), b"+", first.as_bytes(), b"COUNT", ENTRIES_MAX]);
    let entries = match reply {
        Ok(Reply::Array(Some(entries))) => entries,
        Ok(other) => return Err(RedisError::Unexpected(other)),
        // A node may have replaced its stream by another type.
        Err(RedisError::Refused(reason)) if reason.starts_with("WRONGTYPE") => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let parsed = entries.iter().filter_map(parse);
    // A node writes only about its own ports.
    Ok(parsed.filter(|entry| node.is_none_or(|node| *node == entry.port.node)).collect())
}

fn parse(entry: &Reply) -> Option<AuditEntry> {
    let Reply::Array(Some(parts)) = entry else { return None };
    let [Reply::Bulk(Some(id)), Reply::Array(Some(fields))] = &parts[..] else { return None };
    let id = std::str::from_utf8(id).ok()?;
    let texts: Vec<&str> = fields
        .iter()
        .map(|field| match field {
            Reply::Bulk(Some(bytes)) if bytes.len() <= RECORD_BYTES_MAX => std::str::from_utf8(bytes).ok(),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let field = |name: &str| texts.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1]);
    Some(AuditEntry {
        id: id.to_owned(),
        at_ms: id.split_once('-')?.0.parse().ok()?,
        port: field("port")?.parse().ok()?,
        kind: field("kind")?.to_owned(),
        body: field("body")?.to_owned(),
        by: field("by").filter(|by| by.len() <= AUTHOR_BYTES_MAX).map(str::to_owned),
    })
}
