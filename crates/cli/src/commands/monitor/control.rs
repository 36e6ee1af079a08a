//! `wiremend monitor control`: the planner.

use std::time::Duration;

use wiremend_dataplane::drive::Clock;
use wiremend_monitor::bus::{Board, Server, Unfit};
use wiremend_monitor::control::{Chair, ControlConfig, ControlEvent, End, Topology};
use wiremend_monitor::{AdvisedReadout, PlannerReadout};
use wiremend_units::{Span, Time};

use super::config;
use super::retry::Retry;
use super::say::PlannerVoice;
use super::shown::Shown;
use super::watch::{Ended, alone, holder};
use crate::args::VERSION;
use crate::args::monitor::MonitorControl as Asked;
use crate::failure::{Answer, Failure};
use crate::signals;

/// How soon a signal is noticed.
const NAP: Duration = Duration::from_millis(100);
/// Time between two showings of numbers.
const SHOWN: Span = Span::from_ms(1_000);

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let (config, topology) = config::load_planner(&asked.service.config)?;
    let server = config::server(&config.redis, &config.user)?;
    let _alone = alone(&asked.service.config)?;
    signals::catch()?;
    let voice = PlannerVoice::new(&topology, asked.service.log);
    let mut shown = Shown::open(&asked.service.shown, |readout: &PlannerReadout| readout.page(VERSION))?;
    while serve(asked, &config, &topology, &server, &voice, &mut shown) == Ended::Worn {}
    Ok(Answer::Yes)
}

fn serve(
    asked: &Asked,
    config: &ControlConfig,
    topology: &Topology,
    server: &Server,
    voice: &PlannerVoice<'_>,
    shown: &mut Shown<PlannerReadout>,
) -> Ended {
    let clock = Clock::start();
    let chair = Chair::new(topology, config.limits, holder(&config.user, &asked.service.config));
    let mut seat = Seat { chair, board: None, retry: Retry::default(), readout: PlannerReadout::default() };
    let end = asked.service.duration.map(|span| clock.now().saturating_add(span));
    let mut show_at = Time::ZERO;
    loop {
        let now = clock.now();
        if signals::caught().is_some() || end.is_some_and(|end| now >= end) {
            return Ended::Asked;
        }
        if clock.is_worn() {
            return Ended::Worn;
        }
        let events = seat.turn(now, server, voice);
        let has_advised = events.iter().any(|event| matches!(event, ControlEvent::Advised { .. }));
        if has_advised {
            seat.readout.decisions += 1;
        }
        voice.say(&events);
        if now >= show_at || has_advised {
            show_at = now.saturating_add(SHOWN);
            shown.show(now, seat.read_out(now, topology));
        }
    }
}

/// A planner, and its connection.
struct Seat<'a> {
    chair: Chair<'a>,
    board: Option<Board>,
    retry: Retry,
    readout: PlannerReadout,
}

impl Seat<'_> {
    fn turn(&mut self, now: Time, server: &Server, voice: &PlannerVoice<'_>) -> Vec<ControlEvent> {
        if self.board.is_none() && self.retry.is_due(now) {
            match Board::open(server) {
                Ok(board) => {
                    self.chair.on_disconnect();
                    self.board = Some(board);
                }
                Err(why) => self.lost(now, &why, voice),
            }
        }
        let Some(board) = &mut self.board else {
            std::thread::park_timeout(NAP);
            return Vec::new();
        };
        match self.chair.turn(now, board, NAP) {
            Ok(events) => {
                if self.retry.on_success() {
                    voice.remark("Redis is back");
                }
                events
            }
            Err(fault) => {
                self.lost(now, &Unfit::Fault(fault), voice);
                Vec::new()
            }
        }
    }

    fn lost(&mut self, now: Time, why: &Unfit, voice: &PlannerVoice<'_>) {
        self.readout.disconnects += u64::from(self.board.take().is_some());
        self.chair.on_disconnect();
        if let Some(why) = self.retry.on_failure(now, why) {
            voice.remark(&format!("{why}; what was advised stands"));
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
