//! The thread pool, and the settings of all runs.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use wiremend_measure::{FlowRow, FlowSample, SeriesRow};
use wiremend_scenario::{Override, RegisteredNames, Variant};
use wiremend_sim::{
    CapturedFrame, EndReason, FoundCause, Observer, Options, Progress as Simulated, Registry, Results,
    Simulation,
};

use crate::error::Error;
use crate::input::Input;
use crate::machine;
use crate::progress::{Expected, Progress};

/// How often a run reconsiders its number of threads: about once per millisecond.
const THREAD_CHOICE_EVENTS: u64 = 20_000;

/// Events for each lane and frame in flight until a run looks for a pattern that repeats. Looking costs about two.
const FAST_FORWARD_EVENTS: u64 = 8;

/// Settings of runs besides their scenario: threads, memory, progress, stop flag.
///
/// A runner [builds](Runner::build) every simulation and holds the algorithms that a program registers.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    pub(crate) threads: usize,
    pub(crate) version: &'a str,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    registry: Option<&'a Registry>,
    fast_forward: bool,
    /// Most items at a time.
    items_max: usize,
}

/// Default stop flag, which is never set.
static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for Runner<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Runner<'a> {
    /// Creates a runner on all cores, without progress reports.
    pub fn new() -> Self {
        let threads = machine::cores();
        let version = env!("CARGO_PKG_VERSION");
        Self {
            threads,
            version,
            progress: &(),
            stop: &NEVER,
            registry: None,
            fast_forward: true,
            items_max: usize::MAX,
        }
    }

    /// Sets the number of threads. Results do not depend on it.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Number of threads.
    pub const fn thread_count(&self) -> usize {
        self.threads
    }

    /// The program version in summaries and captures.
    pub const fn version_name(&self) -> &'a str {
        self.version
    }

    /// Limits the number of concurrent items of [`Runner::for_each`]; each then has more threads and memory.
    pub fn items_max(self, items_max: usize) -> Self {
        Self { items_max: items_max.max(1), ..self }
    }

    /// Sets whether runs skip time in which the network only repeats a pattern, as they do by default. Results do not
    /// depend on it, except the number of events.
    pub fn fast_forward(self, fast_forward: bool) -> Self {
        Self { fast_forward, ..self }
    }

    /// Sets the receiver of progress reports.
    pub fn progress(self, progress: &'a dyn Progress) -> Self {
        Self { progress, ..self }
    }

    /// Sets a flag that stops runs with [`Error::Interrupted`], for example on Ctrl-C.
    pub fn stop(self, stop: &'a AtomicBool) -> Self {
        Self { stop, ..self }
    }

    /// Sets the program version in summaries and captures.
    pub fn version(self, version: &'a str) -> Self {
        Self { version, ..self }
    }

    /// Sets the registered algorithms. [`Runner::load`] reads scenarios that name them.
    pub fn registry(self, registry: &'a Registry) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// Loads a scenario like [`Input::load`]; it may name [registered](Runner::registry) algorithms.
    pub fn load(&self, name: &str, overrides: &[Override]) -> Result<Input, Error> {
        Input::load_with(name, overrides, &self.names())
    }

    /// Loads a scenario like [`Input::from_text`]; it may name [registered](Runner::registry) algorithms.
    pub fn load_text(&self, name: &str, text: &str, overrides: &[Override]) -> Result<Input, Error> {
        Input::from_text_with(name, text, overrides, &self.names())
    }

    /// Loads the scenario of an input again with other overrides.
    pub fn reload(&self, input: &Input, overrides: &[Override]) -> Result<Input, Error> {
        input.with_overrides(overrides, &self.names())
    }

    /// Loads a scenario like [`Runner::load_text`]; files that it names are relative to the file at `path`.
    pub fn load_text_at(
        &self,
        name: &str,
        path: &Path,
        text: &str,
        overrides: &[Override],
    ) -> Result<Input, Error> {
        Ok(self.load_text(name, text, overrides)?.at(path))
    }

    fn names(&self) -> RegisteredNames {
        self.registry.map(Registry::names).unwrap_or_default()
    }

    /// Builds the simulation of a variant. Errors have their position in the file.
    pub fn build(&self, input: &Input, variant: &Variant, options: &Options) -> Result<Simulation, Error> {
        Simulation::build(&variant.scenario, input, options).map_err(|error| input.build_error(&error))
    }

    /// Options of a run that may use all free memory.
    pub fn options(&self, seed: u64) -> Options {
        let mut options = Options::new(seed);
        options.fast_forward_events = self.fast_forward.then_some(FAST_FORWARD_EVENTS);
        options.thread_choice_events = Some(THREAD_CHOICE_EVENTS);
        options.memory_bytes_max = machine::memory_bytes_max();
        options.registry = self.registry.cloned().unwrap_or_default();
        options
    }

    /// Whether the flag of [`Runner::stop`] is set.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Reports the completed share of a run outside [`Runner::for_each`].
    pub(crate) fn report(&self, share: f64) {
        self.progress.on_progress(0, share);
    }

    /// Calls `work` once per weight in parallel and returns the results in order.
    ///
    /// Work starts in order too. A weight is the approximate relative duration of an item. If an item fails,
    /// the others are stopped, and the error of the first that failed by itself is returned.
    pub fn for_each<T: Send>(
        &self,
        weights: &[f64],
        work: impl Fn(&WorkItem<'_>) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let workers = self.threads.min(self.items_max).clamp(1, weights.len().max(1));
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results: Vec<Mutex<Option<Result<T, Error>>>> =
            weights.iter().map(|_| Mutex::new(None)).collect();
        self.progress.on_start(weights);
        let turn = || {
            while !failed.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(place) = results.get(number) else { return };
                let result =
                    work(&WorkItem { runner: self, number, workers, failed: &failed, part: (0.0, 1.0) });
                if result.is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
                self.progress.on_progress(number, 1.0);
                *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(turn);
            }
            turn();
        });
        self.progress.on_end();
        let results = results
            .into_iter()
            .filter_map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
        all_or_first_error(results)
    }
}

/// Returns the first error that is not [`Error::Interrupted`]: items that were stopped have no error of their
/// own.
fn all_or_first_error<T>(results: impl Iterator<Item = Result<T, Error>>) -> Result<Vec<T>, Error> {
    let (mut all, mut interrupted) = (Vec::new(), false);
    for result in results {
        match result {
            Ok(one) => all.push(one),
            Err(Error::Interrupted) => interrupted = true,
            Err(error) => return Err(error),
        }
    }
    if interrupted { Err(Error::Interrupted) } else { Ok(all) }
}

/// One item of [`Runner::for_each`].
pub struct WorkItem<'p> {
    runner: &'p Runner<'p>,
    number: usize,
    /// Number of concurrent items.
    workers: usize,
    failed: &'p AtomicBool,
    /// The part of the item that is reported: its start and its length.
    part: (f64, f64),
}

impl WorkItem<'_> {
    pub(crate) fn runner(&self) -> &Runner<'_> {
        self.runner
    }

    /// Index of the item.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Options of a run with its part of threads and memory.
    pub fn options(&self, seed: u64) -> Options {
        let mut options = self.runner.options(seed);
        options.threads = (self.runner.threads / self.workers).max(1);
        options.memory_bytes_max = options.memory_bytes_max.map(|bytes| bytes / self.workers as u64);
        options
    }

    /// Reports the completed fraction, from 0 to 1. Returns whether to continue.
    pub fn advance(&self, share: f64) -> bool {
        let (start, length) = self.part;
        self.runner.progress.on_progress(self.number, start + share * length);
        !self.is_over()
    }

    /// A part of the item, from the fraction `start`: one of several runs.
    pub fn part(&self, start: f64, length: f64) -> Self {
        let (own_start, own_length) = self.part;
        Self { part: (own_start + start * own_length, length * own_length), ..*self }
    }

    /// Runs the simulation of a variant; it ends early if the pool is stopped. Errors contain `name`.
    pub fn run(
        &self,
        simulation: Simulation,
        name: &str,
        variant: &Variant,
        options: &Options,
        observer: &mut impl Observer,
    ) -> Result<Results, Error> {
        let expected = Expected::new(&variant.scenario);
        let results = simulation.run(&mut PoolObserver { item: self, expected, observer })?;
        match results.end_reason {
            EndReason::Complete | EndReason::TimeLimit | EndReason::Stalled | EndReason::Deadlock => {
                Ok(results)
            }
            EndReason::Interrupted => Err(Error::Interrupted),
            EndReason::MemoryLimit => Err(Error::Memory {
                scenario: name.to_owned(),
                variant: variant.name.clone(),
                bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
            }),
        }
    }

    fn is_over(&self) -> bool {
        self.runner.is_stopped() || self.failed.load(Ordering::Relaxed)
    }
}

/// An observer that ends the run when the pool is stopped.
struct PoolObserver<'s, O> {
    item: &'s WorkItem<'s>,
    expected: Expected,
    observer: &'s mut O,
}

impl<O: Observer> Observer for PoolObserver<'_, O> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        if self.item.is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.observer.on_row(row)
    }

    fn on_frame(&mut self, captured: &CapturedFrame) -> io::Result<()> {
        self.observer.on_frame(captured)
    }

    fn on_cause(&mut self, found: &FoundCause) -> io::Result<()> {
        self.observer.on_cause(found)
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.observer.on_sample(sample)
    }

    fn on_flow_sample(&mut self, sample: &FlowSample) -> io::Result<()> {
        self.observer.on_flow_sample(sample)
    }

    fn on_progress(&mut self, progress: &Simulated) -> ControlFlow<()> {
        if !self.item.advance(self.expected.share(progress)) {
            return ControlFlow::Break(());
        }
        self.observer.on_progress(progress)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn results_come_in_order_whatever_the_threads() {
        for threads in [1, 2, 7] {
            let squares =
                Runner::new().threads(threads).for_each(&[1.0; 20], |item| Ok(item.number() * item.number()));
            assert_eq!(squares.unwrap(), (0..20).map(|number| number * number).collect::<Vec<_>>());
        }
    }

    /// The first error of an item itself is returned, not the interruption of others.
    #[test]
    fn the_error_of_the_failing_item_is_returned() {
        let began = AtomicU64::new(0);
        let failed = Runner::new().threads(2).for_each(&[1.0; 100], |item| {
            began.fetch_add(1, Ordering::Relaxed);
            if item.number() == 1 {
                return Err(Error::UnknownVariant("mine".to_owned()));
            }
            while item.advance(0.5) && began.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            Err::<(), _>(Error::Interrupted)
        });
        assert!(matches!(failed, Err(Error::UnknownVariant(name)) if name == "mine"));
        assert!(began.into_inner() < 100, "the rest is not started");
    }

    #[test]
    fn the_stop_flag_ends_all_items() {
        let stop = AtomicBool::new(false);
        let ended = Runner::new().threads(2).stop(&stop).for_each(&[1.0; 2], |item| {
            stop.store(true, Ordering::Release);
            if item.advance(0.1) { Ok(()) } else { Err(Error::Interrupted) }
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
    }
}
