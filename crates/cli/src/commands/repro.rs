//! `wiremend repro`: measures claims of papers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;
use wiremend_claims::ledger::{Claim, Effort, Schedule, Store};
use wiremend_claims::{Error, origin, papers};
use wiremend_report::ledger::{ClaimResult, Ledger, Origin, Statement, Verdict};
use wiremend_report::plot::standalone;
use wiremend_report::terminal::wrap;
use wiremend_report::write_atomic;

use crate::args::{Repro, VERSION};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};
use wiremend_report::shell_quoted;

pub(super) fn run(args: &Repro) -> Result<Answer, Failure> {
    if let (Some(file), Some(directory)) = (&args.pages, &args.out) {
        write_pages(&read(file)?, directory)?;
        return Ok(Answer::Yes);
    }
    signals::catch()?;
    let chosen = choose(args)?;
    if chosen.is_empty() || args.commands {
        let text = if chosen.is_empty() { listed(args.json) } else { commands(args, &chosen) };
        terminal::print(&text)?;
        return Ok(Answer::Yes);
    }
    let earlier = args.merge.as_deref().map(earlier).transpose()?;
    let ledger = measure(args, &chosen)?;
    if let Some(directory) = &args.out {
        write(&ledger, earlier, directory)?;
    }
    terminal::print(&if args.json { ledger.json() } else { rendered(args, &ledger) })?;
    Ok(if ledger.count(Verdict::NotReproduced) == 0 { Answer::Yes } else { Answer::No })
}

fn effort(args: &Repro) -> Effort {
    if args.quick { Effort::Quick } else { Effort::Full }
}

fn choose(args: &Repro) -> Result<Vec<&'static Claim>, Failure> {
    if args.all {
        return Ok(papers::all().collect());
    }
    let mut chosen: Vec<&Claim> = Vec::new();
    for id in &args.ids {
        let claim = papers::find(id)?;
        if !chosen.iter().any(|known| known.id == claim.id) {
            chosen.push(claim);
        }
    }
    Ok(chosen)
}

fn measure(args: &Repro, chosen: &[&Claim]) -> Result<Ledger, Failure> {
    let effort = effort(args);
    let schedule = Schedule::new(chosen, effort, &args.set)?;
    let store = args.out.as_deref().map(|path| Store::open(&path.join("runs"), VERSION)).transpose()?;
    let (progress, stop) = (Progress::new(args.quiet), signals::stop());
    let runner = super::runner(args.threads, &progress, &stop);
    let results = schedule.run(&runner, store.as_ref()).map_err(|error| match (error, &args.out) {
        (Error::Run(wiremend_runner::Error::Interrupted), Some(kept)) => suspended(kept),
        (error, _) => error.into(),
    })?;
    let results = match std::env::current_exe() {
        Ok(program) => results.with_program(program),
        Err(_) => results,
    };
    let origin = origin(command(args), effort, VERSION);
    let claims = chosen.iter().map(|claim| claim.judge(&results, origin.clone())).collect();
    let Origin { effort, command, version, date, machine } = origin;
    Ok(Ledger {
        schema: Ledger::SCHEMA,
        command,
        effort,
        version,
        date,
        machine,
        computing_s: results.computing_s(),
        changed: args.set.iter().map(|set| format!("{}={}", set.path, set.value)).collect(),
        claims,
    })
}

fn suspended(kept: &Path) -> Failure {
    Failure::Suspended(signals::caught().unwrap_or(0), kept.to_owned())
}

/// Reads a `ledger.json`.
fn read(path: &Path) -> Result<Ledger, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(&name, &error))?;
    let ledger: Ledger = serde_json::from_str(&text).map_err(|error| {
        Failure::Input(format!("{name}: {error}; expected a ledger.json of `wiremend repro --out`"))
    })?;
    if ledger.schema != Ledger::SCHEMA {
        let (schema, known) = (ledger.schema, Ledger::SCHEMA);
        return Err(Failure::Input(format!(
            "{name}: schema {schema}; this program reads schema {known}; measure again with --out"
        )));
    }
    Ok(ledger)
}

/// Reads a ledger that was measured earlier, without changes.
fn earlier(path: &Path) -> Result<Ledger, Failure> {
    let ledger = read(path)?;
    if !ledger.changed.is_empty() {
        return Err(Failure::Input(format!(
            "{}: measured with --set; cannot merge; measure it without --set",
            path.display()
        )));
    }
    Ok(ledger)
}

/// The commands of the runs of the claims, one per line. A comment replaces them for a claim without runs.
fn commands(args: &Repro, chosen: &[&Claim]) -> String {
    let mut text = String::new();
    for claim in chosen {
        let commands = claim.commands(effort(args), &args.set);
        if commands.is_empty() {
            let _ = writeln!(text, "# {}: no runs of scenarios; `wiremend repro {0}` computes it", claim.id);
        }
        for command in commands {
            let _ = writeln!(text, "{command}");
        }
    }
    text
}

/// The command that repeats this measurement.
fn command(args: &Repro) -> String {
    let mut words = vec!["wiremend repro".to_owned()];
    words.extend(args.all.then(|| "--all".to_owned()));
    words.extend(args.ids.iter().map(|id| shell_quoted(id)));
    words.extend(args.quick.then(|| "--quick".to_owned()));
    let set = |set: &wiremend_scenario::Override| shell_quoted(&format!("{}={}", set.path, set.value));
    words.extend(args.set.iter().map(|changed| format!("--set {}", set(changed))));
    words.join(" ")
}

/// Writes figures first, then the documents that show them. The gallery has only the claims measured now.
fn write(ledger: &Ledger, earlier: Option<Ledger>, directory: &Path) -> Result<(), Failure> {
    let ids: Vec<_> = papers::all().map(|claim| claim.id).collect();
    let whole = earlier.map_or_else(|| ledger.clone(), |earlier| ledger.clone().merged_with(earlier, &ids));
    let figures = directory.join(Ledger::FIGURES);
    let write = || {
        fs::create_dir_all(&figures)?;
        for figure in ledger.claims.iter().flat_map(|claim| &claim.figures) {
            write_atomic(&figures.join(format!("{}.svg", figure.name)), &standalone(&figure.svg))?;
        }
        write_atomic(&directory.join("gallery.html"), &ledger.gallery(&statements()))?;
        write_atomic(&directory.join("ledger.json"), &whole.json())
    };
    write().map_err(|error| Failure::file(&error))?;
    // Results with changes must not be mistaken for results about the papers.
    if ledger.changed.is_empty() { write_pages(&whole, directory) } else { Ok(()) }
}

/// Writes the index and the page of each claim.
fn write_pages(ledger: &Ledger, directory: &Path) -> Result<(), Failure> {
    let statements = statements();
    if let Some(claim) =
        ledger.claims.iter().find(|claim| statements.iter().all(|statement| statement.id != claim.id))
    {
        return Err(Failure::Input(format!("unknown claim `{}` in the ledger", claim.id)));
    }
    let write = || {
        fs::create_dir_all(directory)?;
        let pages = ledger.pages(&statements);
        pages.iter().try_for_each(|page| write_atomic(&directory.join(&page.name), &page.text))
    };
    write().map_err(|error| Failure::file(&error))
}

fn statements() -> Vec<Statement> {
    papers::all().map(Claim::statement).collect()
}

fn listed(is_json: bool) -> String {
    if is_json {
        let claims: Vec<_> = papers::all()
            .map(|claim| json!({ "id": claim.id, "title": claim.title, "source": claim.source.to_string(), "paper": claim.paper, "method": claim.method }))
            .collect();
        return format!("{:#}\n", json!({ "claims": claims }));
    }
    let mut text = String::from("Claims (wiremend repro ID…, or --all)\n");
    for claim in papers::all() {
        let _ = writeln!(text, "  {:<4}  {} ({})", claim.id, claim.title, claim.source);
    }
    text
}

/// Claims named by id are shown in full. `--all` gives a line for each claim, and the reason if it is not
/// reproduced.
fn rendered(args: &Repro, ledger: &Ledger) -> String {
    let mut text = String::new();
    if !args.all {
        ledger.claims.iter().for_each(|claim| text.push_str(&in_full(claim)));
    }
    if args.all || ledger.claims.len() > 1 {
        ledger.claims.iter().for_each(|claim| text.push_str(&in_brief(claim)));
        let _ = writeln!(text, "{}", ledger.tally());
    }
    if !ledger.changed.is_empty() {
        let changed = ledger.changed.join(", ");
        let _ = writeln!(text, "changed in all runs: {changed}; the verdicts do not apply to the papers");
    }
    text
}

fn statement(claim: &ClaimResult) -> Statement {
    papers::find(&claim.id).expect("claims of the program were measured").statement()
}

fn in_brief(claim: &ClaimResult) -> String {
    let (statement, verdict) = (statement(claim), claim.verdict());
    let name = coloured(&format!("{:<14}", statement.verdict_name(verdict)), verdict);
    let mut text = format!("{:<4} {} {name}  {}\n", claim.id, verdict.sign(), statement.title);
    if verdict != Verdict::Reproduced {
        text.push_str(&paragraph("", &claim.why()));
    }
    text
}

fn in_full(claim: &ClaimResult) -> String {
    let statement = statement(claim);
    let Statement { id, title, source, paper, method, note, .. } = statement;
    let verdict = claim.verdict();
    let mut text = format!("{id} {title}: {}\n", coloured(statement.verdict_name(verdict), verdict));
    text.push_str(&paragraph("paper", &format!("{paper} ({source})")));
    for (heading, line) in [("method", method), ("why", &claim.why()), ("note", note)] {
        if !line.is_empty() {
            text.push_str(&paragraph(heading, line));
        }
    }
    for (number, check) in claim.checks.iter().enumerate() {
        let heading = if number == 0 { "checks" } else { "" };
        let printed = if check.printed { " (as printed)" } else { "" };
        let (sign, measured, wanted) = (check.sign(), check.measured_text(), check.wanted());
        text.push_str(&paragraph(
            heading,
            &format!("{sign} {}{printed}: {measured}; wanted {wanted}", check.what),
        ));
    }
    text.push('\n');
    text
}

fn paragraph(heading: &str, text: &str) -> String {
    let width = terminal::stdout().width.min(110);
    let lines = wrap(text, width - 12);
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
        Verdict::Corrected | Verdict::Explained => 33,
        Verdict::NotReproduced => 31,
    };
    if terminal::stdout().colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}
