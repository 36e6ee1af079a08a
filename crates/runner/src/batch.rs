//! All runs of a request: variants and seeds in parallel.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wiremend_fabric::Graph;
use wiremend_measure::{
    Collector, Counters, DeadlockReport, FlowOutcome, FlowRow, FlowSample, Goodput, GoodputMeter, Headline,
    SeedResult, SeriesRow, Summary, Terms, VariantSummary, over_seeds,
};
use wiremend_report::plot::Drawing;
use wiremend_report::{AtomicFile, Page, sentences};
use wiremend_sim::{Capture, CapturedFrame, FoundCause, Observer};
use wiremend_units::LinkId;

use crate::error::Error;
use crate::flow_recorder::FlowRecorder;
use crate::ordered_rows::OrderedRows;
use crate::output::Output;
use crate::pause_timeline;
use crate::pool::{Runner, WorkItem};
use crate::request::{Request, Run};
use crate::row_sink::RowSink;

/// Results of a request.
pub struct Batch {
    /// Summary of each variant.
    pub summary: Summary,
    /// The same variants with their histograms and counters.
    pub variants: Vec<VariantResults>,
    /// Sentences that summarise the results.
    pub sentences: Vec<String>,
}

/// Results of all runs of one variant.
#[derive(Default)]
pub struct VariantResults {
    /// Flows, their completion times and the digest.
    pub collector: Collector,
    /// Sums over all hosts and links.
    pub counters: Counters,
    /// Failed flows.
    pub failed: FailedFlows,
}

/// Observer of one run.
struct RunObserver<'a, 'r> {
    recorder: Option<FlowRecorder<'a, 'r>>,
    captures: Vec<Capture<BufWriter<AtomicFile>>>,
    failed: FailedFlows,
    goodput: GoodputMeter,
}

impl Observer for RunObserver<'_, '_> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.failed.note(row);
        self.goodput.add(row);
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.on_flow(row))
    }

    fn on_frame(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        self.captures.iter_mut().try_for_each(|capture| capture.write(captured))
    }

    fn on_cause(&mut self, found: &FoundCause) -> io::Result<()> {
        self.captures.iter_mut().for_each(|capture| capture.on_cause(found));
        Ok(())
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.on_sample(sample))
    }

    fn on_flow_sample(&mut self, sample: &FlowSample) -> io::Result<()> {
        self.recorder.as_mut().map_or(Ok(()), |recorder| recorder.on_flow_sample(sample))
    }
}

/// The first few failed flows of each reason.
#[derive(Default)]
pub struct FailedFlows(BTreeMap<&'static str, Vec<u64>>);

/// Most flows listed for each reason.
const FLOWS_LISTED_MAX: usize = 5;
/// Steps of the payload of completed flows over time.
const COMPLETED_POINTS: usize = 200;
/// Most drawings of single runs in a report.
const DRAWINGS_MAX: usize = 12;

impl Runner<'_> {
    /// Runs a request.
    pub fn run(&self, request: &Request<'_>) -> Result<Batch, Error> {
        self.run_rows(request, None)
    }

    /// Runs a request and passes every row to `rows`.
    pub fn run_with(&self, request: &Request<'_>, rows: &mut dyn RowSink) -> Result<Batch, Error> {
        self.run_rows(request, Some(rows))
    }

    fn run_rows(&self, request: &Request<'_>, rows: Option<&mut dyn RowSink>) -> Result<Batch, Error> {
        let runs = request.runs(self)?;
        let output = Output::create(request, &runs, rows)?;
        let sums = request.variants.iter().map(|_| Mutex::default()).collect();
        let job = BatchRun { runner: self, request, runs, sums, output };
        let ran = self.for_each(&vec![1.0; job.runs.len()], |item| job.run_item(item))?;
        let BatchRun { output, sums, .. } = job;
        let drawings: Vec<Drawing> =
            ran.iter().filter_map(|ran| ran.pauses.clone()).take(DRAWINGS_MAX).collect();
        let mut output = output.map(OrderedRows::into_inner);
        for ran in &ran {
            let traffic = output.as_mut().and_then(|output| output.traffic.get_mut(ran.variant));
            if let (Some(traffic), Some(points)) = (traffic, &ran.completed) {
                traffic.completed.clone_from(points);
            }
        }
        let mut variants: Vec<VariantResults> =
            sums.into_iter().map(|sum| sum.into_inner().unwrap_or_else(PoisonError::into_inner)).collect();
        let (summaries, captures) = compare(request, &mut variants, ran);
        let mut summary = Summary {
            schema: Summary::SCHEMA,
            scenario: request.input.name.clone(),
            seed: request.first_seed(),
            seeds: request.seeds,
            version: self.version.to_owned(),
            variants: summaries,
            origin: request.origin(self.threads),
        };
        let sentences = sentences(&summary.variants);
        let scenario = &request.input.file.scenario;
        if let Some(Output { folder: Some(folder), traffic, .. }) = output {
            let (title, about) = (request.input.title(), unwrapped(&scenario.about));
            let sentences = [vec![about], sentences.clone()].concat();
            let page = |summary: &_| {
                Page { title, sentences: &sentences, summary, drawings: &drawings, traffic: &traffic }.html()
            };
            folder.finish(&mut summary, request.input, page).map_err(Error::File)?;
        } else {
            summary.origin.files = request.input.files_read.describe(None).map_err(Error::File)?;
        }
        captures.into_iter().try_for_each(AtomicFile::finish).map_err(Error::File)?;
        Ok(Batch { summary, variants, sentences })
    }
}

/// A request while it runs.
struct BatchRun<'a, 'r> {
    runner: &'a Runner<'a>,
    request: &'a Request<'a>,
    runs: Vec<Run<'a>>,
    /// Sums by variant. They do not depend on the order, so each run adds to them when it ends: separate
    /// histograms of a hundred thousand seeds would exceed the memory.
    sums: Vec<Mutex<VariantResults>>,
    output: Option<OrderedRows<Output<'r>>>,
}

/// Result of one run besides the sums.
struct RunResult {
    variant: usize,
    failed: FailedFlows,
    /// Its headline numbers.
    seed: SeedResult,
    goodput: Option<Goodput>,
    /// Its payload of completed flows over time, if a page shows it.
    completed: Option<Vec<(f64, f64)>>,
    terms: Terms,
    /// Complete capture files that do not have their final names yet.
    captures: Vec<AtomicFile>,
    /// Conditions of the run that affect its numbers.
    notes: Vec<String>,
    /// Its first deadlock.
    deadlock: Option<DeadlockReport>,
    /// Drawing of the paused ports, if files are written and ports were paused.
    pauses: Option<Drawing>,
}

impl BatchRun<'_, '_> {
    fn run_item(&self, item: &WorkItem<'_>) -> Result<RunResult, Error> {
        let ran = self.simulate(item, &self.runs[item.number()]);
        if let (Err(_), Some(output)) = (&ran, &self.output) {
            output.abandon();
        }
        ran
    }

    fn simulate(&self, item: &WorkItem<'_>, run: &Run<'_>) -> Result<RunResult, Error> {
        let scenario = &run.variant.scenario;
        let mut options = item.options(run.seed);
        options.log_pauses = self.request.folder.is_some() && scenario.switch.lossless.is_some();
        options.captures = run.captures.iter().map(|(link, _)| *link).collect();
        let simulation = self.runner.build(self.request.input, run.variant, &options)?;
        let graph = simulation.graph();
        let drawn = options.log_pauses.then(|| graph.clone());
        let open = |(link, path): &(LinkId, PathBuf)| open_capture(path, self.runner.version, graph, *link);
        let mut captures =
            run.captures.iter().map(open).collect::<io::Result<Vec<_>>>().map_err(Error::File)?;
        if self.request.capture_causes {
            let delay = simulation.cause_delay();
            captures = captures.into_iter().map(|capture| capture.with_causes(delay)).collect();
        }
        let recorder = self.output.as_ref().map(|output| {
            let paths = simulation.flow_paths();
            output.with(|output| output.name_lanes(run.number, graph));
            FlowRecorder::new(output.feed(item.number()), paths)
        });
        let measured = scenario.measure.as_ref().map(|window| (window.from.as_ps(), window.until.as_ps()));
        let goodput = GoodputMeter::new(measured);
        let mut watcher = RunObserver { recorder, captures, failed: FailedFlows::default(), goodput };
        let results =
            item.run(simulation, self.request.input.file.source(), run.variant, &options, &mut watcher)?;
        let RunObserver { recorder, captures, failed, goodput } = watcher;
        recorder.map_or(Ok(()), |recorder| recorder.end(&results))?;
        let captures = captures.into_iter().map(complete).collect::<io::Result<Vec<_>>>()?;
        let title = format!("Paused ports, {}, seed {}", run.variant.name, run.seed);
        let pauses = drawn
            .and_then(|graph| pause_timeline::pause_timeline(title, &graph, &results))
            .map(|picture| picture.drawing());
        let is_shown = self.request.folder.is_some() && self.request.is_first(run);
        let completed = is_shown.then(|| goodput.completed_over_time(COMPLETED_POINTS));
        let goodput = goodput.goodput();
        let alone = VariantSummary { goodput, ..results.summary(&run.variant.name) };
        let seed = SeedResult::new(run.seed, &alone);
        let mut sum = self.sums[run.number].lock().unwrap_or_else(PoisonError::into_inner);
        sum.collector.merge(&results.collector);
        sum.counters += results.counters;
        Ok(RunResult {
            variant: run.number,
            seed,
            goodput,
            completed,
            failed,
            captures,
            terms: results.terms,
            notes: results.notes,
            deadlock: results.deadlock,
            pauses,
        })
    }
}

/// The summaries of all variants over their seeds, and the captures.
fn compare(
    request: &Request<'_>,
    variants: &mut [VariantResults],
    ran: Vec<RunResult>,
) -> (Vec<VariantSummary>, Vec<AtomicFile>) {
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
        summary.terms = one.terms;
        summary.goodput = summary.goodput.or(one.goodput);
        summary.seeds.push(one.seed);
        // Of several seeds, report a deadlock that ended its run rather than one that did not.
        let known = summary.first_deadlock.as_ref().is_some_and(|found| found.ended_run);
        if !known
            && one.deadlock.as_ref().is_some_and(|found| found.ended_run || summary.first_deadlock.is_none())
        {
            summary.first_deadlock = one.deadlock;
        }
        captures.extend(one.captures);
    }
    for (summary, variant) in summaries.iter_mut().zip(&request.variants) {
        let replaced = variant.replaced.iter();
        summary.notes.extend(replaced.map(|set| format!("--set {set} replaces the variant's own value")));
        summary.over_seeds = over_seeds(&summary.seeds);
        // The window is that of the first seed: by default, it follows from the flows of each.
        if let (Some(goodput), Some(over)) =
            (&mut summary.goodput, summary.over_seeds.get(&Headline::Goodput))
        {
            goodput.bps = over.mean;
        }
    }
    (summaries, captures)
}

fn unwrapped(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn open_capture(
    path: &Path,
    version: &str,
    graph: &Graph,
    link: LinkId,
) -> io::Result<Capture<BufWriter<AtomicFile>>> {
    let sink = BufWriter::new(AtomicFile::create(path)?);
    Capture::new(sink, &format!("wiremend {version}"), graph, link)
}

/// Returns the complete file of a capture, which does not have its final name yet.
fn complete(mut capture: Capture<BufWriter<AtomicFile>>) -> io::Result<AtomicFile> {
    capture.finish()?;
    capture.into_inner().into_inner().map_err(io::IntoInnerError::into_error)
}

impl FailedFlows {
    /// Reasons, and the first few flows of each.
    pub fn by_reason(&self) -> impl Iterator<Item = (&'static str, &[u64])> {
        self.0.iter().map(|(reason, flows)| (*reason, flows.as_slice()))
    }

    fn note(&mut self, row: &FlowRow) {
        if row.outcome != FlowOutcome::Finished {
            let named = self.0.entry(row.outcome.reason()).or_default();
            if named.len() < FLOWS_LISTED_MAX {
                named.push(row.flow);
            }
        }
    }

    /// Adds the failed flows of a run with a later seed.
    fn merge(&mut self, other: Self) {
        for (reason, flows) in other.0 {
            let named = self.0.entry(reason).or_default();
            let room = FLOWS_LISTED_MAX - named.len();
            named.extend(flows.into_iter().take(room));
        }
    }
}
