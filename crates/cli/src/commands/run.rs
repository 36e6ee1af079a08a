//! `wiremend run`: all variants of a scenario, compared.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use wiremend_measure::{Summary, VariantSummary};
use wiremend_report::terminal as draw;
use wiremend_report::{NewFile, Page, to_json};
use wiremend_scenario::Variant;
use wiremend_sim::{Options, Simulation};
use wiremend_units::{LinkId, nearest};

use crate::args::{CaptureRequest, Run, Scenario, VERSION};
use crate::batch::{Batch, Failed, Ran, Run as OneRun, Sum};
use crate::failure::{Answer, Failure};
use crate::input::Input;
use crate::order::Ordered;
use crate::output::{Label, Output, Wanted};
use crate::{machine, signals, terminal};
use wiremend_report::quoted;

pub(super) fn run(asked: &Run) -> Result<Answer, Failure> {
    signals::catch()?;
    let input = Input::load(&asked.scenario.name, &asked.scenario.set)?;
    let variants = input.variants(&asked.variant)?;
    let runs = plan(asked, &input, &variants)?;
    let output = asked.out.as_deref().map(|path| open_output(path, asked.csv, &runs)).transpose()?;
    let threads = asked.threads.map_or_else(machine::cores, usize::from);
    let sums = variants.iter().map(|_| Mutex::default()).collect();
    let batch = Batch { input: &input, runs, sums, threads, output: output.as_ref() };
    let (sums, ran) = batch.run()?;

    let drawings: Vec<String> = ran.iter().filter_map(|ran| ran.pauses.clone()).take(DRAWINGS_MAX).collect();
    let (compared, captures) = compare(&variants, &sums, ran);
    let (summaries, failed): (Vec<_>, Vec<_>) = compared.into_iter().unzip();
    let summary = Summary {
        schema: Summary::SCHEMA,
        scenario: input.name.clone(),
        seed: seed_of(asked, &input.file.scenario),
        seeds: asked.seeds,
        version: VERSION.to_owned(),
        variants: summaries,
    };
    let sentences = wiremend_report::sentences(&summary.variants);
    if let Some(output) = output {
        let page = Page {
            title: input.title(),
            sentences: &[vec![unwrapped(&input.file.scenario.about)], sentences.clone()].concat(),
            summary: &summary,
            drawings: &drawings,
            scenario: input.file.text(),
            command: &command(asked, summary.seed),
        };
        output.into_inner().finish(&summary, &page)?;
    }
    captures.into_iter().try_for_each(NewFile::finish).map_err(|error| Failure::file(&error))?;
    let text = if asked.json { to_json(&summary) } else { told(&input, &summary, &failed, &sentences) };
    terminal::print(&text)?;
    let is_deadlocked =
        |variant: &VariantSummary| variant.deadlock.as_ref().is_some_and(|found| found.ended_run);
    Ok(if summary.variants.iter().any(is_deadlocked) { Answer::No } else { Answer::Yes })
}

/// Drawings of single runs in a report.
const DRAWINGS_MAX: usize = 12;

/// What a newcomer sees who asks for nothing.
pub(super) fn tour() -> Result<Answer, Failure> {
    let scenario = Scenario { name: "tour".to_owned(), set: Vec::new(), seed: None };
    let answer = run(&Run {
        scenario,
        variant: Vec::new(),
        seeds: 1,
        threads: None,
        out: None,
        csv: false,
        capture: Vec::new(),
        json: false,
    })?;
    terminal::print(
        "\nNext:\n  \
         wiremend trace tour --variant go-back-n --flow slowest   the slowest flow, packet by packet\n  \
         wiremend run tour --out results                          the same with files: open results/report.html\n  \
         wiremend list                                            more scenarios\n  \
         wiremend --help                                          all commands\n",
    )?;
    Ok(answer)
}

fn seed_of(asked: &Run, scenario: &wiremend_scenario::Scenario) -> u64 {
    asked.scenario.seed.unwrap_or_else(|| scenario.seed.get())
}

/// All runs, variants first. What is wrong with a variant shows before any of them runs.
fn plan<'a>(asked: &Run, input: &Input, variants: &[&'a Variant]) -> Result<Vec<OneRun<'a>>, Failure> {
    let is_one = variants.len() == 1 && asked.seeds == 1;
    let mut runs = Vec::new();
    for (sum, variant) in variants.iter().enumerate() {
        let links = if asked.capture.is_empty() && variants.len() == 1 {
            Vec::new()
        } else {
            links(&asked.capture, input, variant)?
        };
        for number in 0..asked.seeds {
            let seed = seed_of(asked, &variant.scenario).wrapping_add(number);
            let path = |request: &CaptureRequest| {
                if is_one {
                    request.path.clone()
                } else {
                    numbered(&request.path, &variant.name, (asked.seeds > 1).then_some(seed))
                }
            };
            let captures = links.iter().copied().zip(asked.capture.iter().map(path)).collect();
            runs.push(OneRun { variant, sum, seed, captures });
        }
    }
    distinct(runs.iter().flat_map(|run| run.captures.iter().map(|(_, path)| path)))?;
    Ok(runs)
}

/// Refuses two captures that would go into one file: variants whose names differ only in what no file name holds, or
/// one path in two spellings.
fn distinct<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    for path in paths {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if !seen.insert((folder, path.file_name())) {
            let path = path.display();
            return Err(Failure::Input(format!(
                "--capture: two captures into one file `{path}`; give each its own"
            )));
        }
    }
    Ok(())
}

/// The links that are to be captured, which takes the network to tell.
fn links(requests: &[CaptureRequest], input: &Input, variant: &Variant) -> Result<Vec<LinkId>, Failure> {
    let mut options = Options::new(0);
    options.memory_bytes_max = machine::memory_bytes_max();
    let simulation =
        Simulation::build(&variant.scenario, input, &options).map_err(|error| input.refused(&error))?;
    let graph = simulation.graph();
    let find = |request: &CaptureRequest| {
        graph.link_by_name(&request.link).ok_or_else(|| {
            let names: Vec<_> =
                (0..graph.links().len() as u32).map(|link| graph.link_name(LinkId(link))).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let guess = nearest(&request.link, &names)
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let some = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
            let more = if names.len() > 8 { format!(" and {} more", names.len() - 8) } else { String::new() };
            Failure::Input(format!(
                "--capture: unknown link `{}`{guess}; there are {some}{more}",
                request.link
            ))
        })
    };
    requests.iter().map(find).collect()
}

/// `link.pcapng` for a variant and perhaps a seed: `link-go-back-n-7.pcapng`.
fn numbered(path: &Path, variant: &str, seed: Option<u64>) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{}", variant.chars().map(plain).collect::<String>()));
    if let Some(seed) = seed {
        name.push(format!("-{seed}"));
    }
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn open_output(path: &Path, csv: bool, runs: &[OneRun<'_>]) -> Result<Ordered<Output>, Failure> {
    let label =
        |run: &OneRun<'_>| Label { variant: run.variant.name.clone(), seed: run.seed, entities: Vec::new() };
    let series = runs.iter().any(|run| run.variant.scenario.series.is_some());
    let output = Output::create(path, Wanted { csv, series }, runs.iter().map(label).collect())?;
    Ok(Ordered::new(output, runs.len()))
}

/// What is told of each variant, all of its seeds together.
fn compare(
    variants: &[&Variant],
    sums: &[Sum],
    ran: Vec<Ran>,
) -> (Vec<(VariantSummary, Failed)>, Vec<NewFile>) {
    let summary = |(variant, sum): (&&Variant, &Sum)| {
        (sum.collector.summary(&variant.name, &sum.counters), Failed::default())
    };
    let mut compared: Vec<_> = variants.iter().zip(sums).map(summary).collect();
    let mut captures = Vec::new();
    for one in ran {
        let (summary, failed) = &mut compared[one.sum];
        failed.merge(one.failed);
        if summary.notes.is_empty() {
            summary.notes = one.notes;
        }
        // Of several seeds, one that it ended says more than one that went on.
        let known = summary.deadlock.as_ref().is_some_and(|found| found.ended_run);
        if !known && one.deadlock.as_ref().is_some_and(|found| found.ended_run || summary.deadlock.is_none())
        {
            summary.deadlock = one.deadlock;
        }
        captures.extend(one.captures);
    }
    (compared, captures)
}

/// What people read: what it is, the table, a plot, what it says.
fn told(input: &Input, summary: &Summary, failed: &[Failed], sentences: &[String]) -> String {
    let screen = terminal::stdout();
    let prose = screen.width.min(100);
    let mut text = format!("{}\n", bold(input.title(), screen));
    text.push_str(&terminal::wrapped(&input.file.scenario.about, prose));
    text.push('\n');
    text.push_str(&draw::table(&summary.variants, screen));
    for (variant, failed) in summary.variants.iter().zip(failed) {
        for (reason, flows) in &failed.0 {
            let flows: Vec<_> = flows.iter().map(u64::to_string).collect();
            let _ =
                writeln!(text, "{}: the first with \"{reason}\": flow {}", variant.name, flows.join(", "));
        }
    }
    for note in wiremend_report::notes(&summary.variants) {
        text.push_str(&terminal::wrapped(&format!("note: {note}"), prose));
    }
    let plot = draw::tail_plot(&summary.variants, screen);
    if !plot.is_empty() {
        text.push_str("\nFlow completion times\n");
        text.push_str(&plot);
    }
    if !sentences.is_empty() {
        text.push('\n');
        for sentence in sentences {
            text.push_str(&terminal::wrapped(&format!("• {sentence}"), prose));
        }
    }
    text
}

fn bold(text: &str, screen: draw::Terminal) -> String {
    if screen.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

fn unwrapped(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// The command that runs the same again.
fn command(asked: &Run, seed: u64) -> String {
    let mut words = vec!["wiremend run".to_owned(), quoted(&asked.scenario.name)];
    words.extend(
        asked
            .scenario
            .set
            .iter()
            .map(|set| format!("--set {}", quoted(&format!("{}={}", set.path, set.value)))),
    );
    words.extend(asked.variant.iter().map(|name| format!("--variant {}", quoted(name))));
    words.push(format!("--seed {seed}"));
    if asked.seeds > 1 {
        words.push(format!("--seeds {}", asked.seeds));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_several_runs_have_a_file_each() {
        let path = Path::new("a/link.pcapng");
        assert_eq!(numbered(path, "1 MB/s", None), Path::new("a/link-1_MB_s.pcapng"));
        assert_eq!(numbered(path, "base", Some(7)), Path::new("a/link-base-7.pcapng"));
        assert_eq!(numbered(Path::new("x"), "base", None), Path::new("x-base"));
    }
}
