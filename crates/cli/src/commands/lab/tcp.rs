//! `wiremend lab tcp`: TCP of this kernel over a clean, a corrupting and a protected link.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use wiremend_lab::chain::ChainConfig;
use wiremend_lab::tcp::{self, Outcome, Trial};
use wiremend_report::lab::LinkState;
use wiremend_report::{human, plot, text_table, write_atomic};

use crate::args::operate::{LabTcp, LabTransfer};
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::terminal;

/// Default congestion controls, if the kernel has them.
const CONTROLS: [&str; 2] = ["cubic", "bbr"];

pub(super) fn run(args: &LabTcp) -> Result<Answer, Failure> {
    let controls = controls(args)?;
    let LabTransfer { loss, path_delay, chain, out, json } = &args.transfer;
    super::begin(out.as_deref())?;
    let trial = Trial {
        loss: *loss,
        chain: ChainConfig { rate: args.rate, ..super::chain_config(chain, *path_delay) },
        lasts: Duration::from_secs_f64(args.seconds),
        rounds: args.rounds,
        controls,
        only_bulk: args.bulk,
    };
    let outcome = progress::shown(&trial.steps(), |progress| trial.run(&super::lab(), progress))?;
    if let Some(out) = out {
        write(out, &outcome)?;
    }
    if *json {
        let text = serde_json::to_string_pretty(&outcome).expect("plain values");
        terminal::print(&format!("{text}\n"))?;
    } else {
        terminal::print(&rendered(&outcome))?;
    }
    Ok(Answer::Yes)
}

fn controls(args: &LabTcp) -> Result<Vec<String>, Failure> {
    let available = tcp::available()?;
    let has = |name: &String| available.contains(name);
    if args.cc.is_empty() {
        return Ok(CONTROLS.map(str::to_owned).into_iter().filter(has).collect());
    }
    match args.cc.iter().find(|name| !has(name)) {
        Some(name) => Err(Failure::Environment(format!(
            "this kernel has no congestion control `{name}`; it has {}",
            available.join(", ")
        ))),
        None => Ok(args.cc.clone()),
    }
}

fn write(out: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let drawn = outcome.goodput_chart().map_or(Ok(()), |goodput_chart| {
        write_atomic(&out.join("goodput.svg"), &plot::standalone(&goodput_chart.plot().svg()))
    });
    let json = serde_json::to_string_pretty(outcome).expect("plain values");
    drawn
        .and_then(|()| write_atomic(&out.join("tcp.json"), &(json + "\n")))
        .map_err(|error| Failure::file(&error))
}

fn rendered(outcome: &Outcome) -> String {
    let terminal = terminal::stdout();
    let mut text = format!(
        "TCP from host A to host B over a link of {} that corrupts {} of its frames in each direction. The rest of \
         the path has a one-way delay of {}.\n\
         Without a rate limit this machine forwards {} through the same chain.\n\
         Medians of {} rounds of {} s; clean is the same chain with protection and without loss.\n\n",
        human::rate_bps(outcome.rate_bps as f64),
        outcome.loss,
        human::time_ns(outcome.path_delay_ns as f64),
        human::rate_bps(outcome.capacity_bps),
        outcome.rounds,
        outcome.seconds
    );
    text += &goodput_table(outcome, terminal);
    text.push('\n');
    if !outcome.latencies.is_empty() {
        text += &latency_table(outcome, terminal);
        text.push('\n');
    }
    if let (Some(timeline), Some(goodput_chart)) = (&outcome.timeline, outcome.goodput_chart()) {
        let _ = write!(text, "One transfer with {} over time:\n\n", timeline.control);
        text += &goodput_chart.text(terminal);
        text.push('\n');
    }
    for goodput in &outcome.goodputs {
        let _ = writeln!(
            text,
            "{}: protected {} of clean, corrupting {} of clean",
            goodput.control,
            percent(goodput.relative_to_clean(LinkState::Protected)),
            percent(goodput.relative_to_clean(LinkState::Corrupting))
        );
    }
    if outcome.rate_bps as f64 > outcome.capacity_bps / 2.0 {
        text += "The link is faster than half of the rate that this machine forwards: the CPU may limit the results.\n";
    }
    text
}

fn goodput_table(outcome: &Outcome, terminal: wiremend_report::terminal::Terminal) -> String {
    let rows: Vec<Vec<String>> = outcome
        .goodputs
        .iter()
        .flat_map(|goodput| {
            goodput.states.iter().map(|transfers| {
                let ends =
                    |pick: fn(f64, f64) -> f64| transfers.bps.iter().copied().reduce(pick).unwrap_or(0.0);
                vec![
                    format!("{}, {}", goodput.control, transfers.state.name()),
                    human::rate_bps(transfers.median_bps),
                    human::rate_bps(ends(f64::min)),
                    human::rate_bps(ends(f64::max)),
                    percent(goodput.relative_to_clean(transfers.state)),
                    human::count(transfers.retransmitted.iter().sum()),
                ]
            })
        })
        .collect();
    text_table(&["bulk", "goodput", "min", "max", "of clean", "retransmitted"], &rows, terminal)
}

fn latency_table(outcome: &Outcome, terminal: wiremend_report::terminal::Terminal) -> String {
    let rows: Vec<Vec<String>> = outcome
        .latencies
        .iter()
        .map(|latency| {
            let at = |per_mille| human::time_ns(latency.per_mille(per_mille) as f64);
            let requests = human::count(latency.times.len() as u64);
            vec![latency.state.name().to_owned(), at(500), at(990), at(999), at(1000), requests]
        })
        .collect();
    text_table(&["request of 64 B", "p50", "p99", "p99.9", "max", "requests"], &rows, terminal)
}

pub(super) fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}
