//! `wiremend run`: compares the variants of a scenario.

use std::fmt::Write as _;

use wiremend_measure::VariantSummary;
use wiremend_report::terminal::{self as draw, wrap};
use wiremend_report::to_json;
use wiremend_runner::{Batch, Input, Request};

use crate::args::{FastForward, Quiet, Run, Scenario};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};

pub(super) fn run(args: &Run) -> Result<Answer, Failure> {
    signals::catch()?;
    let input = Input::load(&args.scenario.name, &args.scenario.set)?;
    let (progress, stop) = (Progress::new(args.quiet), signals::stop());
    let runner = super::runner(args.threads, &progress, &stop).fast_forward(args.fast_forward.is_on());
    let batch = runner.run(&request(args, &input)?)?;
    terminal::print(&if args.json { to_json(&batch.summary) } else { rendered(&input, &batch) })?;
    let is_deadlocked =
        |variant: &VariantSummary| variant.first_deadlock.as_ref().is_some_and(|found| found.ended_run);
    Ok(if batch.summary.variants.iter().any(is_deadlocked) { Answer::No } else { Answer::Yes })
}

fn request<'a>(args: &Run, input: &'a Input) -> Result<Request<'a>, Failure> {
    let mut request = Request::new(input).variants(&args.variant)?.seeds(args.seeds);
    if let Some(seed) = args.scenario.seed {
        request = request.seed(seed);
    }
    for capture in &args.capture {
        request = request.capture(&capture.link, &capture.path);
    }
    if args.truth {
        request = request.capture_causes();
    }
    if let Some(path) = &args.out {
        request = request.out_dir(path);
    }
    Ok(if args.csv { request.csv() } else { request })
}

/// Runs the scenario `tour` and prints next steps, for `wiremend` without arguments.
pub(super) fn tour() -> Result<Answer, Failure> {
    let scenario = Scenario { name: "tour".to_owned(), set: Vec::new(), seed: None };
    let answer = run(&Run {
        quiet: Quiet::default(),
        scenario,
        variant: Vec::new(),
        seeds: 1,
        threads: None,
        fast_forward: FastForward::Auto,
        out: None,
        csv: false,
        capture: Vec::new(),
        truth: false,
        json: false,
    })?;
    terminal::print(
        "\nNext:\n  \
         wiremend trace tour --variant go-back-n --flow slowest   show the slowest flow, packet by packet\n  \
         wiremend run tour --out results                          write files; open results/report.html\n  \
         wiremend list                                            list all scenarios\n  \
         wiremend --help                                          show all commands\n",
    )?;
    Ok(answer)
}

/// Renders the title, the table, a plot and the conclusions.
fn rendered(input: &Input, batch: &Batch) -> String {
    let Batch { summary, variants, sentences } = batch;
    let screen = terminal::stdout();
    let prose = screen.width.min(100);
    let mut text = format!("{}\n", bold(input.title(), screen));
    text.push_str(&wrap(&input.file.scenario.about, prose));
    text.push('\n');
    text.push_str(&draw::table(&summary.variants, screen));
    for (variant, results) in summary.variants.iter().zip(variants) {
        for (reason, flows) in results.failed.by_reason() {
            let flows: Vec<_> = flows.iter().map(u64::to_string).collect();
            let _ = writeln!(text, "{}: first flows with \"{reason}\": {}", variant.name, flows.join(", "));
        }
    }
    text.push_str(&wrap(&wiremend_report::interval_note(&summary.variants), prose));
    for note in wiremend_report::notes(&summary.variants) {
        text.push_str(&wrap(&format!("note: {note}"), prose));
    }
    let seeds = draw::seed_table(&summary.variants, screen);
    if !seeds.is_empty() {
        let _ = write!(text, "\nEach seed\n{seeds}");
    }
    let plot = draw::tail_plot(&summary.variants, screen);
    if !plot.is_empty() {
        text.push_str("\nFlow completion times\n");
        text.push_str(&plot);
    }
    if !sentences.is_empty() {
        text.push('\n');
        for sentence in sentences {
            text.push_str(&wrap(&format!("• {sentence}"), prose));
        }
    }
    text
}

fn bold(text: &str, screen: draw::Terminal) -> String {
    if screen.colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}
