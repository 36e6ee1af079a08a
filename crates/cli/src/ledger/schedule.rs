//! All runs of all claims, over the cores.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_scenario::{Override, Variant};
use wiremend_sim::{Ending, Observer, Options, Progress as Simulated, Simulation};

use super::affected::Sorter;
use super::{Claim, Effort, Outcome, Results, Run, Store};
use crate::failure::Failure;
use crate::input::Input;
use crate::progress::{Expected, Progress};
use crate::{machine, signals};

/// The runs that some claims need, made ready: what is wrong with one shows before any of them starts.
pub(crate) struct Schedule<'a> {
    effort: Effort,
    sets: &'a [Override],
    /// The longest first.
    jobs: Vec<Job>,
}

/// One run.
struct Job {
    command: String,
    input: Input,
    variant: usize,
    seed: u64,
    expected_s: f64,
}

/// What all threads look at.
struct Shared {
    progress: Progress,
    stop: AtomicBool,
    memory_bytes_max: Option<u64>,
}

impl<'a> Schedule<'a> {
    /// Prepares the runs of the claims, each once, with what the user changes in all of them.
    pub(crate) fn new(claims: &[&Claim], effort: Effort, sets: &'a [Override]) -> Result<Self, Failure> {
        Self::of_runs(claims.iter().flat_map(|claim| (claim.runs)(effort)).collect(), effort, sets)
    }

    /// The same of runs that no claim asks for.
    pub(crate) fn of_runs(runs: Vec<Run>, effort: Effort, sets: &'a [Override]) -> Result<Self, Failure> {
        let mut jobs: Vec<Job> = Vec::new();
        for run in runs {
            let command = run.command(sets);
            match jobs.iter_mut().find(|job| job.command == command) {
                Some(known) => known.expected_s = known.expected_s.max(run.expected_s()),
                None => jobs.push(Job::new(&run, command, sets)?),
            }
        }
        if jobs.is_empty() && !sets.is_empty() {
            let what = "--set: nothing is simulated for what was asked, so that nothing can be changed";
            return Err(Failure::Input(what.to_owned()));
        }
        jobs.sort_by(|a, b| b.expected_s.total_cmp(&a.expected_s));
        Ok(Self { effort, sets, jobs })
    }

    /// Computes what the store does not have, on so many threads, and keeps it there.
    pub(crate) fn run(&self, threads: usize, store: Option<&Store>) -> Result<Results<'a>, Failure> {
        let mut outcomes = BTreeMap::new();
        let mut open = Vec::new();
        for job in &self.jobs {
            match store.and_then(|store| store.get(&job.command, job.input.file.text())) {
                Some(outcome) => _ = outcomes.insert(job.command.clone(), outcome),
                None => open.push(job),
            }
        }
        for (job, outcome) in open.iter().zip(compute(&open, threads, store)?) {
            outcomes.insert(job.command.clone(), outcome);
        }
        Ok(Results::new(self.effort, self.sets, outcomes))
    }
}

fn compute(jobs: &[&Job], threads: usize, store: Option<&Store>) -> Result<Vec<Outcome>, Failure> {
    let workers = threads.clamp(1, jobs.len().max(1));
    let weights: Vec<_> = jobs.iter().map(|job| job.expected_s).collect();
    let shared = Shared {
        progress: Progress::weighted(&weights),
        stop: AtomicBool::new(false),
        memory_bytes_max: machine::memory_bytes_max().map(|bytes| bytes / workers as u64),
    };
    let next = AtomicUsize::new(0);
    let outcomes: Vec<Mutex<Option<Outcome>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    let work = || {
        while !shared.stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(number) else { return };
            match job.run(number, &shared, store) {
                Ok(outcome) => *lock(&outcomes[number]) = Some(outcome),
                Err(failed) => {
                    // The others end because of this one: theirs is no failure of its own.
                    shared.stop.store(true, Ordering::Relaxed);
                    lock(&failure).get_or_insert(failed);
                }
            }
            shared.progress.done(number);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(work);
        }
        work();
    });
    shared.progress.clear();
    let done =
        outcomes.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(done.collect()),
    }
}

impl Job {
    fn new(run: &Run, command: String, user: &[Override]) -> Result<Self, Failure> {
        let input = Input::load(run.scenario(), &run.sets(user))?;
        let wanted: Vec<_> = run.wanted_variant().map(str::to_owned).into_iter().collect();
        // With --set even the list of variants may be another.
        let name = input.variants(&wanted)?[0].name.clone();
        let variant = input.file.variants.iter().position(|variant| variant.name == name).unwrap_or(0);
        let seed = run.wanted_seed().unwrap_or_else(|| input.file.variants[variant].scenario.seed.get());
        Ok(Self { command, input, variant, seed, expected_s: run.expected_s() })
    }

    fn run(&self, number: usize, shared: &Shared, store: Option<&Store>) -> Result<Outcome, Failure> {
        let Variant { name, scenario } = &self.input.file.variants[self.variant];
        let computed_s = machine::computed_s();
        let mut options = Options::new(self.seed);
        options.memory_bytes_max = shared.memory_bytes_max;
        let simulation =
            Simulation::build(scenario, &self.input, &options).map_err(|error| self.input.refused(&error))?;
        let graph = simulation.graph().clone();
        let mut watcher = Watcher {
            number,
            shared,
            expected: Expected::of(scenario),
            samples: Vec::new(),
            sorter: Sorter::new(scenario),
        };
        let results = simulation.run(&mut watcher).map_err(|error| Failure::file(&error))?;
        match results.ending {
            Ending::Complete | Ending::TimeLimit | Ending::Stalled | Ending::Deadlock => {}
            Ending::Interrupted => return Err(Failure::Interrupted(signals::caught().unwrap_or(0))),
            Ending::Memory => {
                let what = format!("not enough memory is free for `{}`; try --threads 1", self.command);
                return Err(Failure::Environment(what));
            }
        }
        let outcome = Outcome::new(name, &graph, &results, machine::computed_s() - computed_s)
            .with_series(&graph, &watcher.samples)
            .with_affected(watcher.sorter.sorted());
        if let Some(store) = store {
            store.put(&self.command, self.input.file.text(), &outcome)?;
        }
        Ok(outcome)
    }
}

/// Sees how far a run has come, what it samples, and Ctrl-C.
struct Watcher<'a> {
    number: usize,
    shared: &'a Shared,
    expected: Expected,
    samples: Vec<SeriesRow>,
    sorter: Sorter,
}

impl Observer for Watcher<'_> {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.sorter.add(row);
        Ok(())
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.samples.push(*sample);
        Ok(())
    }

    fn on_progress(&mut self, progress: &Simulated) -> ControlFlow<()> {
        self.shared.progress.note(self.number, &self.expected, progress);
        let is_over = signals::caught().is_some() || self.shared.stop.load(Ordering::Relaxed);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
