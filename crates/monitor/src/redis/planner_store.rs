//! Redis access of a planner: reads the observations of all ports and writes advice.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::name::{Name, PortName};
use crate::redis::audit::{self, AuditEntry};
use crate::redis::connection::{RedisConnection, RedisError, RedisServer};
use crate::redis::key::{self, PLANNER_LEASE};
use crate::redis::lease::{self, Lease};
use crate::redis::record::{ActionRecord, Advice, HaltRecord, HoldRecord, Observation, Record};
use crate::redis::resp::Reply;
use crate::redis::store::{self, Records, UnusableServer};
use crate::redis::transaction::{self, PutOutcome, RecordWrite};

/// Node and port name in the key of the halt record.
const FABRIC: &str = "fabric";
/// Maximum number of records written in one batch.
const BATCH: usize = 256;
/// Maximum number of leases read in one batch.
const LEASES: usize = 512;
/// Maximum number of messages taken at once.
const MESSAGES_MAX: u32 = 4096;

/// The store of a planner.
pub struct PlannerStore {
    connection: RedisConnection,
    /// Subscription to the changes of all nodes.
    changes: RedisConnection,
}

impl PlannerStore {
    /// Connects, checks the eviction policy, and starts to track [`changed_ports`](Self::changed_ports).
    pub fn open(server: &RedisServer) -> Result<Self, UnusableServer> {
        let connection = store::open(server)?;
        let mut changes = RedisConnection::open(server)?;
        for pattern in [key::CHANGES, key::ADVISED] {
            changes.call(&[b"PSUBSCRIBE", pattern.as_bytes()])?;
        }
        Ok(Self { connection, changes })
    }

    /// Takes or renews the leader's lease for `length`; `None` if another planner holds it.
    pub fn lease(&mut self, holder: &str, length: Duration) -> Result<Option<Lease>, RedisError> {
        lease::lease(&mut self.connection, PLANNER_LEASE, holder, length)
    }

    /// Waits up to `within` for ports with new observations or holds. Messages may be lost or forged, so the
    /// observations must be read with [`get`](Self::get).
    pub fn changed_ports(&mut self, within: Duration) -> Result<BTreeSet<PortName>, RedisError> {
        self.ports_with_changes(within, &[Observation::KIND, HoldRecord::KIND])
    }

    /// Waits up to `within` for ports with new records of any kind, including those of planners.
    pub fn all_changed_ports(&mut self, within: Duration) -> Result<BTreeSet<PortName>, RedisError> {
        let kinds = [Observation::KIND, ActionRecord::KIND, HoldRecord::KIND, Advice::KIND];
        self.ports_with_changes(within, &kinds)
    }

    fn ports_with_changes(
        &mut self,
        within: Duration,
        kinds: &[&str],
    ) -> Result<BTreeSet<PortName>, RedisError> {
        let mut ports = BTreeSet::new();
        let mut wait = within;
        for _ in 0..MESSAGES_MAX {
            let Some(message) = self.changes.next_reply(wait)? else { break };
            ports.extend(changed_port(&message, kinds));
            // Only what has arrived already: the rest comes with the next call.
            wait = Duration::ZERO;
        }
        Ok(ports)
    }

    /// Reads the records of these ports.
    pub fn get<R: Record>(&mut self, ports: &[PortName]) -> Result<Records<R>, RedisError> {
        store::get_records(&mut self.connection, ports)
    }

    /// Reads whether the daemons of these nodes are alive: whether they renewed their lease within
    /// `silence`. `None` for nodes that never had a daemon.
    pub fn are_live(&mut self, nodes: &[Name], silence: Duration) -> Result<Vec<Option<bool>>, RedisError> {
        let mut live = Vec::with_capacity(nodes.len());
        for nodes in nodes.chunks(LEASES) {
            let keys: Vec<String> = nodes.iter().map(key::lease).collect();
            live.extend(lease::are_live(&mut self.connection, &keys, silence)?);
        }
        Ok(live)
    }

    /// Reads when the daemons of these nodes renewed their lease of this length last, by the server's clock;
    /// `None` for nodes that never had a daemon.
    pub fn renewals_ms(&mut self, nodes: &[Name], length: Duration) -> Result<Vec<Option<u64>>, RedisError> {
        let mut renewals = Vec::with_capacity(nodes.len());
        for nodes in nodes.chunks(LEASES) {
            let keys: Vec<String> = nodes.iter().map(key::lease).collect();
            let (_, ends) = lease::ends(&mut self.connection, &keys)?;
            let length_ms = length.as_millis() as u64;
            renewals.extend(ends.into_iter().map(|end| Some(end?.saturating_sub(length_ms))));
        }
        Ok(renewals)
    }

    /// Reads the entries of a node's audit stream, or of the planners', that are newer than the one with the
    /// id `after`; the newest ones first.
    pub fn audit(&mut self, node: Option<&Name>, after: Option<&str>) -> Result<Vec<AuditEntry>, RedisError> {
        audit::read(&mut self.connection, node, after)
    }

    pub(super) fn connection(&mut self) -> &mut RedisConnection {
        &mut self.connection
    }

    /// Returns the server's time in milliseconds since 1970.
    pub fn time_ms(&mut self) -> Result<u64, RedisError> {
        lease::milliseconds(&self.connection.call(&[b"TIME"])?)
    }

    /// Writes advice for ports and notifies their nodes. Unchanged advice is not written again.
    pub fn put_advice(
        &mut self,
        lease: Lease,
        advice: &[(PortName, Advice)],
    ) -> Result<PutOutcome, RedisError> {
        self.put_all(Some(lease), advice, None)
    }

    /// Reads the halt record.
    pub fn halt(&mut self) -> Result<Option<HaltRecord>, RedisError> {
        let Records { records, .. } = self.get::<HaltRecord>(&[fabric()])?;
        Ok(records.into_iter().next().flatten().map(|stored| stored.record))
    }

    /// Writes the halt record.
    pub fn put_halt(&mut self, lease: Lease, halt: &HaltRecord) -> Result<PutOutcome, RedisError> {
        self.put_all(Some(lease), &[(fabric(), halt.clone())], None)
    }

    /// Clears the halt. Every planner user may do this, with or without the lease.
    pub fn release(&mut self, reason: &str) -> Result<(), RedisError> {
        let halt = HaltRecord { halted: false, reason: reason.to_owned(), nodes: Vec::new() };
        self.put_all(None, &[(fabric(), halt)], None).map(|_| ())
    }

    /// Holds ports, or ends holds. Every planner user may do this, with or without the lease. The audit
    /// stream names the operator `by`.
    pub fn put_holds(&mut self, holds: &[(PortName, HoldRecord)], by: &str) -> Result<(), RedisError> {
        self.put_all(None, holds, Some(by)).map(|_| ())
    }

    fn put_all<R: Record>(
        &mut self,
        lease: Option<Lease>,
        records: &[(PortName, R)],
        by: Option<&str>,
    ) -> Result<PutOutcome, RedisError> {
        let mut last = PutOutcome::Stored(0);
        for records in records.chunks(BATCH) {
            let writes: Vec<RecordWrite> = records
                .iter()
                .map(|(port, record)| Ok(RecordWrite::from_planner(port, record)?.by(by)))
                .collect::<Result<_, RedisError>>()?;
            let lease = lease.map(|lease| (PLANNER_LEASE, lease));
            last = transaction::write(&mut self.connection, lease, &writes)?;
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

/// Returns the port with a new record of one of these kinds. A node may only report its own ports.
fn changed_port(message: &Reply, kinds: &[&str]) -> Option<PortName> {
    let Reply::Array(Some(parts)) = message else { return None };
    let text = |at: usize| match parts.get(at) {
        Some(Reply::Bulk(Some(bytes))) => std::str::from_utf8(bytes).ok(),
        _ => None,
    };
    let (channel, message) = (text(2)?, text(3)?);
    let (kind, port) = message.split_once(' ')?;
    let port: PortName = port.parse().ok()?;
    let is_own = key::node_of_channel(channel).is_some_and(|node| node == port.node);
    (kinds.contains(&kind) && is_own).then_some(port)
}
