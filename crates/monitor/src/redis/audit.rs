//! Audit streams: what was written, when, and by whom.

use std::collections::BTreeMap;

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
    let entries = read_stream(connection, &key, after)?;
    let parsed = entries.into_iter().filter_map(StreamEntry::audit);
    // A node writes only about its own ports.
    Ok(parsed.filter(|entry| node.is_none_or(|node| *node == entry.port.node)).collect())
}

/// An entry of a stream: short texts by name.
pub(super) struct StreamEntry {
    id: String,
    pub(super) at_ms: u64,
    pub(super) fields: BTreeMap<String, String>,
}

/// Reads the newest entries of a stream after the one with this id, the newest first. Malformed ones are left out.
pub(super) fn read_stream(
    connection: &mut RedisConnection,
    key: &str,
    after: Option<&str>,
) -> Result<Vec<StreamEntry>, RedisError> {
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
    Ok(entries.iter().filter_map(StreamEntry::parse).collect())
}

impl StreamEntry {
    fn parse(entry: &Reply) -> Option<Self> {
        let Reply::Array(Some(parts)) = entry else { return None };
        let [Reply::Bulk(Some(id)), Reply::Array(Some(fields))] = &parts[..] else { return None };
        let id = std::str::from_utf8(id).ok()?;
        let texts: Vec<&str> = fields
            .iter()
            .map(|field| match field {
                Reply::Bulk(Some(bytes)) if bytes.len() <= RECORD_BYTES_MAX => {
                    std::str::from_utf8(bytes).ok()
                }
                _ => None,
            })
            .collect::<Option<_>>()?;
        let pairs = texts.chunks_exact(2).rev().map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
        let at_ms = id.split_once('-')?.0.parse().ok()?;
        Some(Self { id: id.to_owned(), at_ms, fields: pairs.collect() })
    }

    fn audit(mut self) -> Option<AuditEntry> {
        let mut field = |name: &str| self.fields.remove(name);
        Some(AuditEntry {
            port: field("port")?.parse().ok()?,
            kind: field("kind")?,
            body: field("body")?,
            by: field("by").filter(|by| by.len() <= AUTHOR_BYTES_MAX),
            at_ms: self.at_ms,
            id: self.id,
        })
    }
}
