//! Hands the open cells of a sweep to a scheduler: tasks, each with some batches.

mod hyperqueue;
mod slurm;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::cost::Cost;
use crate::error::Error;
use crate::folder::create_whole;
use crate::sweep::Sweep;
use crate::worker::Part;

/// A scheduler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Engine {
    /// An array job of Slurm, by `sbatch`.
    Slurm,
    /// A job of HyperQueue, by `hq`, or by this Python interpreter and its package `hyperqueue`.
    HyperQueue {
        /// The interpreter.
        python: PathBuf,
    },
}

/// How to submit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submission {
    /// The scheduler.
    pub engine: Engine,
    /// This program, as workers start it.
    pub program: PathBuf,
    /// Number of tasks; by default, each runs for about a quarter of an hour.
    pub tasks: Option<usize>,
    /// Options for the scheduler.
    pub options: Vec<String>,
}

/// A job that a scheduler has accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Submitted {
    /// Its name at the scheduler.
    pub job: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Number of cells.
    pub cells: usize,
    /// Time limit of a task in minutes.
    pub minutes: u64,
    /// Memory of a task in MiB.
    pub memory_mib: u64,
}

/// A job in the folder: the batches of each task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct StoredJob {
    /// Number of the plan.
    plan: u32,
    /// By task: its batches.
    tasks: Vec<Vec<usize>>,
}

/// What a scheduler needs to know.
struct Job {
    number: u32,
    /// Absolute path of the folder.
    folder: PathBuf,
    name: String,
    tasks: usize,
    minutes: u64,
    memory_mib: u64,
}

const JOBS: &str = "jobs";
/// Time that a task should have, and most tasks: the default limit of Slurm (slurm.conf(5), `MaxArraySize`).
const TASK_S: f64 = 900.0;
const TASKS_MAX: usize = 1_000;
/// Time limit of a task: a multiple of the prediction, and some minutes.
const TIME_FACTOR: f64 = 4.0;
const MINUTES_MIN: u64 = 10;
/// Memory of a task: a multiple of the prediction, and that of the program.
const MEMORY_FACTOR: u64 = 2;
const MEMORY_MIB_MIN: u64 = 256;

/// Submits the open cells; `None` if there are none.
pub fn submit(sweep: &Sweep, submission: &Submission) -> Result<Option<Submitted>, Error> {
    let (plan, results) = (sweep.plan(), sweep.results()?);
    let pending = sweep.pending(&results);
    if pending.is_empty() {
        return Ok(None);
    }
    let cost = Cost::new(plan, &pending, &results);
    let mut open: Vec<(usize, f64)> = Vec::new();
    for batch in 0..plan.batches() {
        let cells = plan.batch(batch).iter().filter(|cell| pending.binary_search(cell).is_ok());
        let cpu_s: f64 = cells.clone().map(|cell| plan.estimate(*cell).cpu_s * cost.correction).sum();
        if cells.count() > 0 {
            open.push((batch, cpu_s));
        }
    }
    let wanted = submission.tasks.unwrap_or((cost.cpu_s / TASK_S).ceil() as usize);
    let tasks = shared_out(open, wanted.clamp(1, TASKS_MAX));
    let longest = tasks.iter().map(|task| task.1).fold(0.0, f64::max);
    let stored = StoredJob { plan: sweep.number(), tasks: tasks.into_iter().map(|task| task.0).collect() };
    let folder = fs::canonicalize(sweep.folder().path())
        .map_err(|error| Error::file("read", sweep.folder().path(), &error))?;
    let job = Job {
        number: store(&folder, &stored)?,
        name: plan.study().name.clone(),
        tasks: stored.tasks.len(),
        minutes: MINUTES_MIN + (longest * TIME_FACTOR / 60.0).ceil() as u64,
        memory_mib: MEMORY_MIB_MIN.max((cost.memory_bytes >> 20) * MEMORY_FACTOR + MEMORY_MIB_MIN),
        folder,
    };
    let logs = job.folder.join("logs");
    fs::create_dir_all(&logs).map_err(|error| Error::file("create the directory", &logs, &error))?;
    let name = match &submission.engine {
        Engine::Slurm => slurm::submit(&job, submission)?,
        Engine::HyperQueue { python } => hyperqueue::submit(&job, submission, python)?,
    };
    let Job { tasks, minutes, memory_mib, .. } = job;
    Ok(Some(Submitted { job: name, tasks, cells: pending.len(), minutes, memory_mib }))
}

/// Shares batches among tasks of about equal time: the longest batch goes to the task with the least time so far.
fn shared_out(mut batches: Vec<(usize, f64)>, tasks: usize) -> Vec<(Vec<usize>, f64)> {
    batches.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut shares = vec![(Vec::new(), 0.0_f64); tasks.min(batches.len())];
    for (batch, cpu_s) in batches {
        let least = shares.iter_mut().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.len().cmp(&b.0.len())));
        let share = least.expect("there is a task for the first batch");
        share.0.push(batch);
        share.1 += cpu_s;
    }
    shares
}

fn store(folder: &Path, job: &StoredJob) -> Result<u32, Error> {
    let jobs = folder.join(JOBS);
    fs::create_dir_all(&jobs).map_err(|error| Error::file("create the directory", &jobs, &error))?;
    let text = serde_json::to_string(job).expect("a job is plain values");
    for number in 1.. {
        let path = job_path(folder, number);
        match create_whole(&path, text.as_bytes()) {
            Ok(()) => return Ok(number),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::file("write", &path, &error)),
        }
    }
    unreachable!("a number is free")
}

fn job_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(JOBS).join(format!("{number:06}.json"))
}

/// Reads what a task of a job runs.
pub fn part(sweep: &Sweep, job: u32, task: usize) -> Result<Part, Error> {
    let path = job_path(sweep.folder().path(), job);
    let text = fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))?;
    let stored: StoredJob = serde_json::from_str(&text)
        .map_err(|_| Error::Input(format!("`{}` is not a job of a sweep", path.display())))?;
    if stored.plan != sweep.number() {
        let why = format!("the study was changed after job {job}; cancel it, and submit it again");
        return Err(Error::Input(why));
    }
    let last = stored.tasks.len().saturating_sub(1);
    let batches = stored.tasks.into_iter().nth(task);
    batches
        .map(Part::Batches)
        .ok_or_else(|| Error::Input(format!("job {job} has tasks 0 to {last}, not {task}")))
}

/// Runs a program of a scheduler and returns its output.
fn call(command: &mut Command, missing: &str) -> Result<String, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::Environment(format!("`{program}` was not found; {missing}")),
        _ => Error::Environment(format!("cannot run `{program}`: {error}")),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = text(&output.stderr);
    // The last line of a Python error says what is wrong.
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(Error::Environment(format!("`{program}` refused the job: {said}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_about_equal_times_and_each_batch_once() {
        let batches: Vec<_> = (0..20).map(|batch| (batch, (batch % 5) as f64 + 1.0)).collect();
        let shares = shared_out(batches, 4);
        assert!(shares.iter().all(|(_, cpu_s)| (cpu_s - 15.0).abs() <= 2.0), "{shares:?}");
        let mut all: Vec<_> = shares.into_iter().flat_map(|(batches, _)| batches).collect();
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
        assert_eq!(shared_out(vec![(3, 1.0)], 9).len(), 1);
    }
}
