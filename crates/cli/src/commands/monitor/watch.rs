//! `wiremend monitor run`: the daemon.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::Duration;

use wiremend_dataplane::drive::Clock;
use wiremend_monitor::bus::{Bell, Server, Store, Unfit};
use wiremend_monitor::{Config, Daemon, Event, Name, Readout};
use wiremend_units::{Span, Time};

use super::config;
use super::machine::ThisMachine;
use super::retry::Retry;
use super::say::Voice;
use super::shown::Shown;
use crate::args::VERSION;
use crate::args::monitor::MonitorRun as Asked;
use crate::failure::{Answer, Failure};
use crate::{rundir, signals};

/// How soon a signal is noticed.
const NAP: Duration = Duration::from_millis(100);

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let config = config::load(&asked.service.config)?;
    let server = config::server(&config.redis, &config.node)?;
    ThisMachine::check(&config, &asked.sysfs)?;
    let _alone = alone(&asked.service.config)?;
    signals::catch()?;
    let voice = Voice::new(&config, asked.service.log);
    let devices: Vec<String> = config.links.iter().map(|link| link.port.to_string()).collect();
    let page = move |readout: &Readout| readout.page(VERSION, &devices);
    let mut shown = Shown::open(&asked.service.shown, page)?;
    let (links, does) = (config.links.len(), config::does(config.conduct.mode));
    voice.remark(&format!("`{}` {does}; links that it watches: {links}", config.node));
    let mut bus = Bus::new(server, &config, &voice);
    // A clock does not last for ever. What was seen stands in the store, from which the next daemon goes on.
    while serve(asked, &config, &voice, &mut bus, &mut shown) == Ended::Worn {
        bus.retry = Retry::default();
    }
    Ok(Answer::Yes)
}

#[derive(PartialEq, Eq)]
pub(super) enum Ended {
    Asked,
    /// The clock.
    Worn,
}

fn serve(
    asked: &Asked,
    config: &Config,
    voice: &Voice<'_>,
    bus: &mut Bus<'_>,
    shown: &mut Shown<Readout>,
) -> Ended {
    let clock = Clock::start();
    let mut machine = ThisMachine::new(config, asked.sysfs.clone(), rundir::of(&asked.place), clock);
    let holder = holder(&config.node, &asked.service.config);
    let mut daemon = Daemon::new(config.links.clone(), config.thresholds, config.conduct, holder);
    let mut due = clock.now();
    let end = asked.service.duration.map(|span| due.saturating_add(span));
    let (mut polls, mut poll_seconds) = (0, 0.0);
    loop {
        let now = clock.now();
        if signals::caught().is_some() || end.is_some_and(|end| now >= end) {
            return Ended::Asked;
        }
        if clock.is_worn() {
            return Ended::Worn;
        }
        if now >= due {
            // A poll that was missed is not made up for.
            due = now.saturating_add(Span::from_ns(config.poll.as_nanos() as u64));
            let events = daemon.watch(&mut machine);
            polls += 1;
            poll_seconds += clock.now().since(now).as_ns() as f64 / 1e9;
            voice.say(&events);
            for unsaid in machine.unsaid() {
                voice.remark(&unsaid);
            }
            let events = bus.exchange(now, &mut daemon, &mut machine, false);
            voice.say(&events);
            let (connected, disconnects) = (bus.open.is_some(), bus.disconnects);
            shown.show(now, Readout { polls, poll_seconds, connected, disconnects, ..Readout::of(&daemon) });
        }
        let left = Duration::from_nanos(due.since(clock.now().min(due)).as_ns());
        if bus.rang(clock.now(), &mut daemon, left.min(NAP)) {
            let events = bus.exchange(clock.now(), &mut daemon, &mut machine, true);
            voice.say(&events);
        }
    }
}

/// One daemon at a time goes by a file.
pub(super) fn alone(config: &Path) -> Result<File, Failure> {
    let shown = config.display();
    let file = File::open(config).map_err(|error| Failure::Input(format!("{shown}: {error}")))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::Environment(format!("another daemon goes by `{shown}`; stop that one first")))
        }
        Err(TryLockError::Error(error)) => {
            Err(Failure::Environment(format!("cannot lock `{shown}`: {error}")))
        }
    }
}

/// Who holds the lease of this node: the machine and the file, so that a daemon that begins anew has it at once and one that goes by
/// another file has not.
pub(super) fn holder(name: &Name, file: &Path) -> String {
    let machine = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    format!("{name}/{}{}", machine.trim(), file.display())
}

/// The connections to Redis, and when to try again.
struct Bus<'a> {
    voice: &'a Voice<'a>,
    server: Server,
    node: wiremend_monitor::Name,
    open: Option<(Store, Bell)>,
    retry: Retry,
    disconnects: u64,
}

impl<'a> Bus<'a> {
    fn new(server: Server, config: &Config, voice: &'a Voice<'a>) -> Self {
        let node = config.node.clone();
        Self { voice, server, node, open: None, retry: Retry::default(), disconnects: 0 }
    }

    fn exchange(
        &mut self,
        now: Time,
        daemon: &mut Daemon,
        machine: &mut ThisMachine,
        rang: bool,
    ) -> Vec<Event> {
        if self.open.is_none() && self.retry.is_due(now) {
            match self.connect() {
                Ok(open) => {
                    self.open = Some(open);
                    daemon.on_disconnect();
                }
                Err(why) => self.lost(now, daemon, &why),
            }
        }
        let Some((store, _)) = &mut self.open else { return Vec::new() };
        match daemon.exchange(now, store, machine, rang) {
            Ok(events) => {
                if self.retry.on_success() {
                    self.voice.remark("Redis is back");
                }
                events
            }
            Err(fault) => {
                self.lost(now, daemon, &Unfit::Fault(fault));
                Vec::new()
            }
        }
    }

    /// Waits for the bell. Without a connection it just waits.
    fn rang(&mut self, now: Time, daemon: &mut Daemon, within: Duration) -> bool {
        let Some((_, bell)) = &mut self.open else {
            std::thread::park_timeout(within);
            return false;
        };
        match bell.rang(within) {
            Ok(rang) => rang,
            Err(fault) => {
                self.lost(now, daemon, &Unfit::Fault(fault));
                false
            }
        }
    }

    fn connect(&self) -> Result<(Store, Bell), Unfit> {
        let store = Store::open(&self.server, self.node.clone())?;
        let bell = Bell::open(&self.server, &self.node)?;
        Ok((store, bell))
    }

    fn lost(&mut self, now: Time, daemon: &mut Daemon, why: &Unfit) {
        self.disconnects += u64::from(self.open.take().is_some());
        daemon.on_disconnect();
        if let Some(why) = self.retry.on_failure(now, why) {
            self.voice.remark(&format!("{why}; watching goes on, nothing is changed"));
        }
    }
}
