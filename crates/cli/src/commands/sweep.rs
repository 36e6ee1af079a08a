//! `wiremend sweep`: many cells of a study, here or on a cluster.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use wiremend_report::human;
use wiremend_runner::{Error as RunError, Runner};
use wiremend_sweep::submit::{Engine, Submission, part, submit};
use wiremend_sweep::{
    Collected, Cost, Error, FailedBefore, FailedCell, Part, Plan, Results, Status, Study, Sweep, Task,
    collect, describe,
};

use crate::args::sweep::{self as args, Lease, Scheduler, SweepCommand, SweepStatus, SweepWork};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{libraries, signals, terminal};

/// Most failed cells that are listed; `sweep status --json` lists all.
const FAILED_LISTED: usize = 20;

pub(super) fn run(args: &args::Sweep) -> Result<Answer, Failure> {
    match &args.command {
        Some(SweepCommand::Status(args)) => status(args),
        Some(SweepCommand::Collect(args)) => {
            collected(&Sweep::open_to_read(&args.directory, &Runner::new())?)
        }
        Some(SweepCommand::Work(args)) => work(args),
        None => start(args),
    }
}

fn start(args: &args::Sweep) -> Result<Answer, Failure> {
    signals::catch()?;
    let (progress, stop) = (Progress::default(), signals::stop());
    let runner = super::runner(args.threads, &progress, &stop);
    let path = args.study.as_deref().expect("clap requires it");
    let plan = Plan::new(read(path)?, &runner, args.yes)?;
    if args.dry_run {
        return list(&plan, args.out.as_deref(), &runner);
    }
    let out = args.out.as_deref().expect("clap requires it");
    let failed = if args.shard.is_some() { FailedBefore::Keep } else { FailedBefore::Retry };
    let sweep = Sweep::start(out, plan, failed, lease(&args.lease), &runner)?;
    if let Some(scheduler) = args.on {
        return hand_over(args, &sweep, scheduler);
    }
    let results = sweep.results()?;
    let pending = sweep.pending(&results);
    let cost = Cost::new(sweep.plan(), &pending, &results);
    let whole = sweep.plan().distinct().len();
    terminal::print_message(&forecast(whole, &pending, &cost, &runner));
    let part = args.shard.map(|shard| Part::Shard { index: shard.index - 1, count: shard.count });
    let worker = sweep.worker(runner).lease(lease(&args.lease)).part(part.clone().unwrap_or(Part::Whole));
    worker.run().map_err(|error| kept(error, out))?;
    if part.is_some() {
        let failed = sweep.failed(&sweep.results()?);
        terminal::print(&failures(sweep.plan(), &failed))?;
        return Ok(if failed.is_empty() { Answer::Yes } else { Answer::No });
    }
    collected(&sweep)
}

fn read(path: &Path) -> Result<Study, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Failure::unreadable(&name, &error))?;
    Study::parse(&name, &text).map_err(|error| Failure::Input(error.to_string()))
}

const fn lease(args: &Lease) -> Duration {
    Duration::from_secs(args.lease)
}

/// Results are kept when a signal stops the workers.
fn kept(error: Error, out: &Path) -> Failure {
    match error {
        Error::Run(RunError::Interrupted) => {
            Failure::Suspended(signals::caught().unwrap_or(0), out.to_owned())
        }
        other => other.into(),
    }
}

/// `320 cells, 40 of them new: about 12 s on 2 threads, at most 5 MB each`.
fn forecast(whole: usize, pending: &[usize], cost: &Cost, runner: &Runner<'_>) -> String {
    let cells = cells(whole);
    if pending.is_empty() {
        return format!("{cells}, all of them have run");
    }
    let wall_ns = cost.wall_s(runner.thread_count(), pending.len()) * 1e9;
    let threads = match runner.thread_count() {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    format!(
        "{cells}, {} of them to run: about {} on {threads}, at most {} each",
        human::count(pending.len() as u64),
        human::time_ns(wall_ns),
        human::bytes(cost.memory_bytes as f64)
    )
}

fn cells(count: usize) -> String {
    if count == 1 { "1 cell".to_owned() } else { format!("{} cells", human::count(count as u64)) }
}

/// Prints the cells and what they will cost.
fn list(plan: &Plan, out: Option<&Path>, runner: &Runner<'_>) -> Result<Answer, Failure> {
    let done = |path: &Path| Sweep::open_to_read(path, runner)?.results();
    let results =
        out.filter(|path| path.join("plans").is_dir()).map_or_else(|| Ok(Results::default()), done)?;
    let is_open = |cell: &usize| !results.is_settled(&plan.cells()[*cell].name, u32::MAX);
    let pending: Vec<usize> = plan.distinct().iter().copied().filter(is_open).collect();
    let cost = Cost::new(plan, &pending, &results);
    let mut text = String::new();
    let mut names = std::collections::BTreeSet::new();
    for (number, cell) in plan.cells().iter().enumerate() {
        let estimate = plan.estimate(number);
        let state = match (is_open(&number), names.insert(&cell.name)) {
            (false, _) => "done",
            (true, true) => "new",
            // It simulates what a cell above does.
            (true, false) => "same",
        };
        let (time, memory) = (
            human::time_ns(estimate.cpu_s * cost.correction * 1e9),
            human::bytes(estimate.memory_bytes as f64),
        );
        let _ = writeln!(
            text,
            "{:.12}  {state:<4}  {time:>8}  {memory:>8}  {}",
            cell.name,
            describe(plan, number)
        );
    }
    let _ = writeln!(text, "{}", forecast(plan.distinct().len(), &pending, &cost, runner));
    terminal::print(&text)?;
    Ok(Answer::Yes)
}

fn hand_over(args: &args::Sweep, sweep: &Sweep, scheduler: Scheduler) -> Result<Answer, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Environment(format!("cannot find the path of this program: {error}")))?;
    let engine = match scheduler {
        Scheduler::Slurm => Engine::Slurm,
        Scheduler::Hyperqueue => Engine::HyperQueue { python: args.python.clone() },
    };
    let (tasks, options) = (args.tasks.map(usize::from), args.submit_option.clone());
    let folder = sweep.folder().path().display();
    let Some(job) = submit(sweep, &Submission { engine, program, tasks, options })? else {
        terminal::print(&format!("no cell is left to run: wiremend sweep collect {folder}\n"))?;
        return Ok(Answer::Yes);
    };
    let tasks = if job.tasks == 1 { "1 task".to_owned() } else { format!("{} tasks", job.tasks) };
    terminal::print(&format!(
        "job {}: {} in {tasks}, each with a limit of {} minutes and {} MiB\n\
         wiremend sweep status {folder}\nwiremend sweep collect {folder}\n",
        job.job,
        cells(job.cells),
        job.minutes,
        job.memory_mib
    ))?;
    Ok(Answer::Yes)
}

/// Runs cells of a planned sweep: all, or those of a task.
fn work(args: &SweepWork) -> Result<Answer, Failure> {
    signals::catch()?;
    let (progress, stop) = (Progress::default(), signals::stop());
    let runner = super::runner(args.threads, &progress, &stop);
    let sweep = Sweep::open(&args.directory, &runner)?;
    let mut worker = sweep.worker(runner).lease(lease(&args.lease));
    if let Some(job) = args.job {
        let own = || std::env::var("HQ_TASK_ID").ok().and_then(|task| task.parse().ok());
        let missing = || Failure::Input("--job needs --task, because HQ_TASK_ID is not set".to_owned());
        let task = args.task.or_else(own).ok_or_else(missing)?;
        worker = worker.part(part(&sweep, job, task)?).task(Task(format!("job {job}, task {task}")));
    }
    worker.run().map_err(|error| kept(error, &args.directory))?;
    Ok(Answer::Yes)
}

/// Writes table and page, and prints what they hold.
fn collected(sweep: &Sweep) -> Result<Answer, Failure> {
    let Collected { cells: rows, missing, failed, files } = collect(sweep)?;
    let folder = sweep.folder().path().display();
    let mut text = failures(sweep.plan(), &failed);
    let _ = write!(
        text,
        "{}: {} done",
        cells(rows),
        human::count((rows - missing - failed_rows(sweep, &failed)) as u64)
    );
    for (count, what) in [(failed.len(), "failed"), (missing, "not run")] {
        if count > 0 {
            let _ = write!(text, ", {} {what}", human::count(count as u64));
        }
    }
    text.push('\n');
    for file in files {
        let _ = writeln!(text, "{folder}/{file}");
    }
    terminal::print(&text)?;
    Ok(if missing == 0 && failed.is_empty() { Answer::Yes } else { Answer::No })
}

/// Rows of failed cells: several points may simulate the same.
fn failed_rows(sweep: &Sweep, failed: &[FailedCell]) -> usize {
    let cells = sweep.plan().cells();
    let names: std::collections::BTreeSet<_> = failed.iter().map(|failed| &cells[failed.cell].name).collect();
    cells.iter().filter(|cell| names.contains(&cell.name)).count()
}

fn failures(plan: &Plan, failed: &[FailedCell]) -> String {
    let mut text = String::new();
    for FailedCell { cell, message } in failed.iter().take(FAILED_LISTED) {
        let _ = writeln!(text, "failed: {}: {}", describe(plan, *cell), terminal::in_one_line(message));
    }
    if failed.len() > FAILED_LISTED {
        let _ = writeln!(text, "failed: {} more cells", failed.len() - FAILED_LISTED);
    }
    text
}

fn status(args: &SweepStatus) -> Result<Answer, Failure> {
    let sweep = Sweep::open_to_read(&args.directory, &Runner::new())?;
    let status = Status::new(&sweep)?;
    let Status { cells: whole, pending, failed, workers, cost } = &status;
    let plan = sweep.plan();
    let text = if args.json {
        let failed: Vec<_> = failed
            .iter()
            .map(|failed| json!({ "cell": plan.cells()[failed.cell].name, "parameters": describe(plan, failed.cell), "message": failed.message }))
            .collect();
        let workers: Vec<_> = workers
            .iter()
            .map(|worker| json!({ "host": worker.host, "pid": worker.pid, "task": worker.task, "batches": worker.batches, "runs": worker.is_certain, "silent_s": worker.silent_s }))
            .collect();
        let value = json!({ "cells": whole, "pending": pending, "failed": failed, "workers": workers, "cpu_s_left": cost.cpu_s, "batches": plan.batches() });
        format!("{value:#}\n")
    } else {
        let mut text = format!("{}: {} pending, {} failed", cells(*whole), pending, failed.len());
        if *pending > 0 {
            let _ = write!(text, "; about {} of CPU time left", human::time_ns(cost.cpu_s * 1e9));
        }
        text.push('\n');
        for worker in workers {
            let task = if worker.task.is_empty() { String::new() } else { format!(", {}", worker.task) };
            let sign = if worker.is_certain {
                "runs".to_owned()
            } else {
                format!("silent for {} s", worker.silent_s)
            };
            let _ = writeln!(
                text,
                "worker: process {} on {}{task}: {sign}, {} of {} batches",
                worker.pid,
                worker.host,
                worker.batches,
                plan.batches()
            );
        }
        text + &failures(plan, failed)
    };
    terminal::print(&text)?;
    Ok(if failed.is_empty() { Answer::Yes } else { Answer::No })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Input(why) => Self::Input(why),
            Error::Environment(why) => Self::Environment(why),
            Error::Run(RunError::Interrupted) => libraries::interrupted(),
            Error::Run(error) => error.into(),
        }
    }
}
