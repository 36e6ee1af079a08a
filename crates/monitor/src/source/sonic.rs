//! Counters of a `SONiC` switch, read from the switch's own Redis.
//!
//! `COUNTERS_DB` maps ports to objects and contains the statistics of each object; `APPL_DB` contains the
//! state of a port. A switch with several chips has one server per chip. The switch polls its chip once a
//! second by default, so faster reads return the same values.

use std::collections::BTreeMap;

use wiremend_units::{Span, Time};

use crate::counter::Counters;
use crate::redis::resp::Reply;
use crate::redis::{RedisConnection, RedisError, RedisServer};
use crate::snapshot::PortSnapshot;
use crate::source::CounterGroup;
use crate::source::counter_names::{SWITCH, counter_for_name};

/// Reads the ports of one chip.
pub struct SonicCounters {
    server: RedisServer,
    ports: Vec<String>,
    interval: Span,
    connection: Option<RedisConnection>,
    /// Object of each port.
    objects: BTreeMap<String, String>,
    read_at: Option<Time>,
    snapshots: BTreeMap<String, PortSnapshot>,
    messages: Vec<String>,
    reported: bool,
}

impl SonicCounters {
    /// Default socket of the switch's Redis.
    pub const SOCKET: &str = "/var/run/redis/redis.sock";
    const APPL_DB: &[u8] = b"0";
    const COUNTERS_DB: &[u8] = b"2";
    /// Number of ports per batch.
    const BATCH: usize = 128;
    /// Maximum number of ports of a switch.
    const PORTS_MAX: usize = 4096;

    /// Creates a reader of these ports with a minimum interval between reads.
    pub fn new(server: RedisServer, ports: Vec<String>, interval: Span) -> Self {
        Self {
            server,
            ports,
            interval,
            connection: None,
            objects: BTreeMap::new(),
            read_at: None,
            snapshots: BTreeMap::new(),
            messages: Vec::new(),
            reported: false,
        }
    }

    /// Returns the last snapshot of a port and its time. All ports are read together.
    pub fn read(&mut self, port: &str, now: Time) -> Option<(Time, PortSnapshot)> {
        if self.read_at.is_none_or(|at| now >= at.saturating_add(self.interval)) {
            self.read_at = Some(now);
            self.snapshots.clear();
            match self.refresh() {
                Ok(()) => self.reported = false,
                Err(fault) => {
                    self.connection = None;
                    if !std::mem::replace(&mut self.reported, true) {
                        self.messages.push(format!("cannot read the counters of the switch: {fault}"));
                    }
                }
            }
        }
        Some((self.read_at?, *self.snapshots.get(port)?))
    }

    /// Returns the messages since the last call.
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    fn refresh(&mut self) -> Result<(), RedisError> {
        if self.connection.is_none() {
            self.connection = Some(RedisConnection::open(&self.server)?);
            self.objects.clear();
        }
        if self.ports.iter().any(|port| !self.objects.contains_key(port)) {
            self.read_objects()?;
        }
        let ports = self.ports.clone();
        for ports in ports.chunks(Self::BATCH) {
            self.read_batch(ports)?;
        }
        Ok(())
    }

    fn read_objects(&mut self) -> Result<(), RedisError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        connection.call(&[b"SELECT", Self::COUNTERS_DB])?;
        let map = strings(connection.call(&[b"HGETALL", b"COUNTERS_PORT_NAME_MAP"])?)?;
        self.objects.clear();
        for pair in map.chunks_exact(2).take(Self::PORTS_MAX) {
            if let [Some(port), Some(object)] = pair {
                self.objects.insert(port.clone(), object.clone());
            }
        }
        for port in &self.ports {
            if !self.objects.contains_key(port) && !self.reported {
                self.messages.push(format!("port `{port}` omitted: the switch does not have it"));
            }
        }
        Ok(())
    }

    fn read_batch(&mut self, ports: &[String]) -> Result<(), RedisError> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let known: Vec<(&String, String, String)> = ports
            .iter()
            .filter_map(|port| {
                let object = self.objects.get(port)?;
                Some((port, format!("PORT_TABLE:{port}"), format!("COUNTERS:{object}")))
            })
            .collect();
        let mut commands: Vec<Vec<&[u8]>> = vec![vec![b"SELECT", Self::APPL_DB]];
        commands.extend(known.iter().map(|(_, table, _)| {
            vec![&b"HMGET"[..], table.as_bytes(), b"oper_status", b"flap_count", b"speed"]
        }));
        commands.push(vec![b"SELECT", Self::COUNTERS_DB]);
        commands.extend(known.iter().map(|(_, _, counters)| {
            let mut args = vec![&b"HMGET"[..], counters.as_bytes()];
            args.extend(SWITCH.iter().map(|(name, _)| name.as_bytes()));
            args
        }));
        let commands: Vec<&[&[u8]]> = commands.iter().map(Vec::as_slice).collect();
        let mut replies = connection.call_all(&commands)?.into_iter();
        replies.next();
        let states: Vec<Reply> = replies.by_ref().take(known.len()).collect();
        replies.next();
        let mut is_gone = false;
        for (((port, _, _), state), counters) in known.iter().zip(states).zip(replies) {
            let (state, values) = (strings(state)?, strings(counters)?);
            // A reconfigured switch has other objects.
            if values.iter().all(Option::is_none) {
                is_gone = true;
                continue;
            }
            self.snapshots.insert((*port).clone(), snapshot(&state, &values));
        }
        if is_gone {
            self.objects.clear();
        }
        Ok(())
    }
}

fn snapshot(state: &[Option<String>], values: &[Option<String>]) -> PortSnapshot {
    let text = |at: usize| state.get(at).and_then(Option::as_deref);
    let number = |at: usize| text(at).and_then(|text| text.parse().ok());
    let mut counters = Counters::default();
    for ((name, _), value) in SWITCH.iter().zip(values) {
        let value = value.as_deref().and_then(|value| value.parse().ok());
        if let (Some(counter), Some(value)) = (counter_for_name(CounterGroup::Switch, name), value) {
            counters.add(counter, value);
        }
    }
    // Without a status the port counts as up.
    let up = text(0).is_none_or(|status| status == "up");
    PortSnapshot { up, carrier_changes: number(1), megabits_per_s: number(2), counters }
}

fn strings(reply: Reply) -> Result<Vec<Option<String>>, RedisError> {
    match reply {
        Reply::Array(Some(items)) => items
            .into_iter()
            .map(|item| match item {
                Reply::Bulk(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok())),
                other => Err(RedisError::Unexpected(other)),
            })
            .collect(),
        Reply::Error(reason) => Err(RedisError::Refused(reason)),
        other => Err(RedisError::Unexpected(other)),
    }
}
