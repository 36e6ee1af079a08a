//! Writes of records by plain commands: read under `WATCH`, decide, write with `EXEC`.
//!
//! A script would need one round trip less, but a user who may run scripts can stop the whole server with
//! an endless loop.

use crate::name::Name;
use crate::name::PortName;
use crate::redis::connection::{RedisConnection, RedisError};
use crate::redis::key;
use crate::redis::lease::Lease;
use crate::redis::record::Record;
use crate::redis::resp::Reply;

/// Maximum number of attempts when other clients change the same keys.
pub(super) const ATTEMPTS_MAX: u32 = 8;
/// Maximum length of a record's JSON.
pub(super) const RECORD_BYTES_MAX: usize = 4096;
/// Largest version or fencing number that is taken over. Larger ones were not written by a daemon.
const NUMBER_MAX: u64 = 1_000_000_000_000_000;
/// Approximate length of an audit stream.
const AUDIT_LENGTH: &[u8] = b"500";

/// Outcome of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PutOutcome {
    /// The record is stored under this version.
    Stored(u64),
    /// Rejected: another daemon holds a newer lease.
    StaleLease,
}

/// A record to write.
pub(super) struct RecordWrite {
    key: String,
    audit: String,
    channel: String,
    port: String,
    message: String,
    kind: &'static str,
    body: Vec<u8>,
    /// The operator who wrote it, for the audit stream.
    author: Option<String>,
    /// Whether an unchanged record gets a new version too.
    again: bool,
}

impl RecordWrite {
    /// A record that a node writes, and of which it notifies `peer`.
    pub(super) fn from_node<R: Record>(port: &PortName, record: &R, peer: &Name) -> Result<Self, RedisError> {
        Self::new(port, record, key::audit(&port.node), key::changes(&port.node, peer))
    }

    /// A record that a planner writes, and of which it notifies the node of the port.
    pub(super) fn from_planner<R: Record>(port: &PortName, record: &R) -> Result<Self, RedisError> {
        Self::new(port, record, key::PLANNER_AUDIT.to_owned(), key::advised(&port.node))
    }

    fn new<R: Record>(
        port: &PortName,
        record: &R,
        audit: String,
        channel: String,
    ) -> Result<Self, RedisError> {
        assert!(record.is_valid(), "only valid records are published");
        let body = serde_json::to_vec(record).map_err(std::io::Error::other)?;
        assert!(body.len() <= RECORD_BYTES_MAX, "records are short");
        Ok(Self {
            key: key::record::<R>(port),
            audit,
            channel,
            port: port.to_string(),
            message: format!("{} {port}", R::KIND),
            kind: R::KIND,
            body,
            author: None,
            again: false,
        })
    }

    /// Gives the record a new version even if it is unchanged.
    pub(super) fn again(self) -> Self {
        Self { again: true, ..self }
    }

    /// Names the operator in the audit stream.
    pub(super) fn by(self, author: Option<&str>) -> Self {
        Self { author: author.map(str::to_owned), ..self }
    }

    /// Returns the commands that store the record under this version.
    fn commands<'a>(&'a self, version: &'a str) -> [Vec<&'a [u8]>; Self::COMMANDS] {
        let mut audit: Vec<&[u8]> = vec![
            b"XADD",
            self.audit.as_bytes(),
            b"MAXLEN",
            b"~",
            AUDIT_LENGTH,
            b"*",
            b"port",
            self.port.as_bytes(),
            b"kind",
            self.kind.as_bytes(),
            b"version",
            version.as_bytes(),
            b"body",
            &self.body,
        ];
        if let Some(author) = &self.author {
            audit.extend([&b"by"[..], author.as_bytes()]);
        }
        [
            vec![b"HSET", self.key.as_bytes(), b"version", version.as_bytes(), b"body", &self.body],
            audit,
            vec![b"PUBLISH", self.channel.as_bytes(), self.message.as_bytes()],
        ]
    }

    const COMMANDS: usize = 3;
}

/// Writes records unless a newer lease exists. Unchanged records are not written again. Returns the
/// outcome of the last one.
pub(super) fn write(
    connection: &mut RedisConnection,
    lease: Option<(&str, Lease)>,
    records: &[RecordWrite],
) -> Result<PutOutcome, RedisError> {
    for _ in 0..ATTEMPTS_MAX {
        let Some(stands) = read(connection, lease, records)? else {
            return Ok(PutOutcome::StaleLease);
        };
        let last = stands.last().map_or(0, |(version, _)| *version);
        let changed: Vec<(&RecordWrite, String)> = records
            .iter()
            .zip(&stands)
            .filter(|(record, (version, body))| {
                record.again || *version == 0 || body.as_deref() != Some(&record.body[..])
            })
            .map(|(record, (version, _))| (record, (version + 1).to_string()))
            .collect();
        if changed.is_empty() {
            return Ok(PutOutcome::Stored(last));
        }
        let commands: Vec<Vec<&[u8]>> =
            changed.iter().flat_map(|(record, version)| record.commands(version)).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(Vec::as_slice).collect();
        let Some(replies) = execute(connection, &commands)? else { continue };
        for reply in replies.chunks(RecordWrite::COMMANDS).filter_map(<[Reply]>::first) {
            // The other commands may fail: a node that spoils its audit stream only loses its own audit.
            if let Reply::Error(reason) = reply {
                return Err(RedisError::Refused(reason.clone()));
            }
        }
        let is_last_changed =
            changed.last().map(|(record, _)| &record.key) == records.last().map(|last| &last.key);
        return Ok(PutOutcome::Stored(last + u64::from(is_last_changed)));
    }
    Err(RedisError::Refused("another client changes the same records all the time".to_owned()))
}

/// Version and body of a stored record; version 0 if there is none.
type Stored = (u64, Option<Vec<u8>>);

/// Watches and reads the lease and the stored records. `None` if a newer lease exists.
fn read(
    connection: &mut RedisConnection,
    lease: Option<(&str, Lease)>,
    records: &[RecordWrite],
) -> Result<Option<Vec<Stored>>, RedisError> {
    let mut watch: Vec<&[u8]> = vec![b"WATCH"];
    watch.extend(lease.iter().map(|(key, _)| key.as_bytes()));
    watch.extend(records.iter().map(|record| record.key.as_bytes()));
    // What an earlier decision not to write has watched must not spoil this transaction.
    let mut commands: Vec<Vec<&[u8]>> = vec![vec![b"UNWATCH"], watch];
    commands.extend(lease.iter().map(|(key, _)| vec![&b"HMGET"[..], key.as_bytes(), b"fence"]));
    commands
        .extend(records.iter().map(|record| vec![&b"HMGET"[..], record.key.as_bytes(), b"version", b"body"]));
    let commands: Vec<&[&[u8]]> = commands.iter().map(Vec::as_slice).collect();
    let mut replies = checked(connection.call_all(&commands)?)?.into_iter().skip(2);
    if let Some((_, lease)) = lease
        && let Some(Reply::Array(Some(fields))) = replies.next()
        && number_in(fields.first()).is_some_and(|newest| newest > lease.fence)
    {
        return Ok(None);
    }
    let stored = replies.map(|reply| match reply {
        Reply::Array(Some(mut fields)) if fields.len() == 2 => {
            let body = match fields.pop() {
                Some(Reply::Bulk(body)) => body,
                _ => None,
            };
            // An invalid version restarts at 1.
            Ok((number_in(fields.first()).unwrap_or(0), body))
        }
        other => Err(RedisError::Unexpected(other)),
    });
    stored.collect::<Result<_, _>>().map(Some)
}

/// Executes commands as a transaction; `None` if a watched key changed.
pub(super) fn execute(
    connection: &mut RedisConnection,
    commands: &[&[&[u8]]],
) -> Result<Option<Vec<Reply>>, RedisError> {
    let mut all: Vec<&[&[u8]]> = vec![&[b"MULTI"]];
    all.extend(commands);
    all.push(&[b"EXEC"]);
    let mut replies = connection.call_all(&all)?;
    let last = replies.pop().unwrap_or(Reply::Array(None));
    // A command that is refused when it is queued names the reason; EXEC only says that there is one.
    checked(replies)?;
    match last {
        Reply::Array(None) | Reply::Bulk(None) => Ok(None),
        Reply::Array(Some(replies)) => Ok(Some(replies)),
        Reply::Error(reason) => Err(RedisError::Refused(reason)),
        other => Err(RedisError::Unexpected(other)),
    }
}

/// Returns the first error among replies.
pub(super) fn checked(replies: Vec<Reply>) -> Result<Vec<Reply>, RedisError> {
    match replies.iter().find_map(|reply| if let Reply::Error(reason) = reply { Some(reason) } else { None })
    {
        Some(reason) => Err(RedisError::Refused(reason.clone())),
        None => Ok(replies),
    }
}

/// Returns the number in a field; `None` if the field is missing or not a plain number.
pub(super) fn number_in(field: Option<&Reply>) -> Option<u64> {
    let Some(Reply::Bulk(Some(bytes))) = field else { return None };
    std::str::from_utf8(bytes).ok()?.parse().ok().filter(|number| *number <= NUMBER_MAX)
}
