//! The main loop of a node's daemon.

use std::path::Path;
use std::time::Duration;

use wiremend_dataplane::event_loop::Clock;
use wiremend_units::{Span, Time};

use super::exporter::Exporter;
use super::local_machine::LocalMachine;
use super::log::NodeLog;
use super::metrics::DaemonMetrics;
use super::retry::Retry;
use super::{Error, LoopEnd, Service, WAIT_MAX};
use crate::config::DaemonConfig;
use crate::daemon::Daemon;
use crate::daemon_event::DaemonEvent;
use crate::name::Name;
use crate::redis::{ChangeNotifier, RedisServer, Store, UnusableServer};

impl Service<'_> {
    /// Runs a node's daemon. `sysfs` is the sysfs mount point, `run_dir` contains the relays' sockets.
    pub fn run_node(
        &self,
        config: &DaemonConfig,
        server: RedisServer,
        sysfs: &Path,
        run_dir: &Path,
    ) -> Result<(), Error> {
        let missing = LocalMachine::check(config, sysfs)?;
        let _lock = self.lock()?;
        let log = NodeLog::new(config, self.log);
        let devices: Vec<String> = config.links.iter().map(|link| link.port.to_string()).collect();
        let version = self.version;
        let mut exporter =
            Exporter::open(&self.metrics, move |metrics: &DaemonMetrics| metrics.page(version, &devices))?;
        let (links, does) = (config.links.len(), config.act.mode.description());
        log.message(&format!("`{}` {does}; monitored links: {links}", config.node));
        for reason in missing {
            log.message(&format!("{reason}; the daemon goes on with the other ports"));
        }
        let mut redis = RedisSession::new(server, config, &log);
        let machine = |clock| LocalMachine::new(config, sysfs.to_owned(), run_dir.to_owned(), clock);
        // The clock expires after some months. The next daemon restores its state from Redis.
        while self.serve_node(config, &log, &mut redis, &mut exporter, machine) == LoopEnd::ClockExpired {
            redis.retry = Retry::default();
        }
        Ok(())
    }

    fn serve_node(
        &self,
        config: &DaemonConfig,
        log: &NodeLog<'_>,
        redis: &mut RedisSession<'_>,
        exporter: &mut Exporter<'_, DaemonMetrics>,
        machine: impl Fn(Clock) -> LocalMachine,
    ) -> LoopEnd {
        let clock = Clock::start();
        let mut machine = machine(clock);
        let holder = self.holder(&config.node);
        let mut daemon = Daemon::new(config.links.clone(), config.thresholds, config.act, holder);
        let mut due = clock.now();
        let end = self.duration.map(|span| due.saturating_add(span));
        let (mut polls, mut poll_seconds) = (0, 0.0);
        loop {
            let now = clock.now();
            if let Some(loop_end) = self.loop_end(&clock, now, end) {
                return loop_end;
            }
            if now >= due {
                // A missed reading is skipped.
                due = now.saturating_add(Span::from_ns(config.poll.as_nanos() as u64));
                let events = daemon.read_ports(&mut machine);
                polls += 1;
                poll_seconds += clock.now().since(now).as_ns() as f64 / 1e9;
                log.write(&events);
                for messages in machine.take_messages() {
                    log.message(&messages);
                }
                log.write(&redis.sync(now, &mut daemon, &mut machine, false));
                let (connected, disconnects) = (redis.open.is_some(), redis.disconnects);
                let metrics = DaemonMetrics {
                    polls,
                    poll_seconds,
                    connected,
                    disconnects,
                    ..DaemonMetrics::from_daemon(&daemon)
                };
                exporter.publish(now, metrics);
            }
            let left = Duration::from_nanos(due.since(clock.now().min(due)).as_ns());
            if redis.wait(clock.now(), &mut daemon, left.min(WAIT_MAX)) {
                log.write(&redis.sync(clock.now(), &mut daemon, &mut machine, true));
            }
        }
    }
}

/// The connections of the daemon to Redis, with reconnection.
struct RedisSession<'a> {
    log: &'a NodeLog<'a>,
    server: RedisServer,
    node: Name,
    peers: Vec<Name>,
    open: Option<(Store, ChangeNotifier)>,
    retry: Retry,
    disconnects: u64,
}

impl<'a> RedisSession<'a> {
    fn new(server: RedisServer, config: &DaemonConfig, log: &'a NodeLog<'a>) -> Self {
        let node = config.node.clone();
        let peers = config.links.iter().map(|link| link.peer.node.clone()).collect();
        Self { log, server, node, peers, open: None, retry: Retry::default(), disconnects: 0 }
    }

    fn sync(
        &mut self,
        now: Time,
        daemon: &mut Daemon,
        machine: &mut LocalMachine,
        notified: bool,
    ) -> Vec<DaemonEvent> {
        if self.open.is_none() && self.retry.is_due(now) {
            match self.connect() {
                Ok(open) => {
                    self.open = Some(open);
                    daemon.on_connection_change();
                }
                Err(reason) => self.lost(now, daemon, &reason),
            }
        }
        let Some((store, _)) = &mut self.open else { return Vec::new() };
        match daemon.sync(now, store, machine, notified) {
            Ok(events) => {
                if self.retry.on_success() {
                    self.log.message("Redis is reachable again");
                }
                events
            }
            Err(fault) => {
                self.lost(now, daemon, &UnusableServer::Redis(fault));
                Vec::new()
            }
        }
    }

    /// Waits for a notification. Without a connection it only waits.
    fn wait(&mut self, now: Time, daemon: &mut Daemon, within: Duration) -> bool {
        let Some((_, notifier)) = &mut self.open else {
            std::thread::park_timeout(within);
            return false;
        };
        match notifier.wait(within) {
            Ok(notified) => notified,
            Err(fault) => {
                self.lost(now, daemon, &UnusableServer::Redis(fault));
                false
            }
        }
    }

    fn connect(&self) -> Result<(Store, ChangeNotifier), UnusableServer> {
        let store = Store::open(&self.server, self.node.clone())?;
        let notifier = ChangeNotifier::open(&self.server, &self.node, &self.peers)?;
        Ok((store, notifier))
    }

    fn lost(&mut self, now: Time, daemon: &mut Daemon, reason: &UnusableServer) {
        self.disconnects += u64::from(self.open.take().is_some());
        daemon.on_connection_change();
        if let Some(reason) = self.retry.on_failure(now, reason) {
            self.log.message(&format!("{reason}; the daemon keeps reading ports and changes no protection"));
        }
    }
}
