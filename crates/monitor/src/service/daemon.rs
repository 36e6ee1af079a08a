//! The main loop of a node's daemon.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};
use wiremend_dataplane::event_loop::Clock;
use wiremend_units::{Span, Time};

use super::counter_trail::CounterTrail;
use super::exporter::{Exporter, Metrics};
use super::local_machine::LocalMachine;
use super::log::NodeLog;
use super::metrics::DaemonMetrics;
use super::retry::Retry;
use super::{Error, Load, LoopEnd, Service, WAIT_MAX};
use crate::config::DaemonConfig;
use crate::daemon::Daemon;
use crate::daemon_event::DaemonEvent;
use crate::decision::LinkConfig;
use crate::name::Name;
use crate::redis::{ChangeNotifier, RedisServer, Store, UnusableServer};

/// The configuration of a node's daemon, and the Redis server with the secrets that it names.
pub struct NodeSetup {
    /// The configuration.
    pub config: DaemonConfig,
    /// The Redis server.
    pub server: RedisServer,
}

/// Where a daemon finds the machine.
#[derive(Clone, Copy)]
pub struct NodePaths<'a> {
    /// Mount point of sysfs.
    pub sysfs: &'a Path,
    /// Directory of the relays' sockets.
    pub run_dir: &'a Path,
}

impl NodeSetup {
    fn daemon(&self, service: &Service<'_>) -> Daemon {
        let DaemonConfig { links, thresholds, act, node, .. } = &self.config;
        Daemon::new(links.clone(), *thresholds, *act, service.holder(node))
    }

    /// Gives a daemon of this setup another configuration. Links that stay keep what they measured, unless
    /// it was measured in another way.
    fn reconfigured(&self, daemon: Daemon, new: &DaemonConfig) -> Daemon {
        let source = |config: &DaemonConfig, link: &LinkConfig| {
            let at = config.links.iter().position(|one| one.port == link.port)?;
            config.sources.get(at).cloned()
        };
        let same_thresholds = self.config.thresholds == new.thresholds;
        let keeps = |link: &LinkConfig| same_thresholds && source(&self.config, link) == source(new, link);
        daemon.reconfigured(new.links.clone(), new.thresholds, new.act, keeps)
    }

    fn log(&self, event: &str, missing: &[String]) {
        let (node, links) = (self.config.node.as_str(), self.config.links.len());
        let does = self.config.act.mode.description();
        let reloaded = if event == "reload" { "the configuration is reloaded: " } else { "" };
        info!(event, node, links, "{reloaded}`{node}` {does}; monitored links: {links}");
        for reason in missing {
            warn!(event = "missing", node, "{reason}; the daemon goes on with the other ports");
        }
    }
}

/// Published metrics of a daemon, with the names of its ports.
struct NodeMetrics {
    metrics: DaemonMetrics,
    version: &'static str,
    devices: Arc<[String]>,
}

impl Metrics for NodeMetrics {
    fn page(&self) -> String {
        self.metrics.page(self.version, &self.devices)
    }

    fn waits_for(&self) -> Option<&'static str> {
        match &self.metrics {
            DaemonMetrics { connected: false, .. } => Some("Redis"),
            DaemonMetrics { holds_lease: false, .. } => {
                Some("the lease, which another daemon of this node holds")
            }
            _ => None,
        }
    }
}

impl Service<'_> {
    /// Runs a node's daemon with this setup, and with the one that `load` returns after a reload.
    pub fn run_node(
        &self,
        mut setup: NodeSetup,
        load: Load<'_, NodeSetup>,
        paths: NodePaths<'_>,
    ) -> Result<(), Error> {
        let missing = LocalMachine::check(&setup.config, paths.sysfs)?;
        let _lock = self.lock()?;
        let mut exporter = Exporter::open(&self.metrics)?;
        let node = setup.config.node.clone();
        let load = || {
            let setup = load()?;
            self.check_name(&node, &setup.config.node)?;
            let missing = LocalMachine::check(&setup.config, paths.sysfs).map_err(|why| why.to_string())?;
            Ok((setup, missing))
        };
        let mut clock = Clock::start();
        let mut daemon = setup.daemon(self);
        setup.log("start", &missing);
        loop {
            match self.serve_node(&clock, &setup, &mut daemon, &load, paths, &mut exporter) {
                LoopEnd::Stopped => return Ok(()),
                // The clock expires after some months. The next daemon restores its state from Redis.
                LoopEnd::ClockExpired => (clock, daemon) = (Clock::start(), setup.daemon(self)),
                LoopEnd::Reloaded((next, missing)) => {
                    daemon = setup.reconfigured(daemon, &next.config);
                    setup = next;
                    setup.log("reload", &missing);
                }
            }
        }
    }

    fn serve_node(
        &self,
        clock: &Clock,
        NodeSetup { config, server }: &NodeSetup,
        daemon: &mut Daemon,
        load: Load<'_, (NodeSetup, Vec<String>)>,
        NodePaths { sysfs, run_dir }: NodePaths<'_>,
        exporter: &mut Exporter<'_, NodeMetrics>,
    ) -> LoopEnd<(NodeSetup, Vec<String>)> {
        let log = NodeLog::new(config);
        let mut redis = RedisSession::new(server, config);
        let mut machine = LocalMachine::new(config, sysfs.to_owned(), run_dir.to_owned(), *clock);
        let devices: Arc<[String]> = config.links.iter().map(|link| link.port.to_string()).collect();
        exporter.expect_every(config.poll);
        let mut due = clock.now();
        let end = self.end(clock);
        let (mut polls, mut poll_seconds) = (0, 0.0);
        loop {
            let now = clock.now();
            if let Some(loop_end) = self.loop_end(clock, now, end, load) {
                return loop_end;
            }
            if now >= due {
                // A missed reading is skipped.
                due = now.saturating_add(Span::from_ns(config.poll.as_nanos() as u64));
                let events = daemon.read_ports(&mut machine);
                polls += 1;
                poll_seconds += clock.now().since(now).as_ns() as f64 / 1e9;
                log.write(&events);
                for message in machine.take_messages() {
                    warn!(event = "counters", node = config.node.as_str(), "{message}");
                }
                log.write(&redis.sync(now, daemon, &mut machine, false));
                let (connected, disconnects) = (redis.open.is_some(), redis.disconnects);
                let metrics = DaemonMetrics {
                    polls,
                    poll_seconds,
                    connected,
                    disconnects,
                    ..DaemonMetrics::from_daemon(daemon)
                };
                let (version, devices) = (self.version, Arc::clone(&devices));
                exporter.publish(NodeMetrics { metrics, version, devices });
            }
            let left = Duration::from_nanos(due.since(clock.now().min(due)).as_ns());
            if redis.wait(clock.now(), daemon, left.min(WAIT_MAX)) {
                log.write(&redis.sync(clock.now(), daemon, &mut machine, true));
            }
        }
    }
}

/// The connections of the daemon to Redis, with reconnection.
struct RedisSession<'a> {
    server: &'a RedisServer,
    node: Name,
    peers: Vec<Name>,
    open: Option<(Store, ChangeNotifier)>,
    retry: Retry,
    disconnects: u64,
    trail: CounterTrail,
}

impl<'a> RedisSession<'a> {
    fn new(server: &'a RedisServer, config: &DaemonConfig) -> Self {
        let node = config.node.clone();
        let peers = config.links.iter().map(|link| link.peer.node.clone()).collect();
        Self {
            server,
            node,
            peers,
            open: None,
            retry: Retry::default(),
            disconnects: 0,
            trail: CounterTrail::default(),
        }
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
                    self.trail = CounterTrail::default();
                    daemon.on_connection_change();
                }
                Err(reason) => self.lost(now, daemon, &reason),
            }
        }
        let Some((store, _)) = &mut self.open else { return Vec::new() };
        let synced = daemon.sync(now, store, machine, notified);
        let synced = synced.and_then(|events| self.trail.write(now, daemon, machine, store).map(|()| events));
        match synced {
            Ok(events) => {
                if self.retry.on_success() {
                    info!(event = "redis", node = self.node.as_str(), "Redis is reachable again");
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
        let store = Store::open(self.server, self.node.clone())?;
        let notifier = ChangeNotifier::open(self.server, &self.node, &self.peers)?;
        Ok((store, notifier))
    }

    fn lost(&mut self, now: Time, daemon: &mut Daemon, reason: &UnusableServer) {
        self.disconnects += u64::from(self.open.take().is_some());
        daemon.on_connection_change();
        if let Some(reason) = self.retry.on_failure(now, reason) {
            error!(
                event = "redis",
                node = self.node.as_str(),
                "{reason}; the daemon keeps reading ports and changes no protection"
            );
        }
    }
}
