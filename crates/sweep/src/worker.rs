//! Runs the cells of a folder.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wiremend_runner::{Error as RunError, Runner, WorkItem, machine};

use crate::claims::{Claims, claim};
use crate::error::Error;
use crate::folder::Folder;
use crate::liveness::{Heartbeat, Life, Task, Watcher};
use crate::plan::{LoadedPoint, Plan};
use crate::record::{Outcome, Record, ResultWriter, Results};

/// Which batches a worker runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// All, and it waits for those of other workers.
    Whole,
    /// Every n-th, counted from 0.
    Shard {
        /// Its number.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// These.
    Batches(Vec<usize>),
}

/// A worker of a folder.
pub struct Worker<'a> {
    folder: &'a Folder,
    plan: &'a Plan,
    number: u32,
    attempt: u32,
    runner: Runner<'a>,
    part: Part,
    task: Task,
    lease: Duration,
}

/// Time between two looks at the claims of others.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Default time without a heartbeat after which a worker on another machine has ended. File systems of networks may
/// show a change only after a minute (nfs(5), acregmax).
pub(crate) const LEASE: Duration = Duration::from_mins(2);

impl<'a> Worker<'a> {
    /// Creates a worker of the plan with this number.
    pub(crate) fn new(
        folder: &'a Folder,
        plan: &'a Plan,
        number: u32,
        attempt: u32,
        runner: Runner<'a>,
    ) -> Self {
        let (part, task) = (Part::Whole, Task::default());
        Self { folder, plan, number, attempt, runner, part, task, lease: LEASE }
    }

    /// Sets the batches that it runs.
    pub fn part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Sets the task of a scheduler that it is.
    pub fn task(self, task: Task) -> Self {
        Self { task, ..self }
    }

    /// Sets the time without a heartbeat after which a worker on another machine has ended.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Runs its cells. Results are in the folder as soon as they are known, whatever happens later.
    pub fn run(self) -> Result<(), Error> {
        let heartbeat = Heartbeat::start(self.folder, &self.task, self.number, self.lease)?;
        let writer = Mutex::new(ResultWriter::new(&self.folder.results(), &heartbeat.id));
        let results = Mutex::new(Results::default());
        let shift = Shift { worker: &self, id: heartbeat.id.clone(), writer, results };
        let ran = shift.run();
        let synced = lock(&shift.writer).sync().map_err(|error| Error::Environment(error.to_string()));
        // The heartbeat ends when all results are on the disk.
        drop(heartbeat);
        ran.and(synced)
    }

    fn is_own(&self, batch: usize) -> bool {
        match &self.part {
            Part::Whole => true,
            Part::Shard { index, count } => batch % count == *index,
            Part::Batches(batches) => batches.contains(&batch),
        }
    }
}

/// A worker while it runs.
struct Shift<'w> {
    worker: &'w Worker<'w>,
    id: String,
    writer: Mutex<ResultWriter>,
    results: Mutex<Results>,
}

/// A batch to run, and the epoch with which it is claimed.
struct Batch {
    number: usize,
    epoch: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn environment(error: &io::Error) -> Error {
    Error::Environment(error.to_string())
}

impl Shift<'_> {
    fn run(&self) -> Result<(), Error> {
        let Worker { folder, plan, number, .. } = self.worker;
        let mut claims = Claims::new(folder.claims(*number));
        let mut watcher = Watcher::new(folder, self.worker.task.clone(), self.worker.lease);
        let own: Vec<usize> = (0..plan.batches()).filter(|batch| self.worker.is_own(*batch)).collect();
        loop {
            claims.refresh().map_err(|error| Error::file("read", claims.directory(), &error))?;
            // After the claims: the results of a worker that has ended are complete.
            let mut lives: Vec<(usize, u32, Life)> = Vec::new();
            for batch in &own {
                let (epoch, life) = claims.holder(*batch).map_or((0, Life::Ended), |claim| {
                    let life =
                        if claim.worker == self.id { Life::Ended } else { watcher.life(&claim.worker) };
                    (claim.epoch, life)
                });
                lives.push((*batch, epoch, life));
            }
            self.refresh()?;
            lives.retain(|(batch, ..)| !self.is_complete(*batch));
            let free = lives.iter().filter(|(.., life)| *life == Life::Ended);
            let free: Vec<Batch> =
                free.map(|(number, epoch, _)| Batch { number: *number, epoch: epoch + 1 }).collect();
            let waits = match self.worker.part {
                Part::Whole => !lives.is_empty(),
                // Who is alive will run them; whoever is not, leaves them to this part.
                _ => lives.iter().any(|(.., life)| *life == Life::Unknown),
            };
            if !free.is_empty() {
                self.run_batches(free, claims.directory())?;
            } else if waits {
                if self.worker.runner.is_stopped() {
                    return Err(RunError::Interrupted.into());
                }
                std::thread::sleep(LOOK_EVERY);
            } else {
                return Ok(());
            }
        }
    }

    fn refresh(&self) -> Result<(), Error> {
        let directory = self.worker.folder.results();
        lock(&self.results).refresh(&directory).map_err(|error| Error::file("read", &directory, &error))
    }

    fn is_complete(&self, batch: usize) -> bool {
        let (plan, results) = (self.worker.plan, lock(&self.results));
        plan.batch(batch)
            .iter()
            .all(|cell| results.is_settled(&plan.cells()[*cell].name, self.worker.attempt))
    }

    /// Runs batches in parallel, those that take longest first.
    fn run_batches(&self, mut batches: Vec<Batch>, claims: &Path) -> Result<(), Error> {
        let plan = self.worker.plan;
        let cost = |batch: &Batch| {
            plan.batch(batch.number).iter().map(|cell| plan.estimate(*cell).cpu_s).sum::<f64>()
        };
        batches.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(a.number.cmp(&b.number)));
        let weights: Vec<f64> = batches.iter().map(cost).collect();
        let largest = batches.iter().flat_map(|batch| plan.batch(batch.number));
        let largest = largest.map(|cell| plan.estimate(*cell).memory_bytes).max().unwrap_or(1);
        let runner = self.worker.runner.items_max(items_max(machine::memory_bytes_max(), largest));
        let failed = Mutex::new(None);
        let ran = runner.for_each(&weights, |item| {
            self.run_batch(&runner, item, &batches[item.number()], claims).map_err(|error| {
                // The pool knows errors of runs only.
                let (own, kept) = match error {
                    Error::Run(error) => return error,
                    other => (RunError::Interrupted, other),
                };
                lock(&failed).get_or_insert(kept);
                own
            })
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => ran.map(drop).map_err(Error::Run),
        }
    }

    fn run_batch(
        &self,
        runner: &Runner<'_>,
        item: &WorkItem<'_>,
        batch: &Batch,
        claims: &Path,
    ) -> Result<(), Error> {
        let Batch { number, epoch } = batch;
        if !claim(claims, *number, *epoch, &self.id).map_err(|error| environment(&error))? {
            return Ok(());
        }
        let plan = self.worker.plan;
        let cells = plan.batch(*number);
        let mut loaded: Option<LoadedPoint> = None;
        for (done, cell) in cells.iter().enumerate() {
            let share = done as f64 / cells.len() as f64;
            if !item.advance(share) {
                return Err(RunError::Interrupted.into());
            }
            let name = &plan.cells()[*cell].name;
            if lock(&self.results).is_settled(name, self.worker.attempt) {
                continue;
            }
            let part = item.part(share, 1.0 / cells.len() as f64);
            let record = self.run_cell(runner, &part, *cell, &mut loaded)?;
            lock(&self.writer).append(&record).map_err(|error| environment(&error))?;
            lock(&self.results).add(record);
        }
        Ok(())
    }

    /// Runs a cell. Only what concerns the worker itself is an error: the failure of a cell is a result.
    fn run_cell(
        &self,
        runner: &Runner<'_>,
        item: &WorkItem<'_>,
        cell: usize,
        loaded: &mut Option<LoadedPoint>,
    ) -> Result<Record, Error> {
        let plan = self.worker.plan;
        let cell = &plan.cells()[cell];
        let started = machine::cpu_time_s();
        let run = catch_unwind(AssertUnwindSafe(|| {
            if loaded.as_ref().is_none_or(|loaded| loaded.number != cell.point) {
                *loaded = Some(plan.load(runner, cell.point)?);
            }
            let loaded = loaded.as_ref().expect("loaded above");
            if plan.name(&loaded.hash, cell.seed) != cell.name {
                let why =
                    format!("a file of `{}` was changed after the sweep was planned", loaded.input.name);
                return Err(RunError::NotARun(why));
            }
            item.run_single(&loaded.input, &loaded.variant, cell.seed)
        }));
        let outcome = match run {
            Ok(Ok(run)) => Outcome::done(&run),
            Ok(Err(error @ RunError::Interrupted)) => return Err(error.into()),
            Ok(Err(error)) => Outcome::Failed(error.to_string()),
            Err(panic) => Outcome::Failed(format!("the program panicked: {}", panic_text(panic.as_ref()))),
        };
        let took_s = machine::cpu_time_s() - started;
        Ok(Record { cell: cell.name.clone(), attempt: self.worker.attempt, took_s, outcome })
    }
}

/// Cells at a time, so that the largest ones fit in the memory.
fn items_max(memory_bytes_max: Option<u64>, largest: u64) -> usize {
    memory_bytes_max
        .map_or(usize::MAX, |bytes| usize::try_from(bytes / largest.max(1)).unwrap_or(usize::MAX).max(1))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_cells_run_one_at_a_time() {
        assert_eq!(items_max(Some(8 << 30), 3 << 30), 2);
        assert_eq!(items_max(Some(1 << 30), 3 << 30), 1);
        assert_eq!(items_max(None, 3 << 30), usize::MAX);
    }
}
