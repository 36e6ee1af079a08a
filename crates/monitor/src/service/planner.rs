//! The planner of a fabric, turn by turn.

use wiremend_dataplane::drive::Clock;
use wiremend_units::{Span, Time};

use super::exporter::Exporter;
use super::log::PlannerLog;
use super::readout::{AdvisedReadout, PlannerReadout};
use super::retry::Retry;
use super::{Ended, Error, NAP, Service};
use crate::bus::{Board, Server, Unfit};
use crate::control::{Chair, ControlConfig, ControlEvent, End, Topology};

/// Time between two showings of numbers.
const SHOWN: Span = Span::from_ms(1_000);

impl Service<'_> {
    /// Runs a planner.
    pub fn run_planner(
        &self,
        config: &ControlConfig,
        topology: &Topology,
        server: &Server,
    ) -> Result<(), Error> {
        let _lock = self.lock()?;
        let log = PlannerLog::new(topology, self.log);
        let version = self.version;
        let mut exporter =
            Exporter::open(&self.metrics, move |readout: &PlannerReadout| readout.page(version))?;
        while self.serve_planner(config, topology, server, &log, &mut exporter) == Ended::Worn {}
        Ok(())
    }

    fn serve_planner(
        &self,
        config: &ControlConfig,
        topology: &Topology,
        server: &Server,
        log: &PlannerLog<'_>,
        exporter: &mut Exporter<'_, PlannerReadout>,
    ) -> Ended {
        let clock = Clock::start();
        let chair = Chair::new(topology, config.limits, self.holder(&config.user));
        let mut planner =
            Connected { chair, board: None, retry: Retry::default(), readout: PlannerReadout::default() };
        let end = self.duration.map(|span| clock.now().saturating_add(span));
        let mut show_at = Time::ZERO;
        loop {
            let now = clock.now();
            if let Some(ended) = self.ended(&clock, now, end) {
                return ended;
            }
            let events = planner.turn(now, server, log);
            let has_advised = events.iter().any(|event| matches!(event, ControlEvent::Advised { .. }));
            if has_advised {
                planner.readout.decisions += 1;
            }
            log.say(&events);
            if now >= show_at || has_advised {
                show_at = now.saturating_add(SHOWN);
                exporter.show(now, planner.read_out(now, topology));
            }
        }
    }
}

/// A planner, and its connection to Redis.
struct Connected<'a> {
    chair: Chair<'a>,
    board: Option<Board>,
    retry: Retry,
    readout: PlannerReadout,
}

impl Connected<'_> {
    fn turn(&mut self, now: Time, server: &Server, log: &PlannerLog<'_>) -> Vec<ControlEvent> {
        if self.board.is_none() && self.retry.is_due(now) {
            match Board::open(server) {
                Ok(board) => {
                    self.chair.on_disconnect();
                    self.board = Some(board);
                }
                Err(why) => self.lost(now, &why, log),
            }
        }
        let Some(board) = &mut self.board else {
            std::thread::park_timeout(NAP);
            return Vec::new();
        };
        match self.chair.turn(now, board, NAP) {
            Ok(events) => {
                if self.retry.on_success() {
                    log.remark("Redis is back");
                }
                events
            }
            Err(fault) => {
                self.lost(now, &Unfit::Fault(fault), log);
                Vec::new()
            }
        }
    }

    fn lost(&mut self, now: Time, why: &Unfit, log: &PlannerLog<'_>) {
        self.readout.disconnects += u64::from(self.board.take().is_some());
        self.chair.on_disconnect();
        if let Some(why) = self.retry.on_failure(now, why) {
            log.remark(&format!("{why}; what was advised stands"));
        }
    }

    fn read_out(&mut self, now: Time, topology: &Topology) -> PlannerReadout {
        let controller = self.chair.controller();
        let advised = controller.standing().map(|(link, action, _, loss)| {
            let name = |upper| topology.name(End { link, upper });
            let lower = name(false);
            AdvisedReadout {
                node: lower.node.to_string(),
                device: lower.port.to_string(),
                peer: name(true).to_string(),
                action: action.name(),
                loss,
            }
        });
        PlannerReadout {
            advised: advised.collect(),
            turned_max: controller.turned_max(),
            leads: self.chair.leads(),
            halted: self.chair.is_halted(),
            links: topology.tiers().link_count(),
            overview: self.chair.overview(now),
            connected: self.board.is_some(),
            ..self.readout.clone()
        }
    }
}
