//! Redis access of a planner: reads the observations of all ports and writes advice.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::name::{Name, PortName};
use crate::redis::connection::{RedisConnection, RedisError, RedisServer};
use crate::redis::record::{Advice, HaltRecord, Observation, Record};
use crate::redis::resp::Reply;
use crate::redis::store::{self, Lease, PutCommand, PutOutcome, Records, UnusableServer};

/// Key of the lease of the leading planner.
pub(super) const PLANNER_LEASE: &str = "wiremend:planner-lease";
/// Node and port name in the key of the halt record.
const FABRIC: &str = "fabric";
/// Maximum number of records written in one batch.
const BATCH: usize = 256;
/// Maximum number of stream entries read at once.
const ENTRIES_MAX: &[u8] = b"4096";

/// The store of a planner.
pub struct PlannerStore {
    connection: RedisConnection,
    /// Connection for blocking reads of the audit stream.
    blocking: RedisConnection,
    /// Id of the last stream entry that was read.
    last_entry: String,
}

impl PlannerStore {
    /// Connects, checks the eviction policy, and starts to track [`changed_ports`](Self::changed_ports).
    pub fn open(server: &RedisServer) -> Result<Self, UnusableServer> {
        let mut connection = store::open(server)?;
        let blocking = RedisConnection::open(server)?;
        let last_entry = last_entry(&mut connection)?;
        Ok(Self { connection, blocking, last_entry })
    }

    /// Takes or renews the leader's lease for `length`; `None` if another planner holds it.
    pub fn lease(&mut self, holder: &str, length: Duration) -> Result<Option<Lease>, RedisError> {
        store::lease(&mut self.connection, PLANNER_LEASE, holder, length)
    }

    /// Waits up to `within` for ports with new observations. Stream entries may be forged, so the
    /// observations must be read with [`get`](Self::get).
    pub fn changed_ports(&mut self, within: Duration) -> Result<BTreeSet<PortName>, RedisError> {
        let within = within.as_millis().max(1).to_string();
        let stream = store::audit();
        let reply = self.blocking.call(&[
            b"XREAD",
            b"COUNT",
            ENTRIES_MAX,
            b"BLOCK",
            within.as_bytes(),
            b"STREAMS",
            stream.as_bytes(),
            self.last_entry.as_bytes(),
        ])?;
        let mut ports = BTreeSet::new();
        for (id, fields) in entries(reply)? {
            self.last_entry = id;
            let field =
                |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            if field("kind") == Some(Observation::KIND)
                && let Some(Ok(port)) = field("port").map(str::parse)
            {
                ports.insert(port);
            }
        }
        Ok(ports)
    }

    /// Reads the records of these ports.
    pub fn get<R: Record>(&mut self, ports: &[PortName]) -> Result<Records<R>, RedisError> {
        store::get_records(&mut self.connection, ports)
    }

    /// Writes advice for ports and notifies their nodes. Unchanged advice is not written again.
    pub fn put_advice(
        &mut self,
        lease: Lease,
        advice: &[(PortName, Advice)],
    ) -> Result<PutOutcome, RedisError> {
        let mut last = PutOutcome::Stored(0);
        for advice in advice.chunks(BATCH) {
            let commands: Vec<PutCommand> = advice
                .iter()
                .map(|(port, advice)| PutCommand::new(port, advice, &port.node, PLANNER_LEASE, lease))
                .collect::<Result<_, _>>()?;
            last = self.put_all(&commands)?;
            if last == PutOutcome::StaleLease {
                break;
            }
        }
        Ok(last)
    }

    /// Reads the halt record.
    pub fn halt(&mut self) -> Result<Option<HaltRecord>, RedisError> {
        let Records { records, .. } = self.get::<HaltRecord>(&[fabric()])?;
        Ok(records.into_iter().next().flatten().map(|stored| stored.record))
    }

    /// Writes the halt record.
    pub fn put_halt(&mut self, lease: Lease, halt: &HaltRecord) -> Result<PutOutcome, RedisError> {
        let about = fabric();
        let commands = PutCommand::new(&about, halt, &about.node, PLANNER_LEASE, lease)?;
        self.put_all(&[commands])
    }

    /// Clears the halt. Every planner user may do this, with or without the lease.
    pub fn release(&mut self, reason: &str) -> Result<(), RedisError> {
        let halt = HaltRecord { halted: false, reason: reason.to_owned() };
        let body = serde_json::to_vec(&halt).map_err(std::io::Error::other)?;
        let key = store::key::<HaltRecord>(&fabric());
        let replies = self.connection.call_all(&[
            &[b"HSET", key.as_bytes(), b"body", &body],
            &[b"HINCRBY", key.as_bytes(), b"version", b"1"],
        ])?;
        for reply in replies {
            if let Reply::Error(reason) = reply {
                return Err(RedisError::Refused(reason));
            }
        }
        Ok(())
    }

    fn put_all(&mut self, commands: &[PutCommand]) -> Result<PutOutcome, RedisError> {
        let commands: Vec<[&[u8]; 12]> = commands.iter().map(PutCommand::command).collect();
        let commands: Vec<&[&[u8]]> = commands.iter().map(|args| &args[..]).collect();
        let mut last = PutOutcome::Stored(0);
        for reply in self.connection.call_all(&commands)? {
            last = store::put(&reply)?;
            if last == PutOutcome::StaleLease {
                break;
            }
        }
        Ok(last)
    }
}

fn fabric() -> PortName {
    let name = |text: &str| text.parse::<Name>().expect("a plain name");
    PortName { node: name(FABRIC), port: name(FABRIC) }
}

/// Returns the id of the newest stream entry.
fn last_entry(connection: &mut RedisConnection) -> Result<String, RedisError> {
    let stream = store::audit();
    let reply = connection.call(&[b"XREVRANGE", stream.as_bytes(), b"+", b"-", b"COUNT", b"1"])?;
    Ok(stream_entries(reply)?.pop().map_or_else(|| "0-0".to_owned(), |(id, _)| id))
}

/// Id and fields of a stream entry.
type Entry = (String, Vec<(String, String)>);

/// Parses the reply of `XREAD` on one stream.
fn entries(reply: Reply) -> Result<Vec<Entry>, RedisError> {
    match reply {
        // Timeout without new entries.
        Reply::Array(None) | Reply::Bulk(None) => Ok(Vec::new()),
        Reply::Array(Some(mut streams)) => match streams.pop() {
            Some(Reply::Array(Some(mut named))) if named.len() == 2 => {
                stream_entries(named.pop().unwrap_or(Reply::Array(None)))
            }
            other => Err(RedisError::Unexpected(other.unwrap_or(Reply::Array(None)))),
        },
        other => Err(RedisError::Unexpected(other)),
    }
}

fn stream_entries(reply: Reply) -> Result<Vec<Entry>, RedisError> {
    let Reply::Array(Some(items)) = reply else { return Err(RedisError::Unexpected(reply)) };
    items.into_iter().map(entry).collect()
}

fn entry(reply: Reply) -> Result<Entry, RedisError> {
    let unexpected = RedisError::Unexpected(Reply::Array(None));
    let Reply::Array(Some(mut parts)) = reply else { return Err(RedisError::Unexpected(reply)) };
    let (Some(Reply::Array(fields)), Some(Reply::Bulk(Some(id)))) = (parts.pop(), parts.pop()) else {
        return Err(unexpected);
    };
    let mut texts = fields.unwrap_or_default().into_iter().map(|field| match field {
        // Other clients may have written arbitrary bytes.
        Reply::Bulk(Some(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    });
    let mut pairs = Vec::new();
    while let (Some(key), Some(value)) = (texts.next(), texts.next()) {
        pairs.push((key, value));
    }
    Ok((String::from_utf8_lossy(&id).into_owned(), pairs))
}
