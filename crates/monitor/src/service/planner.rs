//! The main loop of a planner.

use tracing::{error, info, warn};
use wiremend_dataplane::event_loop::Clock;
use wiremend_units::{Span, Time};

use super::exporter::{Exporter, Metrics};
use super::log::PlannerLog;
use super::metrics::{AdvisedLinkMetrics, PlannerMetrics};
use super::retry::Retry;
use super::{Error, Load, LoopEnd, Service, WAIT_MAX};
use crate::name::Name;
use crate::planner::{LinkEnd, NamedFabric, PlannerConfig, PlannerEvent, PlannerLeader};
use crate::redis::{PlannerStore, RedisServer, UnusableServer};

/// Time between two updates of the metrics.
const METRICS_INTERVAL: Span = Span::from_ms(1_000);

/// The configuration of a planner with what it names.
pub struct PlannerSetup {
    /// The configuration.
    pub config: PlannerConfig,
    /// The fabric.
    pub fabric: NamedFabric,
    /// Items of the fabric's file that are not valid, and why.
    pub skipped: Vec<String>,
    /// The Redis server, with its secrets.
    pub server: RedisServer,
}

impl PlannerSetup {
    fn log(&self, event: &str) {
        let links = self.fabric.tiers().link_count();
        let does = if self.config.limits.binding { "its advice binds" } else { "it only advises" };
        let reloaded = if event == "reload" { "the configuration is reloaded: " } else { "" };
        info!(event, links, "{reloaded}a planner of {links} links; {does}");
        for item in &self.skipped {
            warn!(event = "skipped", "skipped: {item}");
        }
    }
}

/// Published metrics of a planner.
struct PublishedMetrics {
    metrics: PlannerMetrics,
    version: &'static str,
}

impl Metrics for PublishedMetrics {
    fn page(&self) -> String {
        self.metrics.page(self.version)
    }

    fn waits_for(&self) -> Option<&'static str> {
        (!self.metrics.connected).then_some("Redis")
    }
}

impl Service<'_> {
    /// Runs a planner with this setup, and with the one that `load` returns after a reload.
    pub fn run_planner(&self, mut setup: PlannerSetup, load: Load<'_, PlannerSetup>) -> Result<(), Error> {
        let _lock = self.lock()?;
        let mut exporter = Exporter::open(&self.metrics)?;
        let user = setup.config.user.clone();
        let load = || {
            let setup = load()?;
            self.check_name(&user, &setup.config.user)?;
            Ok(setup)
        };
        setup.log("start");
        loop {
            match self.serve_planner(&setup, &load, &mut exporter) {
                LoopEnd::Stopped => return Ok(()),
                LoopEnd::ClockExpired => {}
                // Advice, holds and the halt are in Redis, and the lease stays with the same holder.
                LoopEnd::Reloaded(next) => {
                    setup = next;
                    setup.log("reload");
                }
            }
        }
    }

    fn serve_planner(
        &self,
        PlannerSetup { config, fabric, server, .. }: &PlannerSetup,
        load: Load<'_, PlannerSetup>,
        exporter: &mut Exporter<'_, PublishedMetrics>,
    ) -> LoopEnd<PlannerSetup> {
        let log = PlannerLog::new(fabric);
        let clock = Clock::start();
        let leader = PlannerLeader::new(fabric, config.limits, self.holder(&config.user));
        let mut planner = PlannerSession {
            leader,
            store: None,
            retry: Retry::default(),
            metrics: PlannerMetrics::default(),
        };
        let end = self.end(&clock);
        let mut metrics_at = Time::ZERO;
        loop {
            let now = clock.now();
            if let Some(loop_end) = self.loop_end(&clock, now, end, load) {
                return loop_end;
            }
            let events = planner.run_once(now, server);
            let has_advised = events.iter().any(|event| matches!(event, PlannerEvent::Advised { .. }));
            if has_advised {
                planner.metrics.decisions += 1;
            }
            log.write(&events);
            if now >= metrics_at || has_advised {
                metrics_at = now.saturating_add(METRICS_INTERVAL);
                let metrics = planner.collect_metrics(now, fabric);
                exporter.publish(PublishedMetrics { metrics, version: self.version });
            }
        }
    }
}

/// A planner and its connection to Redis.
struct PlannerSession<'a> {
    leader: PlannerLeader<'a>,
    store: Option<PlannerStore>,
    retry: Retry,
    metrics: PlannerMetrics,
}

impl PlannerSession<'_> {
    fn run_once(&mut self, now: Time, server: &RedisServer) -> Vec<PlannerEvent> {
        if self.store.is_none() && self.retry.is_due(now) {
            match PlannerStore::open(server) {
                Ok(store) => {
                    self.leader.on_connection_change();
                    self.store = Some(store);
                }
                Err(reason) => self.lost(now, &reason),
            }
        }
        let Some(store) = &mut self.store else {
            std::thread::park_timeout(WAIT_MAX);
            return Vec::new();
        };
        match self.leader.run_once(now, store, WAIT_MAX) {
            Ok(events) => {
                if self.retry.on_success() {
                    info!(event = "redis", "Redis is reachable again");
                }
                events
            }
            Err(fault) => {
                self.lost(now, &UnusableServer::Redis(fault));
                Vec::new()
            }
        }
    }

    fn lost(&mut self, now: Time, reason: &UnusableServer) {
        self.metrics.disconnects += u64::from(self.store.take().is_some());
        self.leader.on_connection_change();
        if let Some(reason) = self.retry.on_failure(now, reason) {
            error!(event = "redis", "{reason}; stored advice stays in effect");
        }
    }

    fn collect_metrics(&mut self, now: Time, fabric: &NamedFabric) -> PlannerMetrics {
        let advisor = self.leader.advisor();
        let advised = advisor.advised().map(|(link, action, _, loss)| {
            let name = |upper| fabric.name(LinkEnd { link, upper });
            let lower = name(false);
            AdvisedLinkMetrics {
                node: lower.node.to_string(),
                device: lower.port.to_string(),
                peer: name(true).to_string(),
                action: action.name(),
                loss,
            }
        });
        PlannerMetrics {
            advised: advised.collect(),
            failing_nodes_max: advisor.failing_nodes_max(),
            silent_nodes: self.leader.silent().iter().map(Name::to_string).collect(),
            unmonitored_nodes: self.leader.unmonitored(),
            leading: self.leader.is_leading(),
            halted: self.leader.is_halted(),
            links: fabric.tiers().link_count(),
            summary: self.leader.summary(now),
            connected: self.store.is_some(),
            ..self.metrics.clone()
        }
    }
}
