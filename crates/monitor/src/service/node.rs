//! The daemon of a node, turn by turn.

use std::path::Path;
use std::time::Duration;

use wiremend_dataplane::drive::Clock;
use wiremend_units::{Span, Time};

use super::exporter::Exporter;
use super::log::NodeLog;
use super::machine::ThisMachine;
use super::readout::Readout;
use super::retry::Retry;
use super::{Ended, Error, NAP, Service};
use crate::bus::{Bell, Server, Store, Unfit};
use crate::config::Config;
use crate::daemon::{Daemon, Event};
use crate::name::Name;

impl Service<'_> {
    /// Runs the daemon of a node. `sysfs` is where the kernel shows interfaces, `run_dir` where relays have their sockets.
    pub fn run_node(
        &self,
        config: &Config,
        server: Server,
        sysfs: &Path,
        run_dir: &Path,
    ) -> Result<(), Error> {
        ThisMachine::check(config, sysfs)?;
        let _lock = self.lock()?;
        let log = NodeLog::new(config, self.log);
        let devices: Vec<String> = config.links.iter().map(|link| link.port.to_string()).collect();
        let version = self.version;
        let mut exporter =
            Exporter::open(&self.metrics, move |readout: &Readout| readout.page(version, &devices))?;
        let (links, does) = (config.links.len(), config.conduct.mode.description());
        log.remark(&format!("`{}` {does}; links that it watches: {links}", config.node));
        let mut redis = Redis::new(server, config, &log);
        let machine = |clock| ThisMachine::new(config, sysfs.to_owned(), run_dir.to_owned(), clock);
        // A clock does not last for ever. What was seen stands in the store, from which the next daemon goes on.
        while self.serve_node(config, &log, &mut redis, &mut exporter, machine) == Ended::Worn {
            redis.retry = Retry::default();
        }
        Ok(())
    }

    fn serve_node(
        &self,
        config: &Config,
        log: &NodeLog<'_>,
        redis: &mut Redis<'_>,
        exporter: &mut Exporter<'_, Readout>,
        machine: impl Fn(Clock) -> ThisMachine,
    ) -> Ended {
        let clock = Clock::start();
        let mut machine = machine(clock);
        let holder = self.holder(&config.node);
        let mut daemon = Daemon::new(config.links.clone(), config.thresholds, config.conduct, holder);
        let mut due = clock.now();
        let end = self.duration.map(|span| due.saturating_add(span));
        let (mut polls, mut poll_seconds) = (0, 0.0);
        loop {
            let now = clock.now();
            if let Some(ended) = self.ended(&clock, now, end) {
                return ended;
            }
            if now >= due {
                // A poll that was missed is not made up for.
                due = now.saturating_add(Span::from_ns(config.poll.as_nanos() as u64));
                let events = daemon.watch(&mut machine);
                polls += 1;
                poll_seconds += clock.now().since(now).as_ns() as f64 / 1e9;
                log.say(&events);
                for unsaid in machine.unsaid() {
                    log.remark(&unsaid);
                }
                log.say(&redis.exchange(now, &mut daemon, &mut machine, false));
                let (connected, disconnects) = (redis.open.is_some(), redis.disconnects);
                let readout = Readout { polls, poll_seconds, connected, disconnects, ..Readout::of(&daemon) };
                exporter.show(now, readout);
            }
            let left = Duration::from_nanos(due.since(clock.now().min(due)).as_ns());
            if redis.rang(clock.now(), &mut daemon, left.min(NAP)) {
                log.say(&redis.exchange(clock.now(), &mut daemon, &mut machine, true));
            }
        }
    }
}

/// The connections to Redis, and when to try again.
struct Redis<'a> {
    log: &'a NodeLog<'a>,
    server: Server,
    node: Name,
    open: Option<(Store, Bell)>,
    retry: Retry,
    disconnects: u64,
}

impl<'a> Redis<'a> {
    fn new(server: Server, config: &Config, log: &'a NodeLog<'a>) -> Self {
        let node = config.node.clone();
        Self { log, server, node, open: None, retry: Retry::default(), disconnects: 0 }
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
                    self.log.remark("Redis is back");
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
            self.log.remark(&format!("{why}; watching goes on, nothing is changed"));
        }
    }
}
