//! A study with its folder.

use std::path::Path;
use std::time::Duration;

use wiremend_runner::{Error as RunError, Runner};

use crate::error::Error;
use crate::folder::{Folder, NumberedPlan};
use crate::liveness::{Life, Task, Watcher};
use crate::plan::Plan;
use crate::record::{FailedCell, Outcome, Results};
use crate::stored_plan::StoredPlan;
use crate::worker::Worker;

/// A study with the folder of its results.
pub struct Sweep {
    folder: Folder,
    plan: Plan,
    number: u32,
    attempt: u32,
}

/// Whether cells that failed before are run again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailedBefore {
    /// They are run again.
    Retry,
    /// Their failure counts.
    Keep,
}

impl Sweep {
    /// Opens the folder of a planned study, and makes its plan the one that counts. Refuses to change the plan while
    /// workers run another one; who is on another machine is watched for up to `lease`.
    pub fn start(
        path: &Path,
        plan: Plan,
        failed: FailedBefore,
        lease: Duration,
        runner: &Runner<'_>,
    ) -> Result<Self, Error> {
        let folder = Folder::of_study(path, &plan)?;
        let results = read_results(&folder)?;
        let mut stored = StoredPlan::new(&plan, 1);
        if let Some(last) = folder.last()? {
            stored.attempt = last.plan.attempt + 1;
        }
        let settled = |last: &NumberedPlan| {
            let is_same = last.plan.version == stored.version && last.plan.has_same_cells(&stored);
            let fails = |cell: &String| {
                results.get(cell).is_some_and(|record| {
                    record.attempt >= last.plan.attempt && matches!(record.outcome, Outcome::Failed(_))
                })
            };
            let retries = failed == FailedBefore::Retry && last.plan.cells.iter().any(fails);
            if is_same && !retries {
                return Ok(true);
            }
            match live_worker(&folder, lease, runner)? {
                // It runs these cells too, and those that failed another time.
                Some(_) if is_same => Ok(true),
                Some(who) => Err(Error::Input(format!(
                    "`{}` is in use by {who} with another version of the study; wait for it or stop it",
                    folder.path().display()
                ))),
                None => Ok(false),
            }
        };
        let NumberedPlan { number, plan: published } = folder.publish(&stored, settled)?;
        Ok(Self { folder, plan, number, attempt: published.attempt })
    }

    /// Opens a folder with its plan, to run cells or to submit them.
    pub fn open(path: &Path, runner: &Runner<'_>) -> Result<Self, Error> {
        Self::opened(path, |stored| stored.plan(runner))
    }

    /// Opens a folder to read its results, whatever version made them.
    pub fn open_to_read(path: &Path, runner: &Runner<'_>) -> Result<Self, Error> {
        Self::opened(path, |stored| stored.plan_of_any_version(runner))
    }

    fn opened(path: &Path, plan: impl FnOnce(&StoredPlan) -> Result<Plan, Error>) -> Result<Self, Error> {
        let folder = Folder::open(path)?;
        let NumberedPlan { number, plan: stored } = folder.last()?.expect("an open folder has a plan");
        Ok(Self { folder, plan: plan(&stored)?, number, attempt: stored.attempt })
    }

    /// A worker of this sweep.
    pub fn worker<'a>(&'a self, runner: Runner<'a>) -> Worker<'a> {
        Worker::new(&self.folder, &self.plan, self.number, self.attempt, runner)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) const fn number(&self) -> u32 {
        self.number
    }

    /// All results so far.
    pub fn results(&self) -> Result<Results, Error> {
        read_results(&self.folder)
    }

    /// Numbers of the cells that are still to be run.
    pub fn pending(&self, results: &Results) -> Vec<usize> {
        pending(&self.plan, results, self.attempt)
    }

    /// Cells that failed, each name once.
    pub fn failed(&self, results: &Results) -> Vec<FailedCell> {
        let failure = |cell: &usize| match &results.get(&self.plan.cells()[*cell].name)?.outcome {
            Outcome::Failed(message) => Some(FailedCell { cell: *cell, message: message.clone() }),
            Outcome::Done { .. } => None,
        };
        self.plan.distinct().iter().filter_map(failure).collect()
    }
}

/// Numbers of the cells of a plan that have no result yet, or only a failure of an earlier attempt.
pub(crate) fn pending(plan: &Plan, results: &Results, attempt: u32) -> Vec<usize> {
    let is_open = |cell: &usize| !results.is_settled(&plan.cells()[*cell].name, attempt);
    plan.distinct().iter().copied().filter(is_open).collect()
}

fn read_results(folder: &Folder) -> Result<Results, Error> {
    let mut results = Results::default();
    let directory = folder.results();
    results.refresh(&directory).map_err(|error| Error::file("read", &directory, &error))?;
    Ok(results)
}

/// Returns who runs cells of a folder.
fn live_worker(folder: &Folder, lease: Duration, runner: &Runner<'_>) -> Result<Option<String>, Error> {
    let mut watcher = Watcher::new(folder, Task::default(), lease);
    let directory = folder.workers();
    loop {
        let workers = watcher.registered().map_err(|error| Error::file("read", &directory, &error))?;
        let mut is_unknown = false;
        for (id, record) in workers {
            match watcher.life(&id) {
                Life::Alive => {
                    let who = record.map(|record| format!("process {} on {}", record.pid, record.host));
                    return Ok(Some(who.unwrap_or(id)));
                }
                Life::Unknown => is_unknown = true,
                Life::Ended => {}
            }
        }
        if !is_unknown {
            return Ok(None);
        }
        if runner.is_stopped() {
            return Err(RunError::Interrupted.into());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
