//! Counters of a switch that runs `SONiC`: it keeps them in a Redis of its own, which is read here and never written.
//!
//! `COUNTERS_DB` has a map from ports to objects and the statistics of each object; whether a port is up stands in `APPL_DB`. A switch of
//! several chips has a server for each, and so several of these. Its own poll interval is a second by default: asking
//! more often would read the same again.

use std::collections::BTreeMap;

use wiremend_units::{Span, Time};

use crate::bus::resp::Answer;
use crate::bus::{Connection, Fault, Server};
use crate::counter::Counters;
use crate::snapshot::Snapshot;
use crate::source::Group;
use crate::source::names::{SWITCH, counter_of};

/// Reads the ports of one chip.
pub struct Sonic {
    server: Server,
    ports: Vec<String>,
    interval: Span,
    open: Option<Connection>,
    /// The object of each port.
    objects: BTreeMap<String, String>,
    read_at: Option<Time>,
    snapshots: BTreeMap<String, Snapshot>,
    unsaid: Vec<String>,
    said: bool,
}

impl Sonic {
    /// Where a switch keeps it.
    pub const SOCKET: &str = "/var/run/redis/redis.sock";
    const APPL_DB: &[u8] = b"0";
    const COUNTERS_DB: &[u8] = b"2";
    /// Ports that are asked about in one breath.
    const BATCH: usize = 128;
    /// More ports than any switch has.
    const PORTS_MAX: usize = 4096;

    /// Of these ports, read no more often than `interval`.
    pub fn new(server: Server, ports: Vec<String>, interval: Span) -> Self {
        Self {
            server,
            ports,
            interval,
            open: None,
            objects: BTreeMap::new(),
            read_at: None,
            snapshots: BTreeMap::new(),
            unsaid: Vec::new(),
            said: false,
        }
    }

    /// A port as it was last read, and when. All ports are read together.
    pub fn read(&mut self, port: &str, now: Time) -> Option<(Time, Snapshot)> {
        if self.read_at.is_none_or(|at| now >= at.saturating_add(self.interval)) {
            self.read_at = Some(now);
            self.snapshots.clear();
            match self.refresh() {
                Ok(()) => self.said = false,
                Err(fault) => {
                    self.open = None;
                    if !std::mem::replace(&mut self.said, true) {
                        self.unsaid.push(format!("counters of the switch cannot be read: {fault}"));
                    }
                }
            }
        }
        Some((self.read_at?, *self.snapshots.get(port)?))
    }

    /// What has not been said yet.
    pub fn unsaid(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unsaid)
    }

    fn refresh(&mut self) -> Result<(), Fault> {
        if self.open.is_none() {
            self.open = Some(Connection::open(&self.server)?);
            self.objects.clear();
        }
        if self.ports.iter().any(|port| !self.objects.contains_key(port)) {
            self.learn_objects()?;
        }
        let ports = self.ports.clone();
        for ports in ports.chunks(Self::BATCH) {
            self.read_some(ports)?;
        }
        Ok(())
    }

    fn learn_objects(&mut self) -> Result<(), Fault> {
        let Some(connection) = &mut self.open else { return Ok(()) };
        connection.call(&[b"SELECT", Self::COUNTERS_DB])?;
        let map = strings(connection.call(&[b"HGETALL", b"COUNTERS_PORT_NAME_MAP"])?)?;
        self.objects.clear();
        for pair in map.chunks_exact(2).take(Self::PORTS_MAX) {
            if let [Some(port), Some(object)] = pair {
                self.objects.insert(port.clone(), object.clone());
            }
        }
        for port in &self.ports {
            if !self.objects.contains_key(port) && !self.said {
                self.unsaid.push(format!("the switch has no port `{port}`: it is left out"));
            }
        }
        Ok(())
    }

    fn read_some(&mut self, ports: &[String]) -> Result<(), Fault> {
        let Some(connection) = &mut self.open else { return Ok(()) };
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
            let mut words = vec![&b"HMGET"[..], counters.as_bytes()];
            words.extend(SWITCH.iter().map(|(name, _)| name.as_bytes()));
            words
        }));
        let commands: Vec<&[&[u8]]> = commands.iter().map(Vec::as_slice).collect();
        let mut answers = connection.call_all(&commands)?.into_iter();
        answers.next();
        let states: Vec<Answer> = answers.by_ref().take(known.len()).collect();
        answers.next();
        let mut is_gone = false;
        for (((port, _, _), state), counters) in known.iter().zip(states).zip(answers) {
            let (state, values) = (strings(state)?, strings(counters)?);
            // A switch that was configured anew has other objects.
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

fn snapshot(state: &[Option<String>], values: &[Option<String>]) -> Snapshot {
    let text = |at: usize| state.get(at).and_then(Option::as_deref);
    let number = |at: usize| text(at).and_then(|text| text.parse().ok());
    let mut counters = Counters::default();
    for ((name, _), value) in SWITCH.iter().zip(values) {
        let value = value.as_deref().and_then(|value| value.parse().ok());
        if let (Some(counter), Some(value)) = (counter_of(Group::Switch, name), value) {
            counters.add(counter, value);
        }
    }
    // A switch that does not say whether a port is up is believed by its counters.
    let up = text(0).is_none_or(|status| status == "up");
    Snapshot { up, carrier_changes: number(1), megabits_per_s: number(2), counters }
}

fn strings(answer: Answer) -> Result<Vec<Option<String>>, Fault> {
    match answer {
        Answer::Several(Some(items)) => items
            .into_iter()
            .map(|item| match item {
                Answer::Bytes(bytes) => Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok())),
                other => Err(Fault::Unexpected(other)),
            })
            .collect(),
        Answer::Refused(why) => Err(Fault::Refused(why)),
        other => Err(Fault::Unexpected(other)),
    }
}
