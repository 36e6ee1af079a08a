//! How far a sweep is.

use std::time::SystemTime;

use crate::claims::Claims;
use crate::cost::Cost;
use crate::error::Error;
use crate::liveness::{Life, Task, Watcher};
use crate::record::FailedCell;
use crate::sweep::Sweep;
use crate::worker::LEASE;

/// How far a sweep is.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Cells that are run: each name once.
    pub cells: usize,
    /// Cells without a result.
    pub pending: usize,
    /// Cells that failed.
    pub failed: Vec<FailedCell>,
    /// Workers that have not ended.
    pub workers: Vec<WorkerStatus>,
    /// Predicted cost of what is pending.
    pub cost: Cost,
}

/// A worker that has not ended, as far as its files say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkerStatus {
    /// Name of the machine.
    pub host: String,
    /// Number of the process.
    pub pid: u32,
    /// Task of a scheduler; empty without one.
    pub task: String,
    /// Batches that it claimed.
    pub batches: usize,
    /// Whether it certainly runs: its process is on this machine.
    pub is_certain: bool,
    /// Seconds since its last heartbeat by the clock of this machine.
    pub silent_s: u64,
}

impl Status {
    /// Reads the state of a sweep.
    pub fn new(sweep: &Sweep) -> Result<Self, Error> {
        let results = sweep.results()?;
        let pending = sweep.pending(&results);
        let folder = sweep.folder();
        let directory = folder.workers();
        let mut claims = Claims::new(folder.claims(sweep.number()));
        claims.refresh().map_err(|error| Error::file("read", claims.directory(), &error))?;
        let mut watcher = Watcher::new(folder, Task::default(), LEASE);
        let registered = watcher.registered().map_err(|error| Error::file("read", &directory, &error))?;
        let mut workers = Vec::new();
        for (id, record) in registered {
            let life = watcher.life(&id);
            let Some(record) = record.filter(|_| life != Life::Ended) else { continue };
            let beat =
                std::fs::metadata(directory.join(format!("{id}.beat"))).and_then(|found| found.modified());
            let silent = beat.ok().and_then(|beat| SystemTime::now().duration_since(beat).ok());
            let batches = 0..sweep.plan().batches();
            workers.push(WorkerStatus {
                host: record.host,
                pid: record.pid,
                task: record.task.0,
                batches: batches
                    .filter(|batch| claims.holder(*batch).is_some_and(|held| held.worker == id))
                    .count(),
                is_certain: life == Life::Alive,
                silent_s: silent.map_or(0, |silent| silent.as_secs()),
            });
        }
        let cost = Cost::new(sweep.plan(), &pending, &results);
        let failed = sweep.failed(&results);
        Ok(Self { cells: sweep.plan().distinct().len(), pending: pending.len(), failed, workers, cost })
    }
}
