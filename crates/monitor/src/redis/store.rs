//! Records of a node in Redis: atomic, versioned writes that require the node's lease.

use std::fmt;
use std::time::Duration;

use crate::name::{Name, PortName};
use crate::redis::connection::{RedisConnection, RedisError, RedisServer};
use crate::redis::key;
use crate::redis::lease::{self, Lease};
use crate::redis::record::{HoldRecord, Record, RepairRecord};
use crate::redis::resp::Reply;
use crate::redis::transaction::{self, PutOutcome, RECORD_BYTES_MAX, RecordWrite};

/// Maximum number of ports per batch of reads.
const BATCH: usize = 512;

/// The store of one node.
pub struct Store {
    connection: RedisConnection,
    node: Name,
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
        lease::lease(&mut self.connection, &key::lease(&self.node), holder, length)
    }

    /// Writes a record of one of this node's ports, unless it is unchanged, and notifies `peer`.
    pub fn put<R: Record>(
        &mut self,
        lease: Lease,
        port: &Name,
        record: &R,
        peer: &Name,
    ) -> Result<PutOutcome, RedisError> {
        let port = self.own(port);
        let write = RecordWrite::from_node(&port, record, peer)?;
        transaction::write(&mut self.connection, Some((&key::lease(&self.node), lease)), &[write])
    }

    /// Records a repair of the link at one of this node's ports. No lease is required.
    pub fn put_repair(&mut self, port: &Name) -> Result<(), RedisError> {
        let write = RecordWrite::from_node(&self.own(port), &RepairRecord {}, &self.node)?.again();
        transaction::write(&mut self.connection, None, &[write]).map(|_| ())
    }

    /// Holds one of this node's ports, or ends the hold. No lease is required. The audit stream names the
    /// operator `by`.
    pub fn put_hold(&mut self, port: &Name, hold: &HoldRecord, by: Option<&str>) -> Result<(), RedisError> {
        let write = RecordWrite::from_node(&self.own(port), hold, &self.node)?.by(by);
        transaction::write(&mut self.connection, None, &[write]).map(|_| ())
    }

    /// Reads whether the daemons of these nodes are alive: whether they renewed their lease within
    /// `silence`. `None` for nodes that never had a daemon.
    pub fn are_live(&mut self, nodes: &[Name], silence: Duration) -> Result<Vec<Option<bool>>, RedisError> {
        let keys: Vec<String> = nodes.iter().map(key::lease).collect();
        lease::are_live(&mut self.connection, &keys, silence)
    }

    /// Returns the server's time in milliseconds since 1970.
    pub fn time_ms(&mut self) -> Result<u64, RedisError> {
        lease::milliseconds(&self.connection.call(&[b"TIME"])?)
    }

    /// The connection, and the key of a port's stream of counters.
    pub(super) fn stream(&mut self, port: &Name) -> (&mut RedisConnection, String) {
        let key = key::counters(&self.own(port));
        (&mut self.connection, key)
    }

    fn own(&self, port: &Name) -> PortName {
        PortName { node: self.node.clone(), port: port.clone() }
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
        let keys: Vec<String> = ports.iter().map(key::record::<R>).collect();
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

fn text(reply: Reply) -> Result<String, RedisError> {
    match reply {
        Reply::Bulk(Some(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        other => Err(RedisError::Unexpected(other)),
    }
}
