//! `wiremend monitor replay`: runs the detector over recorded counters.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_monitor::service::{forecast_json, forecast_text, verdict_json, verdict_text};
use wiremend_monitor::{
    ForecastChange, LinkVerdict, LossForecaster, MaxFrameRate, PortMonitor as Watched, PortSnapshot,
    Thresholds,
};
use wiremend_units::Time;

use super::records::{self, Port};
use crate::args::monitor::MonitorReplay;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &MonitorReplay) -> Result<Answer, Failure> {
    let thresholds = Thresholds { loss: args.threshold, window_frames: args.window };
    thresholds.check().map_err(|error| Failure::Input(format!("--threshold, --window: {error}")))?;
    let readings = records::read(&args.files)?;
    if readings.is_empty() {
        return Err(Failure::Input(format!(
            "{}: no reading of a port; record some: wiremend monitor record IF --for 60s",
            args.files.join(", ")
        )));
    }
    readings.iter().try_for_each(|(port, read)| records::check_growth(port, read))?;
    let replayed: Vec<Replayed> =
        readings.into_iter().map(|(port, read)| replay(port, &read, thresholds)).collect();
    let text = if args.json { format!("{:#}\n", json(&replayed)) } else { text(&replayed) };
    terminal::print(&text)?;
    Ok(if replayed.iter().any(|port| port.watched.is_corrupting()) { Answer::No } else { Answer::Yes })
}

/// A port with the events that a monitor would have reported.
struct Replayed {
    port: Port,
    watched: Watched,
    events: Vec<(Time, ReplayEvent)>,
    /// Readings without counters of good and bad frames.
    blind: usize,
}

enum ReplayEvent {
    Verdict(LinkVerdict),
    Forecast(ForecastChange),
}

fn replay(port: Port, readings: &[(Time, PortSnapshot)], thresholds: Thresholds) -> Replayed {
    let mut watched = Watched::new(thresholds, MaxFrameRate::ANY_SPEED);
    let mut forecaster = LossForecaster::new(thresholds.loss);
    let (mut events, mut blind) = (Vec::new(), 0);
    for (at, snapshot) in readings {
        let Some(reading) = snapshot.reading(*at) else {
            blind += 1;
            continue;
        };
        let forecast = forecaster.on_reading(reading.fec).map(ReplayEvent::Forecast);
        let seen = watched.on_reading(reading).map(ReplayEvent::Verdict);
        events.extend(forecast.into_iter().chain(seen).map(|one| (*at, one)));
    }
    Replayed { port, watched, events, blind }
}

fn text(ports: &[Replayed]) -> String {
    let mut lines: Vec<(Time, String)> = Vec::new();
    for Replayed { port, events, .. } in ports {
        let name = records::shown(port);
        lines.extend(events.iter().map(|(at, events)| match events {
            ReplayEvent::Verdict(verdict) => (*at, verdict_text(&name, verdict)),
            ReplayEvent::Forecast(forecast) => (*at, forecast_text(&name, forecast)),
        }));
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut text = String::new();
    for (at, line) in lines {
        let _ = writeln!(text, "{:>10.3} s  {line}", at.as_ns() as f64 / 1e9);
    }
    for Replayed { port, watched, blind, .. } in ports {
        let (name, total, unused) = (records::shown(port), watched.total(), watched.unused_readings());
        let state = if watched.is_corrupting() { "corrupts" } else { "not corrupting" };
        let _ = write!(text, "{name}: {state} at the end; {} of {} frames bad", total.errors, total.frames);
        let reasons = [
            (unused.down, "the port was down"),
            (unused.flapped, "its carrier changed"),
            (unused.reset, "counters were reset"),
            (*blind as u64, "frames or errors were not counted"),
        ];
        for (count, why) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            let _ = write!(text, "; {count} readings ignored: {why}");
        }
        text.push('\n');
    }
    text
}

fn json(ports: &[Replayed]) -> Value {
    let one = |(at, events): &(Time, ReplayEvent)| {
        let mut value = match events {
            ReplayEvent::Verdict(verdict) => verdict_json(verdict),
            ReplayEvent::Forecast(forecast) => forecast_json(forecast),
        };
        value["time_s"] = json!(at.as_ns() as f64 / 1e9);
        value
    };
    let port = |replayed: &Replayed| {
        let total = replayed.watched.total();
        json!({
            "node": replayed.port.0,
            "port": replayed.port.1,
            "corrupting": replayed.watched.is_corrupting(),
            "frames": total.frames,
            "errors": total.errors,
            "events": replayed.events.iter().map(one).collect::<Vec<_>>(),
        })
    };
    json!({ "ports": ports.iter().map(port).collect::<Vec<_>>() })
}
