//! Streams of raw counters: what the ends of a link that needs attention counted over the last day.
//!
//! A port has a stream of its own, so that the history of a link does not depend on how many other links its node has.
//! Daemons write it only while the link [needs attention](crate::Daemon::needs_attention).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counter::Counters;
use crate::name::{Name, PortName};
use crate::redis::audit::{self, StreamEntry};
use crate::redis::connection::{RedisConnection, RedisError};
use crate::redis::key;
use crate::redis::planner_store::PlannerStore;
use crate::redis::store::Store;
use crate::redis::transaction::RECORD_BYTES_MAX;
use crate::snapshot::{PortSnapshot, by_name};

/// The counters of a port at one time, and the state of its relay.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CounterRecord {
    /// Whether the port has a carrier.
    pub up: bool,
    /// Number of carrier changes so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier_changes: Option<u64>,
    /// Counter values by name.
    #[serde(with = "by_name")]
    pub counters: Counters,
    /// The relay of the port, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<RelayRecord>,
}

/// The state of a relay.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RelayRecord {
    /// Whether the sending and the receiving direction are protected.
    pub protects: [bool; 2],
    /// Current level: `ordered`, `non-blocking` or `pass-through`.
    pub level: String,
    /// Number of copies of each retransmitted frame.
    pub copies: u8,
    /// Measured loss rate of the sending direction.
    pub loss: Option<f64>,
    /// Why protection is off although it is switched on.
    pub held_back: Option<String>,
    /// Counters of the endpoint.
    pub counts: BTreeMap<String, u64>,
}

/// Entries of a stream: a day at the longest interval.
const ENTRIES_MAX: &[u8] = b"320";
/// A stream that is not written any more is removed after two days.
const SECONDS_MAX: &[u8] = b"172800";

impl CounterRecord {
    /// The values for [`CounterGrowth`](crate::CounterGrowth).
    pub fn snapshot(&self) -> PortSnapshot {
        let Self { up, carrier_changes, counters, .. } = *self;
        PortSnapshot { up, carrier_changes, megabits_per_s: None, counters }
    }
}

impl Store {
    /// Adds the counters of one of this node's ports to their stream. No lease is required.
    pub fn add_counters(&mut self, port: &Name, record: &CounterRecord) -> Result<(), RedisError> {
        let mut body = serde_json::to_string(record).expect("plain values");
        if body.len() > RECORD_BYTES_MAX {
            // The counters of the relay are also in its metrics.
            body = serde_json::to_string(&CounterRecord { relay: None, ..record.clone() })
                .expect("plain values");
        }
        let (connection, key) = self.stream(port);
        let add: [&[u8]; 7] = [b"XADD", key.as_bytes(), b"MAXLEN", b"~", ENTRIES_MAX, b"*", b"body"];
        connection.call(&[&add[..], &[body.as_bytes()]].concat())?;
        connection.call(&[b"EXPIRE", key.as_bytes(), SECONDS_MAX]).map(drop)
    }
}

impl PlannerStore {
    /// Reads the stream of a port, the oldest entry first: times in milliseconds since 1970 by the server's clock.
    /// Entries that no daemon wrote are left out.
    pub fn counters(&mut self, port: &PortName) -> Result<Vec<(u64, CounterRecord)>, RedisError> {
        read(self.connection(), port)
    }
}

fn read(connection: &mut RedisConnection, port: &PortName) -> Result<Vec<(u64, CounterRecord)>, RedisError> {
    let entries = audit::read_stream(connection, &key::counters(port), None)?;
    let record = |StreamEntry { at_ms, fields, .. }: StreamEntry| {
        let body = fields.get("body")?;
        Some((at_ms, serde_json::from_str::<CounterRecord>(body).ok()?))
    };
    Ok(entries.into_iter().rev().filter_map(record).collect())
}
