//! All runs of a request: variants and seeds, side by side as far as there are threads for it.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wiremend_fabric::Graph;
use wiremend_measure::{
    Collector, Counters, DeadlockFound, FlowRow, Outcome, SeriesRow, Summary, VariantSummary,
};
use wiremend_report::{NewFile, Origin, Page, sentences};
use wiremend_sim::{Capture, Captured, Observer};
use wiremend_units::LinkId;

use crate::error::Error;
use crate::folder::{Folder, Wanted};
use crate::order::{Feed, Ordered, Sink};
use crate::pauses;
use crate::pool::{Runner, Slot};
use crate::request::{Request, Run};
use crate::rows::Rows;

/// What came of a request.
pub struct Batch {
    /// All numbers, variant by variant.
    pub summary: Summary,
    /// The same variants, with all that their numbers are made of.
    pub variants: Vec<VariantResults>,
    /// What the numbers say, in sentences.
    pub sentences: Vec<String>,
}

/// All runs of one variant together.
#[derive(Default)]
pub struct VariantResults {
    /// Flows, their times and the digest.
    pub collector: Collector,
    /// Sums over all hosts and links.
    pub counters: Counters,
    /// Flows that failed.
    pub failed: FailedFlows,
}

/// Flows that failed: the first few of each reason.
#[derive(Default)]
pub struct FailedFlows(BTreeMap<&'static str, Vec<u64>>);

/// Flows that are named for each reason.
const NAMED: usize = 5;
/// Drawings of single runs in a report.
const DRAWINGS_MAX: usize = 12;

impl Runner<'_> {
    /// Runs a request.
    pub fn run(&self, request: &Request<'_>) -> Result<Batch, Error> {
        self.run_rows(request, None)
    }

    /// Runs a request, and hands every row to somebody.
    pub fn run_with(&self, request: &Request<'_>, rows: &mut dyn Rows) -> Result<Batch, Error> {
        self.run_rows(request, Some(rows))
    }

    fn run_rows(&self, request: &Request<'_>, rows: Option<&mut dyn Rows>) -> Result<Batch, Error> {
        let runs = request.runs(self)?;
        let output = Output::create(request, &runs, rows)?;
        let sums = request.variants.iter().map(|_| Mutex::default()).collect();
        let job = Job { runner: self, request, runs, sums, output };
        let ran = self.each(&vec![1.0; job.runs.len()], |slot| job.one(slot))?;
        let Job { output, sums, .. } = job;
        let drawings: Vec<String> =
            ran.iter().filter_map(|ran| ran.pauses.clone()).take(DRAWINGS_MAX).collect();
        let mut variants: Vec<VariantResults> =
            sums.into_iter().map(|sum| sum.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        let (summaries, captures) = compare(request, &mut variants, ran);
        let summary = Summary {
            schema: Summary::SCHEMA,
            scenario: request.input.name.clone(),
            seed: request.first_seed(),
            seeds: request.seeds,
            version: self.version.to_owned(),
            variants: summaries,
        };
        let sentences = sentences(&summary.variants);
        let scenario = &request.input.file.scenario;
        if let Some(folder) = output.and_then(|output| output.into_inner().folder) {
            let page = Page {
                title: request.input.title(),
                sentences: &[vec![unwrapped(&scenario.about)], sentences.clone()].concat(),
                summary: &summary,
                drawings: &drawings,
                scenario: request.input.file.text(),
                command: &request.command(),
            };
            folder.finish(&summary, &page).map_err(Error::File)?;
        }
        captures.into_iter().try_for_each(NewFile::finish).map_err(Error::File)?;
        Ok(Batch { summary, variants, sentences })
    }
}

/// A request while it is run.
struct Job<'a, 'r> {
    runner: &'a Runner<'a>,
    request: &'a Request<'a>,
    runs: Vec<Run<'a>>,
    /// By variant. Sums do not depend on the order, so each run adds to them when it ends: held apart until all have ended, a
    /// histogram for each of a hundred thousand seeds would fill the memory.
    sums: Vec<Mutex<VariantResults>>,
    output: Option<Ordered<Output<'r>>>,
}

/// What is kept of each run.
struct Ran {
    variant: usize,
    failed: FailedFlows,
    /// Captures that are complete but for their names.
    captures: Vec<NewFile>,
    /// What a reader should know of it.
    notes: Vec<String>,
    /// Its first deadlock.
    deadlock: Option<DeadlockFound>,
    /// Who paused whom, as a drawing, if files are wanted and somebody did.
    pauses: Option<String>,
}

impl Job<'_, '_> {
    fn one(&self, slot: &Slot<'_>) -> Result<Ran, Error> {
        let ran = self.simulate(slot, &self.runs[slot.number()]);
        if let (Err(_), Some(output)) = (&ran, &self.output) {
            output.abandon();
        }
        ran
    }

    fn simulate(&self, slot: &Slot<'_>, run: &Run<'_>) -> Result<Ran, Error> {
        let scenario = &run.variant.scenario;
        let mut options = slot.options(run.seed);
        options.pauses = self.request.folder.is_some() && scenario.switch.lossless.is_some();
        options.captures = run.captures.iter().map(|(link, _)| *link).collect();
        let simulation = self.runner.build(self.request.input, run.variant, &options)?;
        let graph = simulation.graph();
        let drawn = options.pauses.then(|| graph.clone());
        let open = |(link, path): &(LinkId, PathBuf)| open_capture(path, self.runner.version, graph, *link);
        let captures = run.captures.iter().map(open).collect::<io::Result<Vec<_>>>().map_err(Error::File)?;
        if let (Some(output), Some(_)) = (&self.output, &scenario.series) {
            let lanes = graph.lanes().map(|lane| graph.lane_name(lane)).collect();
            output.with(|output| output.labels[slot.number()].lanes = lanes);
        }
        let feed = self.output.as_ref().map(|output| output.feed(slot.number()));
        let mut watcher = Watcher { feed, captures, failed: FailedFlows::default() };
        let results =
            slot.run(simulation, self.request.input.file.source(), run.variant, &options, &mut watcher)?;
        let Watcher { feed, captures, failed } = watcher;
        feed.map_or(Ok(()), Feed::end)?;
        let captures = captures.into_iter().map(complete).collect::<io::Result<Vec<_>>>()?;
        let title = format!("Who had to hold, {}, seed {}", run.variant.name, run.seed);
        let pauses =
            drawn.and_then(|graph| pauses::picture(title, &graph, &results)).map(|picture| picture.svg());
        let mut sum = self.sums[run.number].lock().unwrap_or_else(PoisonError::into_inner);
        sum.collector.merge(&results.collector);
        sum.counters += results.counters;
        Ok(Ran {
            variant: run.number,
            failed,
            captures,
            notes: results.notes,
            deadlock: results.deadlock,
            pauses,
        })
    }
}

/// What is told of each variant, all of its seeds together; and the captures.
fn compare(
    request: &Request<'_>,
    variants: &mut [VariantResults],
    ran: Vec<Ran>,
) -> (Vec<VariantSummary>, Vec<NewFile>) {
    let names = request.variants.iter().map(|variant| &variant.name);
    let summary = |(name, sum): (&String, &VariantResults)| sum.collector.summary(name, &sum.counters);
    let mut summaries: Vec<_> = names.zip(&*variants).map(summary).collect();
    let mut captures = Vec::new();
    for one in ran {
        let summary = &mut summaries[one.variant];
        variants[one.variant].failed.merge(one.failed);
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
    (summaries, captures)
}

fn unwrapped(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// Where rows go: into files, and to whoever wants them.
struct Output<'r> {
    labels: Vec<Label>,
    folder: Option<Folder>,
    rows: Option<&'r mut dyn Rows>,
}

/// A run, as its rows name it.
struct Label {
    variant: String,
    seed: u64,
    /// Names of what its samples are about, by number.
    lanes: Vec<String>,
}

enum Row {
    Flow(FlowRow),
    Sample(SeriesRow),
}

impl<'r> Output<'r> {
    /// None if nobody wants rows.
    fn create(
        request: &Request<'_>,
        runs: &[Run<'_>],
        rows: Option<&'r mut dyn Rows>,
    ) -> Result<Option<Ordered<Self>>, Error> {
        let series = runs.iter().any(|run| run.variant.scenario.series.is_some());
        let wanted = Wanted { csv: request.csv, series };
        let folder = request.folder.as_deref().map(|path| Folder::create(path, wanted));
        let folder = folder.transpose().map_err(Error::File)?;
        if folder.is_none() && rows.is_none() {
            return Ok(None);
        }
        let label =
            |run: &Run<'_>| Label { variant: run.variant.name.clone(), seed: run.seed, lanes: Vec::new() };
        let output = Self { labels: runs.iter().map(label).collect(), folder, rows };
        Ok(Some(Ordered::new(output, runs.len())))
    }
}

impl Sink for Output<'_> {
    type Row = Row;

    fn take(&mut self, run: usize, row: &Row) -> io::Result<()> {
        let Self { labels, folder, rows } = self;
        let Label { variant, seed, lanes } = &labels[run];
        let origin = Origin { variant, seed: *seed };
        let folder = folder.as_mut().map(|folder| folder as &mut dyn Rows);
        let rows = rows.as_mut().map(|rows| &mut **rows);
        folder.into_iter().chain(rows).try_for_each(|rows| match row {
            Row::Flow(row) => rows.on_flow(origin, row),
            Row::Sample(row) => rows.on_sample(origin, &lanes[row.entity as usize], row),
        })
    }
}

fn open_capture(
    path: &Path,
    version: &str,
    graph: &Graph,
    link: LinkId,
) -> io::Result<Capture<BufWriter<NewFile>>> {
    let sink = BufWriter::new(NewFile::create(path)?);
    Capture::new(sink, &format!("wiremend {version}"), graph, link)
}

/// The file of a capture, complete but for its name.
fn complete(capture: Capture<BufWriter<NewFile>>) -> io::Result<NewFile> {
    capture.into_inner().into_inner().map_err(io::IntoInnerError::into_error)
}

/// Sees one run.
struct Watcher<'a, 'r> {
    feed: Option<Feed<'a, Output<'r>>>,
    captures: Vec<Capture<BufWriter<NewFile>>>,
    failed: FailedFlows,
}

impl Observer for Watcher<'_, '_> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.failed.note(row);
        self.feed.as_mut().map_or(Ok(()), |feed| feed.push(Row::Flow(*row)))
    }

    fn on_frame(&mut self, captured: &Captured) -> io::Result<()> {
        self.captures.iter_mut().try_for_each(|capture| capture.take(captured))
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.feed.as_mut().map_or(Ok(()), |feed| feed.push(Row::Sample(*sample)))
    }
}

impl FailedFlows {
    /// The reasons, and the first few flows of each.
    pub fn by_reason(&self) -> impl Iterator<Item = (&'static str, &[u64])> {
        self.0.iter().map(|(reason, flows)| (*reason, flows.as_slice()))
    }

    fn note(&mut self, row: &FlowRow) {
        if row.outcome != Outcome::Finished {
            let named = self.0.entry(row.outcome.reason()).or_default();
            if named.len() < NAMED {
                named.push(row.flow);
            }
        }
    }

    /// Takes those of a run with a later seed.
    fn merge(&mut self, other: Self) {
        for (reason, flows) in other.0 {
            let named = self.0.entry(reason).or_default();
            let room = NAMED - named.len();
            named.extend(flows.into_iter().take(room));
        }
    }
}
