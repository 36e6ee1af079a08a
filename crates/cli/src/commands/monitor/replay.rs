//! `wiremend monitor replay`: what a daemon would have seen.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_monitor::service::{foreseen_json, foreseen_text, verdict_json, verdict_text};
use wiremend_monitor::{Foreseen, Foresight, Pace, Port as Watched, Snapshot, Thresholds, Verdict};
use wiremend_units::Time;

use super::records::{self, Port};
use crate::args::monitor::MonitorReplay as Asked;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(asked: &Asked) -> Result<Answer, Failure> {
    let thresholds = Thresholds { loss: asked.threshold, window_frames: asked.window };
    thresholds.check().map_err(|error| Failure::Input(format!("--threshold, --window: {error}")))?;
    let readings = records::read(&asked.files)?;
    if readings.is_empty() {
        return Err(Failure::Input(format!("{}: no reading of a port", asked.files.join(", "))));
    }
    readings.iter().try_for_each(|(port, read)| records::check_growth(port, read))?;
    let replayed: Vec<Replayed> =
        readings.into_iter().map(|(port, read)| replay(port, &read, thresholds)).collect();
    let text = if asked.json { format!("{:#}\n", json(&replayed)) } else { text(&replayed) };
    terminal::print(&text)?;
    Ok(if replayed.iter().any(|port| port.watched.is_corrupting()) { Answer::No } else { Answer::Yes })
}

/// A port and what a daemon would have said of it.
struct Replayed {
    port: Port,
    watched: Watched,
    said: Vec<(Time, Said)>,
    /// Readings without counters of good and bad frames.
    blind: usize,
}

enum Said {
    Saw(Verdict),
    Foresaw(Foreseen),
}

fn replay(port: Port, readings: &[(Time, Snapshot)], thresholds: Thresholds) -> Replayed {
    let mut watched = Watched::new(thresholds, Pace::ANY);
    let mut foresight = Foresight::new(thresholds.loss);
    let (mut said, mut blind) = (Vec::new(), 0);
    for (at, snapshot) in readings {
        let Some(reading) = snapshot.reading(*at) else {
            blind += 1;
            continue;
        };
        let foreseen = foresight.on_reading(reading.fec).map(Said::Foresaw);
        let seen = watched.on_reading(reading).map(Said::Saw);
        said.extend(foreseen.into_iter().chain(seen).map(|one| (*at, one)));
    }
    Replayed { port, watched, said, blind }
}

fn text(ports: &[Replayed]) -> String {
    let mut lines: Vec<(Time, String)> = Vec::new();
    for Replayed { port, said, .. } in ports {
        let name = records::shown(port);
        lines.extend(said.iter().map(|(at, said)| match said {
            Said::Saw(verdict) => (*at, verdict_text(&name, verdict)),
            Said::Foresaw(foreseen) => (*at, foreseen_text(&name, foreseen)),
        }));
    }
    lines.sort_by_key(|(at, _)| *at);
    let mut text = String::new();
    for (at, line) in lines {
        let _ = writeln!(text, "{:>10.3} s  {line}", at.as_ns() as f64 / 1e9);
    }
    for Replayed { port, watched, blind, .. } in ports {
        let (name, total, untold) = (records::shown(port), watched.total(), watched.untold());
        let state = if watched.is_corrupting() { "corrupts" } else { "not corrupting" };
        let _ =
            write!(text, "{name}: {state} at the end; {} of {} frames broken", total.errors, total.frames);
        let reasons = [
            (untold.down, "the port was down"),
            (untold.flapped, "its carrier came or went"),
            (untold.reset, "counters began anew"),
            (*blind as u64, "frames or errors were not counted"),
        ];
        for (count, why) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            let _ = write!(text, "; {count} readings left out: {why}");
        }
        text.push('\n');
    }
    text
}

fn json(ports: &[Replayed]) -> Value {
    let one = |(at, said): &(Time, Said)| {
        let mut value = match said {
            Said::Saw(verdict) => verdict_json(verdict),
            Said::Foresaw(foreseen) => foreseen_json(foreseen),
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
            "said": replayed.said.iter().map(one).collect::<Vec<_>>(),
        })
    };
    json!({ "ports": ports.iter().map(port).collect::<Vec<_>>() })
}
