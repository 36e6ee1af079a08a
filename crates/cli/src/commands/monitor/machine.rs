//! What a daemon sees and does on this machine.

use std::path::PathBuf;

use wiremend_dataplane::cable::{CableRequest, CableStatus};
use wiremend_dataplane::control::{Unanswered, ask};
use wiremend_dataplane::drive::Clock;
use wiremend_dataplane::relay::{Request, SOCKET, Status};
use wiremend_monitor::bus::Doing;
use wiremend_monitor::{
    Config, Counted, CounterSource, Counters, Group, Machine, Missing, Reading, Sysfs, counter_of,
};

/// This machine.
pub(super) struct ThisMachine {
    config: Config,
    sysfs: Sysfs,
    /// The tree is the kernel's own: drivers may be asked too.
    is_own: bool,
    run_dir: PathBuf,
    clock: Clock,
}

impl ThisMachine {
    pub(super) fn new(config: &Config, sysfs: PathBuf, run_dir: PathBuf, clock: Clock) -> Self {
        let is_own = sysfs.as_os_str() == Sysfs::ROOT;
        Self { config: config.clone(), sysfs: Sysfs::new(sysfs), is_own, run_dir, clock }
    }

    /// Counters that could not be read and have not been said yet.
    pub(super) fn unsaid(&mut self) -> Vec<Missing> {
        self.sysfs.unsaid()
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
                self.sysfs.read(port, driver).ok()?.reading(self.clock.now())
            }
            CounterSource::Cable { socket, forth } => {
                let status: CableStatus = ask(socket, &CableRequest::Status).ok()?;
                let lane = if *forth { &status.forth } else { &status.back };
                let counted = Counted::GoodAndBad { good: lane.delivered, bad: lane.crc_errors };
                Some(Reading { at: self.clock.now(), up: true, carrier_changes: None, counted })
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

/// What the driver of an interface counts. One that does not answer counts nothing.
pub(super) fn driver_counters(interface: &str) -> Counters {
    let mut counters = Counters::default();
    for (name, value) in wiremend_dataplane::net::statistics(interface).unwrap_or_default() {
        if let Some(counter) = counter_of(Group::Driver, &name) {
            counters.add(counter, value);
        }
    }
    counters
}
