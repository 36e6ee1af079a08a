//! All runs of a scenario: variants and seeds, side by side as far as there are threads for it.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use wiremend_fabric::Graph;
use wiremend_measure::{Collector, Counters, DeadlockFound, FlowRow, Outcome, SeriesRow};
use wiremend_report::NewFile;
use wiremend_scenario::Variant;
use wiremend_sim::{Capture, Captured, Ending, Observer, Options, Progress as Simulated, Simulation};
use wiremend_units::LinkId;

use crate::args::VERSION;
use crate::failure::Failure;
use crate::input::Input;
use crate::machine;
use crate::order::{Feed, Ordered};
use crate::output::{Output, Row};
use crate::pauses;
use crate::progress::{Expected, Progress};
use crate::signals;

/// One run.
pub(crate) struct Run<'a> {
    pub(crate) variant: &'a Variant,
    /// Which [`Sum`] it adds to.
    pub(crate) sum: usize,
    pub(crate) seed: u64,
    /// Links to capture, and where to.
    pub(crate) captures: Vec<(LinkId, PathBuf)>,
}

/// What is kept of several runs together. Sums do not depend on the order, so each run adds to it when it ends: held
/// apart until all have ended, a histogram for each of a hundred thousand seeds would fill the memory.
#[derive(Default)]
pub(crate) struct Sum {
    pub(crate) collector: Collector,
    pub(crate) counters: Counters,
}

/// What is kept of each run.
pub(crate) struct Ran {
    pub(crate) sum: usize,
    pub(crate) failed: Failed,
    /// Captures that are complete but for their names.
    pub(crate) captures: Vec<NewFile>,
    /// What a reader should know of it.
    pub(crate) notes: Vec<String>,
    /// Its first deadlock.
    pub(crate) deadlock: Option<DeadlockFound>,
    /// Who paused whom, as a drawing, if files are wanted and somebody did.
    pub(crate) pauses: Option<String>,
}

/// Flows that failed: the first few of each reason.
#[derive(Default)]
pub(crate) struct Failed(pub(crate) BTreeMap<&'static str, Vec<u64>>);

/// Flows that are named for each reason.
const NAMED: usize = 5;

/// Several runs of one scenario.
pub(crate) struct Batch<'a> {
    pub(crate) input: &'a Input,
    pub(crate) runs: Vec<Run<'a>>,
    pub(crate) sums: Vec<Mutex<Sum>>,
    pub(crate) threads: usize,
    pub(crate) output: Option<&'a Ordered<Output>>,
}

/// What all runs of a batch look at.
struct Shared {
    progress: Progress,
    stop: AtomicBool,
}

impl Batch<'_> {
    /// Runs all; what is kept of each comes in the order of the runs. If one fails, the others are ended.
    pub(crate) fn run(self) -> Result<(Vec<Sum>, Vec<Ran>), Failure> {
        let count = self.runs.len();
        let workers = self.threads.clamp(1, count.max(1));
        let options = self.options(workers);
        let shared = Shared { progress: Progress::new(count), stop: AtomicBool::new(false) };
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Result<Ran, Failure>>>> =
            (0..count).map(|_| Mutex::new(None)).collect();
        let work = || {
            while !shared.stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(run) = self.runs.get(number) else { return };
                let result = self.one(number, run, &options, &shared);
                if result.is_err() {
                    shared.stop.store(true, Ordering::Relaxed);
                    if let Some(output) = self.output {
                        output.abandon();
                    }
                }
                shared.progress.done(number);
                *results[number].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
        shared.progress.clear();
        let results = results
            .into_iter()
            .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner));
        let ran = all_or_first_failure(results)?;
        let sums = self.sums.into_iter().map(|sum| sum.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok((sums.collect(), ran))
    }

    /// Threads and memory are shared fairly between the runs that go on at once.
    fn options(&self, workers: usize) -> Options {
        let mut options = Options::new(0);
        options.threads = (self.threads / workers).max(1);
        options.memory_bytes_max = machine::memory_bytes_max().map(|bytes| bytes / workers as u64);
        options
    }

    fn one(&self, number: usize, run: &Run<'_>, common: &Options, shared: &Shared) -> Result<Ran, Failure> {
        let scenario = &run.variant.scenario;
        let mut options = common.clone();
        options.seed = run.seed;
        options.pauses = self.output.is_some() && scenario.switch.lossless.is_some();
        options.captures = run.captures.iter().map(|(link, _)| *link).collect();
        let simulation =
            Simulation::build(scenario, self.input, &options).map_err(|error| self.input.refused(&error))?;
        let graph = simulation.graph();
        let drawn = options.pauses.then(|| graph.clone());
        let captures: io::Result<Vec<_>> =
            run.captures.iter().map(|(link, path)| open_capture(path, graph, *link)).collect();
        if let (Some(output), Some(_)) = (self.output, &scenario.series) {
            let names = graph.lanes().map(|lane| graph.lane_name(lane)).collect();
            output.with(|output| output.name_entities(number, names));
        }
        let mut watcher = Watcher {
            number,
            shared,
            expected: Expected::of(scenario),
            feed: self.output.map(|output| output.feed(number)),
            captures: captures.map_err(|error| Failure::file(&error))?,
            failed: Failed::default(),
        };
        let results = simulation.run(&mut watcher).map_err(|error| interrupted_or(&error))?;
        match results.ending {
            Ending::Complete | Ending::TimeLimit | Ending::Stalled | Ending::Deadlock => {}
            Ending::Interrupted => return Err(Failure::Interrupted(signals::caught().unwrap_or(0))),
            Ending::Memory => return Err(self.out_of_memory(run, options.memory_bytes_max)),
        }
        let Watcher { feed, captures, failed, .. } = watcher;
        let completed = || -> io::Result<Vec<NewFile>> {
            feed.map_or(Ok(()), Feed::end)?;
            captures.into_iter().map(complete).collect()
        };
        let captures = completed().map_err(|error| interrupted_or(&error))?;
        let title = format!("Who had to hold, {}, seed {}", run.variant.name, run.seed);
        let pauses =
            drawn.and_then(|graph| pauses::picture(title, &graph, &results)).map(|picture| picture.svg());
        let mut sum = self.sums[run.sum].lock().unwrap_or_else(PoisonError::into_inner);
        sum.collector.merge(&results.collector);
        sum.counters += results.counters;
        Ok(Ran { sum: run.sum, failed, captures, notes: results.notes, deadlock: results.deadlock, pauses })
    }

    fn out_of_memory(&self, run: &Run<'_>, max: Option<u64>) -> Failure {
        let max = wiremend_report::human::bytes(max.unwrap_or(u64::MAX) as f64);
        Failure::Environment(format!(
            "{}: variant \"{}\": the frames and flows under way need more than the {max} of memory that are free; bound \
             them by transport.window, topology.buffer or transport.qp, or lower the load",
            self.input.file.source(),
            run.variant.name,
        ))
    }
}

/// The failure that counts is the first one that is not merely the end of a run because of another's failure.
fn all_or_first_failure(results: impl Iterator<Item = Result<Ran, Failure>>) -> Result<Vec<Ran>, Failure> {
    let (mut all, mut ended) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(ran) => all.push(ran),
            Err(Failure::Interrupted(signal)) => ended = Some(signal),
            Err(failure) => return Err(failure),
        }
    }
    match ended {
        Some(signal) => Err(Failure::Interrupted(signals::caught().unwrap_or(signal))),
        None => Ok(all),
    }
}

fn interrupted_or(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::Interrupted => Failure::Interrupted(signals::caught().unwrap_or(0)),
        _ => Failure::file(error),
    }
}

fn open_capture(path: &Path, graph: &Graph, link: LinkId) -> io::Result<Capture<BufWriter<NewFile>>> {
    let sink = BufWriter::new(NewFile::create(path)?);
    Capture::new(sink, &format!("wiremend {VERSION}"), graph, link)
}

/// The file of a capture, complete but for its name.
fn complete(capture: Capture<BufWriter<NewFile>>) -> io::Result<NewFile> {
    capture.into_inner().into_inner().map_err(io::IntoInnerError::into_error)
}

/// Sees one run.
struct Watcher<'a> {
    number: usize,
    shared: &'a Shared,
    expected: Expected,
    feed: Option<Feed<'a, Output>>,
    captures: Vec<Capture<BufWriter<NewFile>>>,
    failed: Failed,
}

impl Watcher<'_> {
    fn is_over(&self) -> bool {
        signals::caught().is_some() || self.shared.stop.load(Ordering::Relaxed)
    }
}

impl Observer for Watcher<'_> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        if self.is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.failed.note(row);
        self.feed.as_mut().map_or(Ok(()), |feed| feed.push(Row::Flow(*row)))
    }

    fn on_frame(&mut self, captured: &Captured) -> io::Result<()> {
        self.captures.iter_mut().try_for_each(|capture| capture.take(captured))
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.feed.as_mut().map_or(Ok(()), |feed| feed.push(Row::Sample(*sample)))
    }

    fn on_progress(&mut self, progress: &Simulated) -> ControlFlow<()> {
        self.shared.progress.note(self.number, &self.expected, progress);
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Failed {
    fn note(&mut self, row: &FlowRow) {
        if row.outcome != Outcome::Finished {
            let named = self.0.entry(row.outcome.reason()).or_default();
            if named.len() < NAMED {
                named.push(row.flow);
            }
        }
    }

    /// Takes those of a run with a later seed.
    pub(crate) fn merge(&mut self, other: Self) {
        for (reason, flows) in other.0 {
            let named = self.0.entry(reason).or_default();
            let room = NAMED - named.len();
            named.extend(flows.into_iter().take(room));
        }
    }
}
