//! Distributes the runs of claims over the cores.

use std::collections::BTreeMap;
use std::io;

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_runner::{Error as RunError, Input, Runner, WorkItem, machine};
use wiremend_scenario::Override;
use wiremend_sim::Observer;
use wiremend_units::FlowId;

use super::flow_groups::FlowGrouper;
use super::{Claim, Effort, Outcome, Results, Run, Store};
use crate::error::Error;

/// The runs of the chosen claims, loaded and checked before the first one starts.
pub struct Schedule<'a> {
    effort: Effort,
    sets: &'a [Override],
    /// Longest first.
    jobs: Vec<Job>,
}

/// One run.
struct Job {
    command: String,
    input: Input,
    variant: usize,
    seed: u64,
    expected_s: f64,
    traced: bool,
}

impl<'a> Schedule<'a> {
    /// Loads the runs of the claims, each once, with the changes of the user.
    pub fn new(claims: &[&Claim], effort: Effort, sets: &'a [Override]) -> Result<Self, Error> {
        Self::from_runs(claims.iter().flat_map(|claim| claim.runs(effort)).collect(), effort, sets)
    }

    /// Loads runs that belong to no claim.
    pub(crate) fn from_runs(runs: Vec<Run>, effort: Effort, sets: &'a [Override]) -> Result<Self, Error> {
        let mut jobs: Vec<Job> = Vec::new();
        for run in runs {
            let command = run.command(sets);
            match jobs.iter_mut().find(|job| job.command == command) {
                Some(known) => known.expected_s = known.expected_s.max(run.expected_s()),
                None => jobs.push(Job::new(&run, command, sets)?),
            }
        }
        if jobs.is_empty() && !sets.is_empty() {
            return Err(Error::NothingToChange);
        }
        jobs.sort_by(|a, b| b.expected_s.total_cmp(&a.expected_s));
        Ok(Self { effort, sets, jobs })
    }

    /// Computes the outcomes that `store` lacks, and adds them to it.
    pub fn run(&self, runner: &Runner<'a>, store: Option<&Store>) -> Result<Results<'a>, Error> {
        let mut outcomes = BTreeMap::new();
        let mut open = Vec::new();
        for job in &self.jobs {
            match store.and_then(|store| store.get(&job.command, job.input.file.text())) {
                Some(outcome) => _ = outcomes.insert(job.command.clone(), outcome),
                None => open.push(job),
            }
        }
        for (job, outcome) in open.iter().zip(compute(&open, runner, store)?) {
            outcomes.insert(job.command.clone(), outcome);
        }
        Ok(Results::new(self.effort, self.sets, *runner, outcomes))
    }
}

fn compute(jobs: &[&Job], runner: &Runner<'_>, store: Option<&Store>) -> Result<Vec<Outcome>, Error> {
    let weights: Vec<_> = jobs.iter().map(|job| job.expected_s).collect();
    let outcomes = runner.for_each(&weights, |item| jobs[item.number()].run(runner, item, store));
    outcomes.map_err(|error| match error {
        RunError::Memory { scenario, .. } => Error::Memory { command: scenario },
        error => Error::Run(error),
    })
}

impl Job {
    fn new(run: &Run, command: String, user: &[Override]) -> Result<Self, Error> {
        let input = Input::load(run.scenario(), &run.sets(user))?;
        let wanted: Vec<_> = run.chosen_variant().map(str::to_owned).into_iter().collect();
        // `--set` may have replaced the list of variants.
        let name = input.variants(&wanted)?[0].name.clone();
        let variant = input.file.variants.iter().position(|variant| variant.name == name).unwrap_or(0);
        let seed = run.chosen_seed().unwrap_or_else(|| input.file.variants[variant].scenario.seed.get());
        Ok(Self { command, input, variant, seed, expected_s: run.expected_s(), traced: run.is_traced() })
    }

    fn run(
        &self,
        runner: &Runner<'_>,
        item: &WorkItem<'_>,
        store: Option<&Store>,
    ) -> Result<Outcome, RunError> {
        let variant = &self.input.file.variants[self.variant];
        let computed_s = machine::cpu_time_s();
        let mut options = item.options(self.seed);
        // The computing time is reported, so a run uses one thread on any machine.
        options.threads = 1;
        options.trace = self.traced.then_some(FlowId(0));
        let simulation = runner.build(&self.input, variant, &options)?;
        let graph = simulation.graph().clone();
        let mut observer = RunObserver { samples: Vec::new(), grouper: FlowGrouper::new(&variant.scenario) };
        let results = item.run(simulation, &self.command, variant, &options, &mut observer)?;
        let outcome = Outcome::new(&variant.name, &graph, &results, machine::cpu_time_s() - computed_s)
            .with_steps(&results.trace)
            .with_series(&graph, &observer.samples)
            .with_flow_groups(observer.grouper.finish());
        if let Some(store) = store {
            store.put(&self.command, self.input.file.text(), &outcome).map_err(RunError::File)?;
        }
        Ok(outcome)
    }
}

/// Collects the samples and flows of a run.
struct RunObserver {
    samples: Vec<SeriesRow>,
    grouper: FlowGrouper,
}

impl Observer for RunObserver {
    fn on_row(&mut self, row: &FlowRow) -> io::Result<()> {
        self.grouper.add(row);
        Ok(())
    }

    fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.samples.push(*sample);
        Ok(())
    }
}
