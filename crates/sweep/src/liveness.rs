//! Which workers are alive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wiremend_units::Sha256;

use crate::error::Error;
use crate::folder::Folder;

/// A task of a scheduler: restarted, it has the same name.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Task(pub String);

/// What a worker says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct WorkerRecord {
    /// Name of the machine, for readers.
    pub(crate) host: String,
    /// Boot and process name space: where the process number has a meaning.
    pub(crate) space: String,
    pub(crate) pid: u32,
    /// Start of the process, because numbers are used again.
    pub(crate) started: u64,
    /// Several workers may be in one process.
    pub(crate) number: u32,
    pub(crate) task: Task,
    /// Number of the plan that it runs.
    pub(crate) plan: u32,
}

impl WorkerRecord {
    /// The record of this process.
    pub(crate) fn own(task: Task, plan: u32, number: u32) -> Self {
        let pid = std::process::id();
        Self {
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            space: process_space(),
            pid,
            started: started(pid).unwrap_or(0),
            number,
            task,
            plan,
        }
    }

    /// Name of its files.
    pub(crate) fn id(&self) -> String {
        let Self { space, pid, started, number, plan, .. } = self;
        format!("{}-{pid}-{started}-{plan}-{number}", &Sha256::of(space.as_bytes())[..8])
    }

    /// Whether the process exists; `None` if it is on another machine.
    fn exists(&self) -> Option<bool> {
        let is_near = !self.space.is_empty() && self.space == process_space();
        is_near.then(|| started(self.pid) == Some(self.started))
    }
}

/// Where process numbers have a meaning; empty if the system does not say.
fn process_space() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    if boot.is_empty() { String::new() } else { format!("{} {}", boot.trim(), space.display()) }
}

/// Start of a process, in ticks since the boot (`proc_pid_stat(5)`, field 22); `None` if it does not run.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses and may hold spaces.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // A zombie has ended.
    if state == "Z" || state == "X" { None } else { fields.nth(18)?.parse().ok() }
}

/// This process as a worker: others see it alive until this value is dropped.
pub(crate) struct Heartbeat {
    pub(crate) id: String,
    beat: PathBuf,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Number of the next worker of this process.
static WORKER_NUMBER: AtomicU32 = AtomicU32::new(0);
/// Heartbeats within a lease.
const BEATS_PER_LEASE: u32 = 8;

impl Heartbeat {
    /// Registers a worker of this process.
    pub(crate) fn start(folder: &Folder, task: &Task, plan: u32, lease: Duration) -> Result<Self, Error> {
        let workers = folder.workers();
        let number = WORKER_NUMBER.fetch_add(1, Ordering::Relaxed);
        let record = WorkerRecord::own(task.clone(), plan, number);
        let id = record.id();
        let beat = workers.join(format!("{id}.beat"));
        let path = record_path(&workers, &id);
        let text = serde_json::to_string(&record).expect("a record is plain values");
        // The heartbeat is there before the record, so that nobody sees a worker that has ended.
        let mut file = File::create(&beat).map_err(|error| Error::file("write", &beat, &error))?;
        let written = fs::write(&path, text).and_then(|()| file.write_all(&beat_text(0)));
        written.map_err(|error| Error::file("write", &path, &error))?;
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::spawn(move || {
            for count in 1.. {
                match stopped.recv_timeout(lease / BEATS_PER_LEASE) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return,
                }
                // Without a heartbeat others may run the same cells, with the same results.
                let _ = rewrite(&mut file, count);
            }
        });
        Ok(Self { id, beat, stop: Some(stop), thread: Some(thread) })
    }
}

fn record_path(workers: &Path, id: &str) -> PathBuf {
    workers.join(format!("{id}.json"))
}

fn beat_text(count: u64) -> Vec<u8> {
    format!("{count:020}\n").into_bytes()
}

fn rewrite(file: &mut File, count: u64) -> io::Result<()> {
    use std::io::Seek as _;
    file.rewind()?;
    file.write_all(&beat_text(count))?;
    file.sync_data()
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // A file that stays is a worker that does not beat.
        let _ = fs::remove_file(&self.beat);
    }
}

/// Watches other workers.
pub(crate) struct Watcher {
    workers: PathBuf,
    own: Task,
    lease: Duration,
    seen: BTreeMap<String, Seen>,
}

struct Seen {
    record: Option<WorkerRecord>,
    beat: Vec<u8>,
    since: Instant,
    /// Whether it was seen to beat.
    has_beaten: bool,
}

/// What is known about a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// It runs, or was seen to beat within the lease.
    Alive,
    /// It has not beaten since it is watched, and the lease is not over.
    Unknown,
    /// It has ended.
    Ended,
}

impl Watcher {
    pub(crate) fn new(folder: &Folder, own: Task, lease: Duration) -> Self {
        Self { workers: folder.workers(), own, lease, seen: BTreeMap::new() }
    }

    /// What is known about a worker that is not of this process.
    pub(crate) fn life(&mut self, id: &str) -> Life {
        let Ok(beat) = fs::read(self.workers.join(format!("{id}.beat"))) else { return Life::Ended };
        let now = Instant::now();
        let workers = &self.workers;
        let seen = self.seen.entry(id.to_owned()).or_insert_with(|| Seen {
            record: read_record(&record_path(workers, id)),
            beat: beat.clone(),
            since: now,
            has_beaten: false,
        });
        if let Some(record) = &seen.record {
            if let Some(exists) = record.exists() {
                return if exists { Life::Alive } else { Life::Ended };
            }
            // A scheduler does not run a task twice at a time.
            if !self.own.0.is_empty() && record.task == self.own {
                return Life::Ended;
            }
        }
        if seen.beat != beat {
            *seen = Seen { record: seen.record.take(), beat, since: now, has_beaten: true };
        }
        match (now - seen.since < self.lease, seen.has_beaten) {
            (false, _) => Life::Ended,
            (true, true) => Life::Alive,
            (true, false) => Life::Unknown,
        }
    }

    /// Workers that have a heartbeat, with what they say about themselves.
    pub(crate) fn registered(&self) -> io::Result<Vec<(String, Option<WorkerRecord>)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.workers)? {
            let name = entry?.file_name();
            if let Some(id) = name.to_str().and_then(|name| name.strip_suffix(".beat")) {
                found.push((id.to_owned(), read_record(&record_path(&self.workers, id))));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}

fn read_record(path: &Path) -> Option<WorkerRecord> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
