//! What a daemon sees and does on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wiremend_dataplane::cable::{CableRequest, CableStatus};
use wiremend_dataplane::control::{Unanswered, ask};
use wiremend_dataplane::drive::Clock;
use wiremend_dataplane::relay::{Request, SOCKET, Status};
use wiremend_units::Span;

use super::Error;
use crate::bus::{Doing, Server};
use crate::config::{Config, CounterSource};
use crate::counter::Counters;
use crate::daemon::Machine;
use crate::foresight::Fec;
use crate::port::{Counted, Reading};
use crate::source::{Group, Sonic, Sysfs, counter_of};

/// This machine.
pub(crate) struct ThisMachine {
    config: Config,
    sysfs: Sysfs,
    /// By address: a switch of several chips has several.
    sonics: BTreeMap<String, Sonic>,
    /// The tree is the kernel's own: drivers may be asked too.
    is_own: bool,
    run_dir: PathBuf,
    clock: Clock,
}

impl ThisMachine {
    pub(crate) fn new(config: &Config, sysfs: PathBuf, run_dir: PathBuf, clock: Clock) -> Self {
        let is_own = sysfs.as_os_str() == Sysfs::ROOT;
        let sonics = sonics(config);
        Self { config: config.clone(), sysfs: Sysfs::new(sysfs), sonics, is_own, run_dir, clock }
    }

    /// Whether the ports are there that the file names.
    pub(crate) fn check(config: &Config, sysfs: &Path) -> Result<(), Error> {
        let mut wanted = config.links.iter().zip(&config.sources);
        if !wanted.any(|(_, source)| *source == CounterSource::Sysfs) {
            return Ok(());
        }
        let net = sysfs.join("class/net");
        let entries = std::fs::read_dir(&net).map_err(|error| {
            let shown = net.display();
            Error::Environment(format!(
                "there are no interfaces below `{shown}` ({error}); say by --sysfs where they are"
            ))
        })?;
        let names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        for (link, source) in config.links.iter().zip(&config.sources) {
            let port = link.port.as_str();
            if *source == CounterSource::Sysfs && !names.iter().any(|name| name == port) {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                let why = wiremend_units::or_nearest("interface", port, &known);
                return Err(Error::Input(format!("link {port}: {why}")));
            }
        }
        Ok(())
    }

    /// What could not be read and has not been said yet.
    pub(crate) fn unsaid(&mut self) -> Vec<String> {
        let missing = self.sysfs.unsaid().into_iter();
        let mut unsaid: Vec<String> = missing
            .map(|missing| format!("`{}` is left out: {}", missing.file.display(), missing.why))
            .collect();
        for (address, sonic) in &mut self.sonics {
            unsaid.extend(sonic.unsaid().into_iter().map(|why| format!("{address}: {why}")));
        }
        unsaid
    }

    fn relay(&self, at: usize) -> PathBuf {
        self.run_dir.join(self.config.links[at].port.as_str()).join(SOCKET)
    }

    fn tell(&self, at: usize, request: &Request) -> Result<Status, String> {
        ask(&self.relay(at), request).map_err(|why| match why {
            Unanswered::Absent(error) => format!("no relay answers for this port: {error}"),
            Unanswered::Garbled(why) => format!("the relay broke off: {why}"),
            Unanswered::Refused(why) => format!("the relay refused: {why}"),
        })
    }
}

impl Machine for ThisMachine {
    fn read(&mut self, at: usize) -> Option<Reading> {
        let port = self.config.links[at].port.as_str();
        match &self.config.sources[at] {
            CounterSource::Sysfs => {
                let driver = if self.is_own { driver_counters(port) } else { Counters::default() };
                self.sysfs.read_frames(port, driver).ok()?.reading(self.clock.now())
            }
            CounterSource::Cable { socket, forth } => {
                let status: CableStatus = ask(socket, &CableRequest::Status).ok()?;
                let lane = if *forth { &status.forth } else { &status.back };
                let counted = Counted::GoodAndBad { good: lane.delivered, bad: lane.crc_errors };
                let fec = Fec::default();
                Some(Reading { at: self.clock.now(), up: true, carrier_changes: None, counted, fec })
            }
            CounterSource::Sonic { address, name } => {
                let port = name.as_deref().unwrap_or(port);
                let (at, snapshot) = self.sonics.get_mut(address)?.read(port, self.clock.now())?;
                snapshot.reading(at)
            }
        }
    }

    fn doing(&mut self, at: usize) -> Result<Doing, String> {
        let status = self.tell(at, &Request::Status)?;
        Ok(match status.copies {
            _ if !status.wanted => Doing::Nothing,
            copies => Doing::Protects { copies },
        })
    }

    fn act(&mut self, at: usize, doing: &Doing) -> Result<(), String> {
        match doing {
            Doing::Protects { copies } => {
                self.tell(
                    at,
                    &Request::Set { mode: None, classes: None, copies: Some(*copies), target: None },
                )?;
                self.tell(at, &Request::Activate)?;
            }
            Doing::Nothing | Doing::Abstains { .. } => {
                self.tell(at, &Request::Deactivate)?;
            }
        }
        Ok(())
    }
}

/// The switches whose counters are to be read, each with its ports.
fn sonics(config: &Config) -> BTreeMap<String, Sonic> {
    let mut ports: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (link, source) in config.links.iter().zip(&config.sources) {
        if let CounterSource::Sonic { address, name } = source {
            let port = name.clone().unwrap_or_else(|| link.port.to_string());
            ports.entry(address.clone()).or_default().push(port);
        }
    }
    let sonic = |(address, ports): (String, Vec<String>)| {
        let place = address.parse().expect("the file was checked");
        let server = Server { place, tls: None, login: None, patience: SONIC_PATIENCE };
        (address, Sonic::new(server, ports, SONIC_INTERVAL_MIN))
    };
    ports.into_iter().map(sonic).collect()
}

/// A switch reads its chip once a second; a little less, so that a poll of a second is never early.
const SONIC_INTERVAL_MIN: Span = Span::from_ms(900);
/// It is on the same machine, and ports wait for it.
const SONIC_PATIENCE: Duration = Duration::from_millis(500);

/// What the driver of an interface counts. One that does not answer counts nothing.
pub fn driver_counters(interface: &str) -> Counters {
    let mut counters = Counters::default();
    for (name, value) in wiremend_dataplane::net::statistics(interface).unwrap_or_default() {
        if let Some(counter) = counter_of(Group::Driver, &name) {
            counters.add(counter, value);
        }
    }
    counters
}
