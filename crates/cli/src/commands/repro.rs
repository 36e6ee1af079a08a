//! `wiremend repro`: the ledger of claims.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;
use wiremend_claims::ledger::{Claim, Effort, Schedule, Store};
use wiremend_claims::{Error, origin, papers};
use wiremend_report::ledger::{Entry, Ledger, Origin, Verdict};
use wiremend_report::plot::standalone;
use wiremend_report::terminal::wrapped;
use wiremend_report::write_whole;

use crate::args::{Repro, VERSION};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};
use wiremend_report::quoted;

/// Where the figures lie, seen from `VALIDATION.md`.
const FIGURES: &str = "images/claims";

pub(super) fn run(asked: &Repro) -> Result<Answer, Failure> {
    signals::catch()?;
    let chosen = choose(asked)?;
    if chosen.is_empty() {
        terminal::print(&listed(asked.json))?;
        return Ok(Answer::Yes);
    }
    let earlier = asked.merge.as_deref().map(|path| read(path, asked)).transpose()?;
    let ledger = measure(asked, &chosen)?;
    if let Some(directory) = &asked.out {
        write(&ledger, earlier, directory)?;
    }
    terminal::print(&if asked.json { ledger.json() } else { told(asked, &ledger) })?;
    Ok(if ledger.count(Verdict::NotReproduced) == 0 { Answer::Yes } else { Answer::No })
}

fn choose(asked: &Repro) -> Result<Vec<&'static Claim>, Failure> {
    if asked.all {
        return Ok(papers::all().collect());
    }
    let mut chosen: Vec<&Claim> = Vec::new();
    for id in &asked.ids {
        let claim = papers::find(id)?;
        if !chosen.iter().any(|known| known.id == claim.id) {
            chosen.push(claim);
        }
    }
    Ok(chosen)
}

fn measure(asked: &Repro, chosen: &[&Claim]) -> Result<Ledger, Failure> {
    let effort = if asked.quick { Effort::Quick } else { Effort::Full };
    let schedule = Schedule::new(chosen, effort, &asked.set)?;
    let store = asked.out.as_deref().map(|path| Store::open(&path.join("runs"), VERSION)).transpose()?;
    let (progress, stop) = (Progress::default(), signals::stop());
    let runner = super::runner(asked.threads, &progress, &stop);
    let results = schedule.run(&runner, store.as_ref()).map_err(|error| match (error, &asked.out) {
        (Error::Run(wiremend_runner::Error::Interrupted), Some(kept)) => suspended(kept),
        (error, _) => error.into(),
    })?;
    let results = match std::env::current_exe() {
        Ok(program) => results.with_program(program),
        Err(_) => results,
    };
    let origin = origin(command(asked), VERSION);
    let claims = chosen.iter().map(|claim| claim.entry(&results, origin.clone())).collect();
    let Origin { command, version, date, machine } = origin;
    Ok(Ledger {
        schema: Ledger::SCHEMA,
        command,
        effort: effort.name().to_owned(),
        version,
        date,
        machine,
        computing_s: results.computing_s(),
        changed: asked.set.iter().map(|set| format!("{}={}", set.path, set.value)).collect(),
        claims,
    })
}

fn suspended(kept: &Path) -> Failure {
    Failure::Suspended(signals::caught().unwrap_or(0), kept.to_owned())
}

/// A ledger that was measured before, with the same effort.
fn read(path: &Path, asked: &Repro) -> Result<Ledger, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(&name, &error))?;
    let ledger: Ledger = serde_json::from_str(&text).map_err(|error| {
        Failure::Input(format!("{name}: {error}; expected a ledger.json of `wiremend repro --out`"))
    })?;
    let effort = if asked.quick { Effort::Quick } else { Effort::Full };
    if ledger.effort != effort.name() || !ledger.changed.is_empty() {
        let what = format!("{name}: measured with other effort or changes; the two do not go together");
        return Err(Failure::Input(what));
    }
    Ok(ledger)
}

/// The command that measures the same again.
fn command(asked: &Repro) -> String {
    let mut words = vec!["wiremend repro".to_owned()];
    words.extend(asked.all.then(|| "--all".to_owned()));
    words.extend(asked.ids.iter().map(|id| quoted(id)));
    words.extend(asked.quick.then(|| "--quick".to_owned()));
    let set = |set: &wiremend_scenario::Override| quoted(&format!("{}={}", set.path, set.value));
    words.extend(asked.set.iter().map(|changed| format!("--set {}", set(changed))));
    words.join(" ")
}

/// Figures first: the documents that show them come when they are there. The gallery has what was measured now.
fn write(ledger: &Ledger, earlier: Option<Ledger>, directory: &Path) -> Result<(), Failure> {
    let ids: Vec<_> = papers::all().map(|claim| claim.id).collect();
    let whole = earlier.map_or_else(|| ledger.clone(), |earlier| ledger.clone().merged_with(earlier, &ids));
    let figures = directory.join(FIGURES);
    let write = || {
        fs::create_dir_all(&figures)?;
        for figure in ledger.claims.iter().flat_map(|claim| &claim.figures) {
            write_whole(&figures.join(format!("{}.svg", figure.name)), &standalone(&figure.svg))?;
        }
        write_whole(&directory.join("gallery.html"), &ledger.gallery())?;
        // What was changed says nothing about the papers, and must not be taken for it.
        if ledger.changed.is_empty() {
            write_whole(&directory.join("VALIDATION.md"), &whole.validation(FIGURES))?;
        }
        write_whole(&directory.join("ledger.json"), &whole.json())
    };
    write().map_err(|error| Failure::file(&error))
}

fn listed(is_json: bool) -> String {
    if is_json {
        let claims: Vec<_> = papers::all()
            .map(|claim| json!({ "id": claim.id, "title": claim.title, "source": claim.source, "paper": claim.paper }))
            .collect();
        return format!("{:#}\n", json!({ "claims": claims }));
    }
    let mut text = String::from("Claims (wiremend repro ID…, or --all)\n");
    for claim in papers::all() {
        let _ = writeln!(text, "  {:<4}  {} ({})", claim.id, claim.title, claim.source);
    }
    text
}

/// Claims that were asked for by name are told at length; of all claims there is a table, and what is not as claimed.
fn told(asked: &Repro, ledger: &Ledger) -> String {
    let mut text = String::new();
    if !asked.all {
        ledger.claims.iter().for_each(|claim| text.push_str(&at_length(claim)));
    }
    if asked.all || ledger.claims.len() > 1 {
        ledger.claims.iter().for_each(|claim| text.push_str(&in_short(claim)));
        let _ = writeln!(text, "{}", ledger.tally());
    }
    if !ledger.changed.is_empty() {
        let changed = ledger.changed.join(", ");
        let _ = writeln!(text, "changed in all runs: {changed}; this says nothing about the papers");
    }
    text
}

fn in_short(claim: &Entry) -> String {
    let Entry { id, verdict, title, why, .. } = claim;
    let name = format!("{:<14}", verdict.name());
    let mut text = format!("{id:<4} {} {}  {title}\n", verdict.sign(), coloured(&name, *verdict));
    if *verdict != Verdict::Reproduced {
        text.push_str(&paragraph("", why));
    }
    text
}

fn at_length(claim: &Entry) -> String {
    let Entry { id, title, verdict, paper, source, method, measured, why, checks, .. } = claim;
    let mut text = format!("{id} {title}: {}\n", coloured(verdict.name(), *verdict));
    text.push_str(&paragraph("paper", &format!("{paper} ({source})")));
    text.push_str(&paragraph("method", method));
    text.push_str(&paragraph("measured", measured));
    text.push_str(&paragraph("why", why));
    for (number, check) in checks.iter().enumerate() {
        let heading = if number == 0 { "checks" } else { "" };
        let sign = match (check.holds, check.as_printed) {
            (true, _) => '✓',
            (false, true) => '≠',
            (false, false) => '✗',
        };
        let printed = if check.as_printed { " (as printed)" } else { "" };
        let line = format!("{sign} {}{printed}: {}; wanted {}", check.what, check.measured, check.wanted);
        text.push_str(&paragraph(heading, &line));
    }
    text.push('\n');
    text
}

fn paragraph(heading: &str, text: &str) -> String {
    let width = terminal::stdout().width.min(110);
    let lines = wrapped(text, width - 12);
    let mut shown = String::new();
    for (number, line) in lines.lines().enumerate() {
        let left = if number == 0 { heading } else { "" };
        let _ = writeln!(shown, "  {left:<8}  {line}");
    }
    shown
}

fn coloured(text: &str, verdict: Verdict) -> String {
    let code = match verdict {
        Verdict::Reproduced => 32,
        Verdict::Differs => 33,
        Verdict::NotReproduced => 31,
    };
    if terminal::stdout().colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}
