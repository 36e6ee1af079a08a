//! The local machine: its port counters and relays.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use wiremend_dataplane::control::{ControlError, send_request};
use wiremend_dataplane::event_loop::Clock;
use wiremend_dataplane::relay::{Request, SOCKET, Status};
use wiremend_dataplane::wire::{WireRequest, WireStatus};
use wiremend_units::{Span, Time};

use super::Error;
use crate::config::{CounterFileKey, CounterSource, DaemonConfig};
use crate::counter::{Counter, Counters};
use crate::daemon::{Machine, RelayState};
use crate::decision::Protector;
use crate::name::Name;
use crate::port_monitor::PortReading;
use crate::redis::{CounterRecord, LinkAction, RedisServer, RelayRecord};
use crate::snapshot::PortSnapshot;
use crate::source::{CounterFile, DriverCounters, SonicCounters, SysfsCounters};

/// The local machine.
pub(crate) struct LocalMachine {
    config: DaemonConfig,
    sysfs: SysfsCounters,
    /// By address: a switch with several chips has several servers.
    sonics: BTreeMap<String, SonicCounters>,
    /// By source without the name of the port: a file may have the counters of many ports.
    files: BTreeMap<CounterFileKey, CounterFile>,
    driver: DriverCounters,
    /// Whether `sysfs` is the kernel's tree, so that driver statistics belong to the same ports.
    is_kernel_tree: bool,
    run_dir: PathBuf,
    clock: Clock,
}

impl LocalMachine {
    pub(crate) fn new(config: &DaemonConfig, sysfs: PathBuf, run_dir: PathBuf, clock: Clock) -> Self {
        let is_kernel_tree = sysfs.as_os_str() == SysfsCounters::ROOT;
        let sonics = sonic_sources(config);
        let files = file_sources(config);
        Self {
            config: config.clone(),
            sysfs: SysfsCounters::new(sysfs),
            sonics,
            files,
            driver: DriverCounters::default(),
            is_kernel_tree,
            run_dir,
            clock,
        }
    }

    /// Checks that the configured ports exist. Returns a message for each missing one; only if all are
    /// missing, the daemon cannot run.
    pub(crate) fn check(config: &DaemonConfig, sysfs: &Path) -> Result<Vec<String>, Error> {
        let mut wanted = config.links.iter().zip(&config.sources);
        if !wanted.any(|(_, source)| *source == CounterSource::Sysfs) {
            return Ok(Vec::new());
        }
        let net = sysfs.join("class/net");
        let entries = std::fs::read_dir(&net).map_err(|error| {
            let shown = net.display();
            Error::Environment(format!(
                "no interfaces below `{shown}` ({error}); set --sysfs to the mount point of sysfs"
            ))
        })?;
        let names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut missing = Vec::new();
        for (link, source) in config.links.iter().zip(&config.sources) {
            let port = link.port.as_str();
            if *source == CounterSource::Sysfs && !known.contains(&port) {
                let reason = wiremend_units::unknown_name("interface", port, &known);
                missing.push(format!("link {port}: {reason}"));
            }
        }
        if missing.len() == config.links.len() {
            return Err(Error::Input(missing.swap_remove(0)));
        }
        Ok(missing)
    }

    /// Returns messages about unreadable counters, each once.
    pub(crate) fn take_messages(&mut self) -> Vec<String> {
        let unreadable = self.sysfs.take_unreported().into_iter();
        let mut messages: Vec<String> = unreadable
            .map(|unreadable| {
                format!("counter `{}` omitted: {}", unreadable.file.display(), unreadable.reason)
            })
            .collect();
        for (address, sonic) in &mut self.sonics {
            messages.extend(sonic.take_messages().into_iter().map(|reason| format!("{address}: {reason}")));
        }
        for file in self.files.values_mut() {
            messages.extend(file.take_messages());
        }
        messages
    }

    /// The name of the port of link number `at`.
    pub(crate) fn port(&self, at: usize) -> &Name {
        &self.config.links[at].port
    }

    /// All counters of link number `at`, and the state of its relay.
    pub(crate) fn counters(&mut self, at: usize) -> Option<CounterRecord> {
        let (_, snapshot) = self.snapshot(at, SysfsCounters::read)?;
        let relay = match self.config.links[at].protect {
            Protector::Relay => self.request(at, &Request::Status).ok().map(relay_record),
            Protector::None => None,
        };
        let PortSnapshot { up, carrier_changes, counters, .. } = snapshot;
        Some(CounterRecord { up, carrier_changes, counters, relay })
    }

    /// Reads link number `at`; its own counters by `of_interface`.
    fn snapshot(
        &mut self,
        at: usize,
        of_interface: fn(&mut SysfsCounters, &str, Counters) -> io::Result<PortSnapshot>,
    ) -> Option<(Time, PortSnapshot)> {
        let port = self.config.links[at].port.as_str();
        let now = self.clock.now();
        match &self.config.sources[at] {
            CounterSource::Sysfs => {
                let driver = if self.is_kernel_tree { self.driver.read(port) } else { Counters::default() };
                Some((self.clock.now(), of_interface(&mut self.sysfs, port, driver).ok()?))
            }
            CounterSource::Wire { socket, a_to_b } => {
                let status: WireStatus = send_request(socket, &WireRequest::Status).ok()?;
                let lane = if *a_to_b { &status.a_to_b } else { &status.b_to_a };
                let counted = [(Counter::RxGood, lane.delivered), (Counter::RxCrc, lane.crc_errors)];
                let counters = counted.into_iter().collect();
                Some((self.clock.now(), PortSnapshot { up: true, counters, ..PortSnapshot::default() }))
            }
            CounterSource::Sonic { address, name } => {
                self.sonics.get_mut(address)?.read(name.as_deref().unwrap_or(port), now)
            }
            CounterSource::NodeExporter { .. } | CounterSource::OpenConfig { .. } => {
                let (key, name) = self.config.sources[at].file(port)?;
                #[expect(
                    clippy::disallowed_methods,
                    reason = "the age of a file, which no result depends on"
                )]
                let wall = SystemTime::now();
                self.files.get_mut(&key)?.read(&name, now, wall)
            }
        }
    }

    fn relay_socket(&self, at: usize) -> PathBuf {
        self.run_dir.join(self.config.links[at].port.as_str()).join(SOCKET)
    }

    fn request(&self, at: usize, request: &Request) -> Result<Status, String> {
        send_request(&self.relay_socket(at), request).map_err(|reason| match reason {
            ControlError::Unreachable(error) => format!("the relay of this port does not answer: {error}"),
            ControlError::InvalidResponse(reason) => format!("invalid response of the relay: {reason}"),
            ControlError::Refused(reason) => format!("the relay refused: {reason}"),
        })
    }
}

impl Machine for LocalMachine {
    fn read(&mut self, at: usize) -> Option<PortReading> {
        let (at, snapshot) = self.snapshot(at, SysfsCounters::read_frames)?;
        snapshot.reading(at)
    }

    fn relay_state(&mut self, at: usize) -> Result<RelayState, String> {
        let status = self.request(at, &Request::Status)?;
        let action = match status.copies {
            _ if !status.wanted => LinkAction::Nothing,
            copies => LinkAction::Protect { copies },
        };
        Ok(RelayState { action, process: status.pid })
    }

    fn apply(&mut self, at: usize, action: &LinkAction) -> Result<(), String> {
        match action {
            LinkAction::Protect { copies } => {
                self.request(
                    at,
                    &Request::Set { mode: None, classes: None, copies: Some(*copies), target: None },
                )?;
                self.request(at, &Request::Activate)?;
            }
            LinkAction::Nothing | LinkAction::Decline { .. } => {
                self.request(at, &Request::Deactivate)?;
            }
        }
        Ok(())
    }
}

fn relay_record(status: Status) -> RelayRecord {
    RelayRecord {
        protects: [status.sending, status.receiving],
        level: status.protection_level,
        copies: status.copies,
        loss: status.loss,
        held_back: status.held_back,
        counts: status.link_counts.into_iter().filter(|(_, count)| *count > 0).collect(),
    }
}

/// Returns the counter sources of all `SONiC` switches, by server address.
fn sonic_sources(config: &DaemonConfig) -> BTreeMap<String, SonicCounters> {
    let mut ports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (link, source) in config.links.iter().zip(&config.sources) {
        if let CounterSource::Sonic { address, name } = source {
            let port = name.clone().unwrap_or_else(|| link.port.to_string());
            ports.entry(address.clone()).or_default().push(port);
        }
    }
    let sonic = |(address, ports): (String, Vec<String>)| {
        let server_address = address.parse().expect("the configuration was checked");
        let server = RedisServer { address: server_address, tls: None, login: None, timeout: SONIC_TIMEOUT };
        (address, SonicCounters::new(server, ports, SONIC_INTERVAL_MIN))
    };
    ports.into_iter().map(sonic).collect()
}

/// Returns the readers of all files.
fn file_sources(config: &DaemonConfig) -> BTreeMap<CounterFileKey, CounterFile> {
    let mut names: BTreeMap<CounterFileKey, Vec<String>> = BTreeMap::new();
    for (link, source) in config.links.iter().zip(&config.sources) {
        if let Some((key, name)) = source.file(link.port.as_str()) {
            names.entry(key).or_default().push(name);
        }
    }
    names.into_iter().map(|(key, names)| (key.clone(), key.open(names))).collect()
}

/// Slightly below the switch's poll interval, so that a daemon's poll of one second is never early.
const SONIC_INTERVAL_MIN: Span = Span::from_ms(900);
/// The server is local, and all ports wait for it.
const SONIC_TIMEOUT: Duration = Duration::from_millis(500);
