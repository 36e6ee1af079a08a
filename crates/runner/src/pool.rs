//! The one pool of threads, and what all runs in it are given.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_scenario::{Names, Override, Variant};
use wiremend_sim::{
    Captured, Ending, Observer, Options, Progress as Simulated, Registry, Results, Simulation,
};

use crate::error::Error;
use crate::input::Input;
use crate::machine;
use crate::progress::{Expected, Progress};

/// What runs are given beside their scenario: threads and memory, who is told how far they are, who may end them.
///
/// Every simulation is [built](Runner::build) by a runner. Whatever a program adds to what scenarios can name has its place here.
#[derive(Clone, Copy)]
pub struct Runner<'a> {
    pub(crate) threads: usize,
    pub(crate) version: &'a str,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    registry: Option<&'a Registry>,
}

/// Nobody ends what nobody can.
static NEVER: AtomicBool = AtomicBool::new(false);

impl Default for Runner<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Runner<'a> {
    /// One that uses all cores, tells nobody, and goes on to the end.
    pub fn new() -> Self {
        let threads = machine::cores();
        Self { threads, version: env!("CARGO_PKG_VERSION"), progress: &(), stop: &NEVER, registry: None }
    }

    /// The same on so many threads. Results do not depend on it.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// The same, and somebody is told how far runs are.
    pub fn progress(self, progress: &'a dyn Progress) -> Self {
        Self { progress, ..self }
    }

    /// The same, and runs end with [`Error::Interrupted`] once the flag is set: by Ctrl-C, or by whoever has seen enough.
    pub fn stop(self, stop: &'a AtomicBool) -> Self {
        Self { stop, ..self }
    }

    /// The same under another version of the program, which summaries and captures name.
    pub fn version(self, version: &'a str) -> Self {
        Self { version, ..self }
    }

    /// The same for scenarios that may also name what a program has registered. They are read by [`Runner::load`].
    pub fn registry(self, registry: &'a Registry) -> Self {
        Self { registry: Some(registry), ..self }
    }

    /// Reads a scenario as [`Input::load`] does; it may name what is [registered](Runner::registry).
    pub fn load(&self, name: &str, sets: &[Override]) -> Result<Input, Error> {
        Input::load_with(name, sets, &self.names())
    }

    /// Reads a scenario as [`Input::from_text`] does; it may name what is [registered](Runner::registry).
    pub fn load_text(&self, name: &str, text: &str, sets: &[Override]) -> Result<Input, Error> {
        Input::from_text_with(name, text, sets, &self.names())
    }

    fn names(&self) -> Names {
        self.registry.map(Registry::names).unwrap_or_default()
    }

    /// Makes a simulation of a variant. What is wrong with it is told with its place in the file.
    pub fn build(&self, input: &Input, variant: &Variant, options: &Options) -> Result<Simulation, Error> {
        Simulation::build(&variant.scenario, input, options).map_err(|error| input.refused(&error))
    }

    /// Options of a run that has the machine's memory to itself.
    pub fn options(&self, seed: u64) -> Options {
        let mut options = Options::new(seed);
        options.memory_bytes_max = machine::memory_bytes_max();
        options.registry = self.registry.cloned().unwrap_or_default();
        options
    }

    /// Whether the flag of [`Runner::stop`] is set.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Does something as often as there are weights, side by side on the threads, and returns what came of each in their order.
    ///
    /// Work starts in that order too; a weight says about how long one takes, compared with the others. If one fails, the others are
    /// ended. The error that counts is that of the first which failed for a reason of its own.
    pub fn each<T: Send>(
        &self,
        weights: &[f64],
        work: impl Fn(&Slot<'_>) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let workers = self.threads.clamp(1, weights.len().max(1));
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let results: Vec<Mutex<Option<Result<T, Error>>>> =
            weights.iter().map(|_| Mutex::new(None)).collect();
        self.progress.on_start(weights);
        let turn = || {
            while !failed.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(place) = results.get(number) else { return };
                let result = work(&Slot { runner: self, number, workers, failed: &failed });
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

/// Those that were ended because another failed have no reason of their own.
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

/// One of those that [`Runner::each`] does, while it is done.
pub struct Slot<'p> {
    runner: &'p Runner<'p>,
    number: usize,
    /// How many go on at once.
    workers: usize,
    failed: &'p AtomicBool,
}

impl Slot<'_> {
    /// Its number, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Options of a run that shares threads and memory fairly with those that go on at once.
    pub fn options(&self, seed: u64) -> Options {
        let mut options = self.runner.options(seed);
        options.threads = (self.runner.threads / self.workers).max(1);
        options.memory_bytes_max = options.memory_bytes_max.map(|bytes| bytes / self.workers as u64);
        options
    }

    /// Notes that this part is done, from 0 to 1, and says whether to go on.
    pub fn advance(&self, share: f64) -> bool {
        self.runner.progress.on_progress(self.number, share);
        !self.is_over()
    }

    /// Runs a simulation of a variant that was built with these options; it ends early if all is over. Errors call it by `name`.
    pub fn run(
        &self,
        simulation: Simulation,
        name: &str,
        variant: &Variant,
        options: &Options,
        observer: &mut impl Observer,
    ) -> Result<Results, Error> {
        let expected = Expected::new(&variant.scenario);
        let results = simulation.run(&mut Watched { slot: self, expected, observer })?;
        match results.ending {
            Ending::Complete | Ending::TimeLimit | Ending::Stalled | Ending::Deadlock => Ok(results),
            Ending::Interrupted => Err(Error::Interrupted),
            Ending::Memory => Err(Error::Memory {
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

/// An observer that does not outlive the pool.
struct Watched<'s, O> {
    slot: &'s Slot<'s>,
    expected: Expected,
    observer: &'s mut O,
}

impl<O: Observer> Observer for Watched<'_, O> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        if self.slot.is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.observer.on_row(row)
    }

    fn on_frame(&mut self, captured: &Captured) -> io::Result<()> {
        self.observer.on_frame(captured)
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.observer.on_sample(sample)
    }

    fn on_progress(&mut self, progress: &Simulated) -> ControlFlow<()> {
        if !self.slot.advance(self.expected.share(progress)) {
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
                Runner::new().threads(threads).each(&[1.0; 20], |slot| Ok(slot.number() * slot.number()));
            assert_eq!(squares.unwrap(), (0..20).map(|number| number * number).collect::<Vec<_>>());
        }
    }

    /// What others are ended for is told, not that they were.
    #[test]
    fn the_error_that_counts_is_the_one_with_a_reason() {
        let began = AtomicU64::new(0);
        let failed = Runner::new().threads(2).each(&[1.0; 100], |slot| {
            began.fetch_add(1, Ordering::Relaxed);
            if slot.number() == 1 {
                return Err(Error::UnknownVariant("mine".to_owned()));
            }
            while slot.advance(0.5) && began.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            Err::<(), _>(Error::Interrupted)
        });
        assert!(matches!(failed, Err(Error::UnknownVariant(name)) if name == "mine"));
        assert!(began.into_inner() < 100, "the rest is not begun");
    }

    #[test]
    fn a_flag_ends_all() {
        let stop = AtomicBool::new(false);
        let ended = Runner::new().threads(2).stop(&stop).each(&[1.0; 2], |slot| {
            stop.store(true, Ordering::Release);
            if slot.advance(0.1) { Ok(()) } else { Err(Error::Interrupted) }
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
    }
}
