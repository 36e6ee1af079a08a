//! The main loop of a planner.

use wiremend_dataplane::event_loop::Clock;
use wiremend_units::{Span, Time};

use super::exporter::Exporter;
use super::log::PlannerLog;
use super::metrics::{AdvisedLinkMetrics, PlannerMetrics};
use super::retry::Retry;
use super::{Error, LoopEnd, Service, WAIT_MAX};
use crate::name::Name;
use crate::planner::{LinkEnd, NamedFabric, PlannerConfig, PlannerEvent, PlannerLeader};
use crate::redis::{PlannerStore, RedisServer, UnusableServer};

/// Time between two updates of the metrics.
const METRICS_INTERVAL: Span = Span::from_ms(1_000);

impl Service<'_> {
    /// Runs a planner.
    pub fn run_planner(
        &self,
        config: &PlannerConfig,
        fabric: &NamedFabric,
        server: &RedisServer,
    ) -> Result<(), Error> {
        let _lock = self.lock()?;
        let log = PlannerLog::new(fabric, self.log);
        let version = self.version;
        let mut exporter =
            Exporter::open(&self.metrics, move |metrics: &PlannerMetrics| metrics.page(version))?;
        while self.serve_planner(config, fabric, server, &log, &mut exporter) == LoopEnd::ClockExpired {}
        Ok(())
    }

    fn serve_planner(
        &self,
        config: &PlannerConfig,
        fabric: &NamedFabric,
        server: &RedisServer,
        log: &PlannerLog<'_>,
        exporter: &mut Exporter<'_, PlannerMetrics>,
    ) -> LoopEnd {
        let clock = Clock::start();
        let leader = PlannerLeader::new(fabric, config.limits, self.holder(&config.user));
        let mut planner = PlannerSession {
            leader,
            store: None,
            retry: Retry::default(),
            metrics: PlannerMetrics::default(),
        };
        let end = self.duration.map(|span| clock.now().saturating_add(span));
        let mut metrics_at = Time::ZERO;
        loop {
            let now = clock.now();
            if let Some(loop_end) = self.loop_end(&clock, now, end) {
                return loop_end;
            }
            let events = planner.run_once(now, server, log);
            let has_advised = events.iter().any(|event| matches!(event, PlannerEvent::Advised { .. }));
            if has_advised {
                planner.metrics.decisions += 1;
            }
            log.write(&events);
            if now >= metrics_at || has_advised {
                metrics_at = now.saturating_add(METRICS_INTERVAL);
                exporter.publish(now, planner.collect_metrics(now, fabric));
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
    fn run_once(&mut self, now: Time, server: &RedisServer, log: &PlannerLog<'_>) -> Vec<PlannerEvent> {
        if self.store.is_none() && self.retry.is_due(now) {
            match PlannerStore::open(server) {
                Ok(store) => {
                    self.leader.on_connection_change();
                    self.store = Some(store);
                }
                Err(reason) => self.lost(now, &reason, log),
            }
        }
        let Some(store) = &mut self.store else {
            std::thread::park_timeout(WAIT_MAX);
            return Vec::new();
        };
        match self.leader.run_once(now, store, WAIT_MAX) {
            Ok(events) => {
                if self.retry.on_success() {
                    log.message("Redis is reachable again");
                }
                events
            }
            Err(fault) => {
                self.lost(now, &UnusableServer::Redis(fault), log);
                Vec::new()
            }
        }
    }

    fn lost(&mut self, now: Time, reason: &UnusableServer, log: &PlannerLog<'_>) {
        self.metrics.disconnects += u64::from(self.store.take().is_some());
        self.leader.on_connection_change();
        if let Some(reason) = self.retry.on_failure(now, reason) {
            log.message(&format!("{reason}; stored advice stays in effect"));
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
