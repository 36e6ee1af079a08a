//! `wiremend fleet run`: simulates years of a fabric.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};
use wiremend_fleet::{Policy, PolicyOutcome, RepairModel, TimeWindow, Trace, compare_policies};
use wiremend_report::{AtomicFile, Document, DocumentPart, human, text_table};

use wiremend_runner::years::figures::{ChangeQuantity, StateQuantity, distributions, middle_week, over_time};
use wiremend_runner::years::{TraceSource, Years};

use super::fabric::Named;
use super::outcome::{Gain, PolicyResult, numbers};
use super::{effect, read};
use crate::args::VERSION;
use crate::args::fleet::FleetRun;
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};
use wiremend_report::shell_quoted;

pub(super) fn run(args: &FleetRun) -> Result<Answer, Failure> {
    signals::catch()?;
    let fabric = Named::load_strict(&args.fabric)?;
    let effect = effect(&args.table)?;
    let trace = args.trace.as_deref().map(|path| given(path, &fabric)).transpose()?;
    check_policies(&args.policy)?;
    let window = TimeWindow::days(args.from_day, args.days);
    let years = Years {
        tiers: &fabric.tiers,
        source: trace.as_ref().map_or(TraceSource::Generated(args.draw.generator()), TraceSource::Given),
        constraint: args.constraint,
        policies: &args.policy,
        effect: &effect,
        repair: RepairModel {
            failure_share: args.repairs_fail,
            technicians: args.technicians,
            ..RepairModel::default()
        },
        window,
        seeds: args.draw.seed..args.draw.seed.saturating_add(args.seeds),
    };
    let keep_first = args.out.is_some();
    let (progress, stop) = (Progress::new(args.quiet), signals::stop());
    let runner = crate::commands::runner(args.threads, &progress, &stop);
    let keep = |seed, outcomes| Year::new(outcomes, window, keep_first && seed == args.draw.seed);
    let results = years.run(&runner, keep)?;
    let summary = Summary::new(args, &fabric, window, &results);
    if let Some(directory) = &args.out {
        let first = &results[0].outcomes;
        write(
            directory,
            &[
                ("summary.json", format!("{:#}\n", summary.json())),
                ("series.csv", series(first)),
                ("report.html", summary.page(first).html()),
            ],
        )?;
    }
    terminal::print(&if args.json { format!("{:#}\n", summary.json()) } else { summary.text() })?;
    Ok(Answer::Yes)
}

fn given(path: &Path, fabric: &Named) -> Result<Trace, Failure> {
    let (name, text) = read(path)?;
    Trace::parse(&text, &fabric.tiers).map_err(|error| Failure::Input(format!("{name}:{error}")))
}

fn check_policies(policies: &[Policy]) -> Result<(), Failure> {
    let names: Vec<String> = policies.iter().map(Policy::to_string).collect();
    let twice = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name));
    twice.map_or(Ok(()), |(_, name)| {
        Err(Failure::Input(format!("--policy: `{name}` is listed twice; remove one")))
    })
}

/// Results of one seed.
struct Year {
    numbers: Vec<Vec<(&'static str, f64)>>,
    /// Gain of each policy over the base.
    gains: Vec<Gain>,
    /// All states, for the first seed only.
    outcomes: Vec<PolicyOutcome>,
}

impl Year {
    fn new(outcomes: Vec<PolicyOutcome>, window: TimeWindow, keep: bool) -> Self {
        let base = base(outcomes.iter().map(|outcome| outcome.policy));
        let gain = |outcome: &PolicyOutcome| {
            Gain::from_changes(&compare_policies(&outcomes[base].samples, &outcome.samples, window))
        };
        Self {
            numbers: outcomes.iter().map(numbers).collect(),
            gains: outcomes.iter().map(gain).collect(),
            outcomes: if keep { outcomes } else { Vec::new() },
        }
    }
}

/// Returns the policy that others are compared with: CorrOpt if present, else the first.
fn base(mut policies: impl Iterator<Item = Policy>) -> usize {
    policies.position(|policy| policy == Policy::CORROPT).unwrap_or(0)
}

/// Results of all seeds.
struct Summary<'a> {
    args: &'a FleetRun,
    fabric: &'a Named,
    window: TimeWindow,
    results: Vec<PolicyResult>,
    gains: Vec<Gain>,
    base: usize,
}

const COLUMNS: &str = "|penalty|clean|paths, least|paths, mean|capacity, least|capacity, mean|out, mean|\
    corrupting, mean|per pipe";

impl<'a> Summary<'a> {
    fn new(args: &'a FleetRun, fabric: &'a Named, window: TimeWindow, years: &[Year]) -> Self {
        let numbers =
            |place: usize| -> Vec<_> { years.iter().map(|year| year.numbers[place].clone()).collect() };
        let results = args
            .policy
            .iter()
            .enumerate()
            .map(|(place, policy)| PolicyResult::new(*policy, &numbers(place)))
            .collect();
        let gain = |place: usize| Gain::mean(&years.iter().map(|year| year.gains[place]).collect::<Vec<_>>());
        let gains = (0..args.policy.len()).map(gain).collect();
        Self { args, fabric, window, results, gains, base: base(args.policy.iter().copied()) }
    }

    fn json(&self) -> Value {
        let policies: Map<String, Value> =
            self.results.iter().map(|result| (result.policy.to_string(), result.json())).collect();
        let others =
            self.results.iter().zip(&self.gains).enumerate().filter(|(place, _)| *place != self.base);
        let gains: Map<String, Value> =
            others.map(|(_, (result, gain))| (result.policy.to_string(), gain.json())).collect();
        let tiers = &self.fabric.tiers;
        json!({
            "schema": 1,
            "version": VERSION,
            "fabric": {
                "name": self.fabric.name, "links": tiers.link_count(), "switches": tiers.switch_count(),
                "tors": tiers.tors().len(), "pods": tiers.pod_count(),
            },
            "constraint": self.args.constraint,
            "table": self.args.table,
            "seed": self.args.draw.seed,
            "seeds": self.args.seeds,
            "trace": self.args.trace.as_ref().map(|path| path.display().to_string()),
            "from_day": self.args.from_day,
            "days": self.args.days,
            "policies": policies,
            "gain": { "over": self.results[self.base].policy.to_string(), "policies": gains },
        })
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let percent = |value: f64| format!("{:.2} %", value * 100.0);
        let row = |result: &PolicyResult| {
            let penalty = match result.interval("penalty_time_mean") {
                Some(range) => format!("{:.2e}…{:.2e}", range.low.max(0.0), range.high),
                None => format!("{:.3e}", result.mean("penalty_time_mean")),
            };
            vec![
                result.policy.to_string(),
                penalty,
                percent(result.mean("clean_time_share")),
                percent(result.mean("least_paths.min")),
                percent(result.mean("least_paths.time_mean")),
                percent(result.mean("least_capacity.min")),
                percent(result.mean("least_capacity.time_mean")),
                format!("{:.1}", result.mean("disabled.mean")),
                format!("{:.1}", result.mean("active_corrupting.mean")),
                format!("{:.2}", result.mean("protected_per_pipe.max")).trim_end_matches(".00").to_owned(),
            ]
        };
        self.results.iter().map(row).collect()
    }

    fn sentences(&self) -> Vec<String> {
        let first = &self.results[0];
        let seeds =
            if self.args.seeds == 1 { "one seed".to_owned() } else { format!("{} seeds", self.args.seeds) };
        let mut lines = vec![format!(
            "{}; every ToR must keep {} % of its paths; {} links start to corrupt in {} days, {seeds}. Penalty is the sum of the loss ratios of all enabled links, averaged over time.",
            self.fabric.description(),
            human::percent(self.args.constraint),
            human::count(first.mean("events").round() as u64),
            self.args.days,
        )];
        let base = self.results[self.base].mean("penalty_time_mean");
        for (place, (result, gain)) in self.results.iter().zip(&self.gains).enumerate() {
            if place == self.base || result.mean("penalty_time_mean") <= 0.0 {
                continue;
            }
            lines.push(format!(
                "{} has {} less loss than {} on average; the loss is equal {} % of the time ({} % of the events), and otherwise {} less at the median. The capacity of the worst pod is at most {} % less.",
                result.policy,
                human::factor(base / result.mean("penalty_time_mean")),
                self.results[self.base].policy,
                human::percent(gain.none_time),
                human::percent(gain.none_event),
                human::factor(gain.median),
                human::percent(gain.capacity_lost_max),
            ));
        }
        lines
    }

    fn text(&self) -> String {
        let width = terminal::stdout().width;
        let columns: Vec<_> = COLUMNS.split('|').collect();
        let mut text = text_table(&columns, &self.rows(), terminal::stdout());
        for sentence in self.sentences() {
            let _ = write!(text, "\n{}", wiremend_report::terminal::wrap(&sentence, width));
        }
        text
    }

    fn page(&self, first: &[PolicyOutcome]) -> Document {
        let mut parts: Vec<DocumentPart> = self.sentences().into_iter().map(DocumentPart::Text).collect();
        let columns = COLUMNS.split('|').map(str::to_owned).collect();
        parts.push(DocumentPart::Table { columns, rows: self.rows() });
        let base = &first[self.base];
        let others = first.iter().filter(|outcome| outcome.policy != base.policy);
        let changes: Vec<_> = others
            .map(|other| {
                (other.policy.to_string(), compare_policies(&base.samples, &other.samples, self.window))
            })
            .collect();
        if !changes.is_empty() {
            parts.push(DocumentPart::Heading(format!("Against {}", base.policy)));
            for of in [ChangeQuantity::Gain, ChangeQuantity::CapacityLost] {
                parts.push(DocumentPart::Drawing(distributions(of, &changes).svg()));
            }
        }
        for (title, window) in
            [("A week in the middle", middle_week(self.window)), ("The whole time", self.window)]
        {
            parts.push(DocumentPart::Heading(title.to_owned()));
            for over in [
                StateQuantity::Penalty,
                StateQuantity::LeastPaths,
                StateQuantity::LeastCapacity,
                StateQuantity::Disabled,
            ] {
                parts.push(DocumentPart::Drawing(over_time(over, first, window, "").svg()));
            }
        }
        Document {
            title: format!(
                "A fabric over {} days, constraint {} %",
                self.args.days,
                human::percent(self.args.constraint)
            ),
            origin: format!("{} · table {} · wiremend {VERSION}", self.fabric.description(), self.args.table),
            parts,
            command: std::env::args().map(|word| shell_quoted(&word)).collect::<Vec<_>>().join(" "),
        }
    }
}

/// Renders every state of every policy as CSV.
fn series(outcomes: &[PolicyOutcome]) -> String {
    let mut text = "policy,time_s,penalty,least_paths,mean_paths,least_capacity,mean_capacity,disabled,active_corrupting,protected_per_pipe\n".to_owned();
    for outcome in outcomes {
        for sample in &outcome.samples {
            let _ = writeln!(
                text,
                "{},{},{:e},{},{},{},{},{},{},{}",
                outcome.policy,
                sample.at,
                sample.penalty,
                sample.least_paths,
                sample.mean_paths,
                sample.least_capacity,
                sample.mean_capacity,
                sample.disabled,
                sample.active,
                sample.most_per_pipe
            );
        }
    }
    text
}

/// Writes files into a directory: all of them, or none.
pub(super) fn write(directory: &Path, files: &[(&str, String)]) -> Result<(), Failure> {
    use std::io::Write as _;
    let shown = directory.display();
    std::fs::create_dir_all(directory)
        .map_err(|error| Failure::Environment(format!("cannot create the directory `{shown}`: {error}")))?;
    let written = || -> std::io::Result<()> {
        let mut whole = Vec::new();
        for (name, text) in files {
            let mut file = AtomicFile::create(&directory.join(name))?;
            file.write_all(text.as_bytes())?;
            whole.push(file);
        }
        whole.into_iter().try_for_each(AtomicFile::finish)
    };
    written().map_err(|error| Failure::file(&error))
}
