//! Records of a node in Redis: atomic, versioned writes that require the node's lease.

use std::fmt;
use std::time::Duration;

use crate::name::{Name, PortName};
use crate::redis::connection::{RedisConnection, RedisError, RedisServer};
use crate::redis::record::{Record, RepairRecord};
use crate::redis::resp::Reply;

/// Prefix of all keys and channels.
pub(crate) const PREFIX: &str = "wiremend";

/// Maximum length of a record's JSON.
const RECORD_BYTES_MAX: usize = 4096;
/// Maximum number of ports per batch of reads.
const BATCH: usize = 512;
/// Maximum number of notifications that one wait drains.
const NOTIFICATIONS_MAX: u32 = 1000;
/// Approximate length of the audit stream.
const AUDIT_LENGTH: &[u8] = b"10000";

/// The store of one node.
pub struct Store {
    connection: RedisConnection,
    node: Name,
}

/// A lease for writing a node's records. Redis rejects writes with an older fencing number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lease {
    fence: u64,
}

/// Outcome of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PutOutcome {
    /// The record is stored under this version.
    Stored(u64),
    /// Rejected: another daemon holds a newer lease.
    StaleLease,
}

/// A stored record and its version.
#[derive(Clone, PartialEq, Debug)]
pub struct Versioned<R> {
    /// Incremented with every change.
    pub version: u64,
    /// The record.
    pub record: R,
}

/// Records of several ports.
#[derive(Clone, PartialEq, Debug)]
pub struct Records<R> {
    /// In the order of the requested ports; `None` for missing and invalid records.
    pub records: Vec<Option<Versioned<R>>>,
    /// Number of invalid records.
    pub invalid: u64,
}

/// Why a server cannot be used.
#[derive(Debug)]
pub enum UnusableServer {
    /// Connection or command failed.
    Redis(RedisError),
    /// The server may evict keys when memory is short.
    Evicts(String),
}

impl fmt::Display for UnusableServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(error) => error.fmt(f),
            Self::Evicts(policy) => {
                write!(f, "its maxmemory-policy is `{policy}`, so it may evict records; set it to noeviction")
            }
        }
    }
}

impl std::error::Error for UnusableServer {}

impl<F: Into<RedisError>> From<F> for UnusableServer {
    fn from(error: F) -> Self {
        Self::Redis(error.into())
    }
}

impl Store {
    /// Connects as `node` and checks the eviction policy.
    pub fn open(server: &RedisServer, node: Name) -> Result<Self, UnusableServer> {
        let connection = open(server)?;
        Ok(Self { connection, node })
    }

    /// Returns the node.
    pub fn node(&self) -> &Name {
        &self.node
    }

    /// Takes or renews the lease of this node for `length`; `None` if another holder has it.
    pub fn lease(&mut self, holder: &str, length: Duration) -> Result<Option<Lease>, RedisError> {
        self::lease(&mut self.connection, &lease_key(&self.node), holder, length)
    }

    /// Writes a record of one of this node's ports, unless it is unchanged, and notifies `peer`.
    pub fn put<R: Record>(
        &mut self,
        lease: Lease,
        port: &Name,
        record: &R,
        peer: &Name,
    ) -> Result<PutOutcome, RedisError> {
        let port_name = PortName { node: self.node.clone(), port: port.clone() };
        let command = PutCommand::new(&port_name, record, peer, &lease_key(&self.node), lease)?;
        put(&self.connection.call(&command.command())?)
    }

    /// Records a repair of the link at one of this node's ports. No lease is required.
    pub fn put_repair(&mut self, port: &Name) -> Result<u64, RedisError> {
        let port_name = PortName { node: self.node.clone(), port: port.clone() };
        let (key, channel) = (key::<RepairRecord>(&port_name), channel(&self.node));
        let replies = self.connection.call_all(&[
            &[b"HSET", key.as_bytes(), b"body", b"{}"],
            &[b"HINCRBY", key.as_bytes(), b"version", b"1"],
            &[b"PUBLISH", channel.as_bytes(), port_name.to_string().as_bytes()],
        ])?;
        for reply in &replies {
            if let Reply::Error(reason) = reply {
                return Err(RedisError::Refused(reason.clone()));
            }
        }
        number(&replies[1])
    }

    /// Reads the records of these ports.
    pub fn get<R: Record>(&mut self, ports: &[PortName]) -> Result<Records<R>, RedisError> {
        get_records(&mut self.connection, ports)
    }
}

/// Reads the records of these ports.
pub(super) fn get_records<R: Record>(
    connection: &mut RedisConnection,
    ports: &[PortName],
) -> Result<Records<R>, RedisError> {
    let mut records = Vec::with_capacity(ports.len());
    let mut invalid = 0;
    for ports in ports.chunks(BATCH) {
        let keys: Vec<String> = ports.iter().map(key::<R>).collect();
        let commands: Vec<[&[u8]; 4]> =
            keys.iter().map(|key| [&b"HMGET"[..], key.as_bytes(), b"version", b"body"]).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(|args| &args[..]).collect();
        for reply in connection.call_all(&commands)? {
            match read(reply)? {
                Read::Nothing => records.push(None),
                Read::Invalid => {
                    invalid += 1;
                    records.push(None);
                }
                Read::Record(record) => records.push(Some(record)),
            }
        }
    }
    Ok(Records { records, invalid })
}

/// A write command.
pub(super) struct PutCommand {
    key: String,
    audit: String,
    channel: String,
    port_name: String,
    kind: &'static str,
    body: Vec<u8>,
    fence: String,
    lease_key: String,
}

impl PutCommand {
    /// Creates a command that requires the lease under `lease_key`, writes a record and notifies `peer`.
    pub(super) fn new<R: Record>(
        port_name: &PortName,
        record: &R,
        peer: &Name,
        lease_key: &str,
        lease: Lease,
    ) -> Result<Self, RedisError> {
        assert!(record.is_valid(), "only valid records are published");
        let body = serde_json::to_vec(record).map_err(std::io::Error::other)?;
        assert!(body.len() <= RECORD_BYTES_MAX, "records are short");
        Ok(Self {
            key: key::<R>(port_name),
            audit: audit(),
            channel: channel(peer),
            port_name: port_name.to_string(),
            kind: R::KIND,
            body,
            fence: lease.fence.to_string(),
            lease_key: lease_key.to_owned(),
        })
    }

    /// Returns the arguments of the command.
    pub(super) fn command(&self) -> [&[u8]; 12] {
        [
            b"EVAL",
            PUT.as_bytes(),
            b"3",
            self.key.as_bytes(),
            self.lease_key.as_bytes(),
            self.audit.as_bytes(),
            self.fence.as_bytes(),
            &self.body,
            self.channel.as_bytes(),
            self.port_name.as_bytes(),
            self.kind.as_bytes(),
            AUDIT_LENGTH,
        ]
    }
}

/// Interprets the reply to a write.
pub(super) fn put(reply: &Reply) -> Result<PutOutcome, RedisError> {
    if let Reply::Error(reason) = reply {
        return Err(RedisError::Refused(reason.clone()));
    }
    Ok(match number(reply)? {
        0 => PutOutcome::StaleLease,
        version => PutOutcome::Stored(version),
    })
}

/// Takes or renews a lease.
pub(super) fn lease(
    connection: &mut RedisConnection,
    key: &str,
    holder: &str,
    length: Duration,
) -> Result<Option<Lease>, RedisError> {
    let length = length.as_millis().to_string();
    let args: [&[u8]; 6] =
        [b"EVAL", LEASE.as_bytes(), b"1", key.as_bytes(), holder.as_bytes(), length.as_bytes()];
    Ok(match number(&connection.call(&args)?)? {
        0 => None,
        fence => Some(Lease { fence }),
    })
}

/// Connects and checks the eviction policy.
pub(super) fn open(server: &RedisServer) -> Result<RedisConnection, UnusableServer> {
    let mut connection = RedisConnection::open(server)?;
    let info = text(connection.call(&[b"INFO", b"memory"])?)?;
    let policy = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:")).unwrap_or("unknown");
    if policy != "noeviction" {
        return Err(UnusableServer::Evicts(policy.to_owned()));
    }
    Ok(connection)
}

/// Subscription to the change notifications of a node.
pub struct ChangeNotifier {
    connection: RedisConnection,
}

impl ChangeNotifier {
    /// Subscribes to the channel of `node`.
    pub fn open(server: &RedisServer, node: &Name) -> Result<Self, RedisError> {
        let mut connection = RedisConnection::open(server)?;
        connection.call(&[b"SUBSCRIBE", channel(node).as_bytes()])?;
        Ok(Self { connection })
    }

    /// Waits up to `within` for a notification. Its content is ignored, because it may be forged.
    pub fn wait(&mut self, within: Duration) -> Result<bool, RedisError> {
        let notified = self.connection.next_reply(within)?.is_some();
        // Several notifications count as one. The bound keeps a flood from blocking the caller.
        let mut drained = 0;
        while notified
            && drained < NOTIFICATIONS_MAX
            && self.connection.next_reply(Duration::from_millis(1))?.is_some()
        {
            drained += 1;
        }
        Ok(notified)
    }
}

enum Read<R> {
    Nothing,
    Invalid,
    Record(Versioned<R>),
}

fn read<R: Record>(reply: Reply) -> Result<Read<R>, RedisError> {
    let items = match reply {
        Reply::Array(Some(items)) if items.len() == 2 => items,
        // A client may have replaced the key by another type. That must not block the other ports.
        Reply::Error(reason) if reason.starts_with("WRONGTYPE") => return Ok(Read::Invalid),
        Reply::Error(reason) => return Err(RedisError::Refused(reason)),
        other => return Err(RedisError::Unexpected(other)),
    };
    let [version, body] = &items[..] else { unreachable!("the length was checked") };
    let (version, body) = match (version, body) {
        (Reply::Bulk(None), Reply::Bulk(None)) => return Ok(Read::Nothing),
        (Reply::Bulk(Some(version)), Reply::Bulk(Some(body))) => (version, body),
        _ => return Ok(Read::Invalid),
    };
    let version = std::str::from_utf8(version).ok().and_then(|text| text.parse().ok());
    let record = (body.len() <= RECORD_BYTES_MAX).then(|| serde_json::from_slice::<R>(body).ok()).flatten();
    Ok(match (version, record.filter(R::is_valid)) {
        (Some(version), Some(record)) => Read::Record(Versioned { version, record }),
        _ => Read::Invalid,
    })
}

pub(super) fn key<R: Record>(port: &PortName) -> String {
    format!("{PREFIX}:{}:{port}", R::KIND)
}

fn lease_key(node: &Name) -> String {
    format!("{PREFIX}:lease:{node}")
}

/// Key of the audit stream.
pub(super) fn audit() -> String {
    format!("{PREFIX}:audit")
}

fn channel(node: &Name) -> String {
    format!("{PREFIX}:notify:{node}")
}

pub(super) fn number(reply: &Reply) -> Result<u64, RedisError> {
    match reply {
        Reply::Integer(number) if *number >= 0 => Ok(*number as u64),
        other => Err(RedisError::Unexpected(other.clone())),
    }
}

fn text(reply: Reply) -> Result<String, RedisError> {
    match reply {
        Reply::Bulk(Some(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => Err(RedisError::Unexpected(other)),
    }
}

/// Takes a lease that is free, expired or already held by the caller. The server's clock decides, so clocks
/// of daemons may differ. The fencing number survives the lease, so that the next one is larger. A lease
/// that would last longer than any daemon requests is ignored: the server's clock was set back.
const LEASE: &str = "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'holder', 'until', 'fence')
local left = (tonumber(held[2] or '0') or 0) - now
local runs = left > 0 and left <= 2 * tonumber(ARGV[2])
if runs and held[1] ~= ARGV[1] then return 0 end
local fence = tonumber(held[3] or '0') or 0
if fence < 0 or fence > 1e15 or fence ~= math.floor(fence) then fence = 0 end
if fence == 0 or not runs or held[1] ~= ARGV[1] then fence = fence + 1 end
redis.call('HSET', KEYS[1], 'fence', string.format('%d', fence), 'holder', ARGV[1], 'until', now + tonumber(ARGV[2]))
return fence";

/// Writes a record unless a newer lease exists or it is unchanged. An invalid version restarts at 1.
const PUT: &str = "\
local newest = redis.call('HGET', KEYS[2], 'fence')
if newest and (tonumber(newest) or 0) > tonumber(ARGV[1]) then return 0 end
local stands = redis.call('HMGET', KEYS[1], 'version', 'body')
local version = tonumber(stands[1] or '0') or 0
if version < 0 or version > 1e15 or version ~= math.floor(version) then version = 0 end
if stands[2] == ARGV[2] and version > 0 then return version end
version = version + 1
redis.call('HSET', KEYS[1], 'version', string.format('%d', version), 'body', ARGV[2])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[6], '*', 'port', ARGV[4], 'kind', ARGV[5], 'version', version, 'body', ARGV[2])
redis.call('PUBLISH', ARGV[3], ARGV[4])
return version";
