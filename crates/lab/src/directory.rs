//! The directory of a lab for sockets and logs, by which other processes find the lab.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use wiremend_dataplane::sys::credentials;

use crate::error::Error;
use crate::lab::POLL_INTERVAL;

/// The directory of this process, removed when dropped.
#[derive(Debug)]
pub struct LabDirectory {
    path: PathBuf,
}

/// A lab of this user, found by its directory.
#[derive(Debug)]
pub struct FoundLab {
    path: PathBuf,
    process: Process,
}

/// A process, identified by id and start time, because ids are reused.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Process {
    id: u32,
    /// Start time in clock ticks since boot.
    start_time: String,
}

const PREFIX: &str = "wiremend-lab-";
const OWNER_FILE: &str = "process";
/// Time after SIGTERM until a lab is killed.
const TERMINATION_LIMIT: Duration = Duration::from_mins(1);

impl LabDirectory {
    /// Creates the directory and removes those of labs that were killed.
    pub fn new() -> Result<Self, Error> {
        for lab in find_labs().into_iter().filter(|lab| !lab.is_running()) {
            lab.clear();
        }
        let process = Process::own().map_err(|error| Error::file(&error))?;
        let path = std::env::temp_dir().join(format!("{PREFIX}{}", process.id));
        let unusable =
            |error: io::Error| Error::Environment(format!("cannot create `{}`: {error}", path.display()));
        // Fails if it exists; other users have no access.
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(unusable)?;
        let place = Self { path: path.clone() };
        fs::write(path.join(OWNER_FILE), format!("{} {}\n", process.id, process.start_time))
            .map_err(unusable)?;
        Ok(place)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LabDirectory {
    fn drop(&mut self) {
        // If this fails, the next lab removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Finds the labs of this user, including those that were killed.
pub fn find_labs() -> Vec<FoundLab> {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let mut all: Vec<FoundLab> = entries.filter_map(|entry| FoundLab::at(entry.path())).collect();
    all.sort_by_key(|lab| lab.process.id);
    all
}

impl FoundLab {
    fn at(path: PathBuf) -> Option<Self> {
        let id: u32 = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
        let facts = fs::symlink_metadata(&path).ok()?;
        // Ignore directories of other users.
        if !facts.is_dir() || facts.uid() != credentials::own_uid() {
            return None;
        }
        let owner = fs::read_to_string(path.join(OWNER_FILE)).ok()?;
        let (named, start_time) = owner.trim().split_once(' ')?;
        (named == id.to_string())
            .then(|| Self { process: Process { id, start_time: start_time.to_owned() }, path })
    }

    /// Process id of the lab.
    pub fn process_id(&self) -> u32 {
        self.process.id
    }

    /// Returns whether the process of the lab runs.
    pub fn is_running(&self) -> bool {
        start_time(self.process.id).is_ok_and(|start_time| start_time == self.process.start_time)
    }
    /// Terminates the lab, or kills it, and removes its directory. Returns false if it had ended before.
    pub fn terminate(self) -> io::Result<bool> {
        let id = Pid::from_raw(self.process.id.cast_signed()).ok_or(io::ErrorKind::InvalidData)?;
        // Open the pidfd before the check: the id may be reused afterwards.
        let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else {
            self.clear();
            return Ok(false);
        };
        if !self.is_running() {
            self.clear();
            return Ok(false);
        }
        pidfd_send_signal(&process, Signal::TERM)?;
        let until = Instant::now() + TERMINATION_LIMIT;
        while self.is_running() && Instant::now() < until {
            std::thread::sleep(POLL_INTERVAL);
        }
        if self.is_running() {
            pidfd_send_signal(&process, Signal::KILL)?;
        }
        self.clear();
        Ok(true)
    }

    fn clear(&self) {
        // The owner may have removed it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Process {
    fn own() -> io::Result<Self> {
        let id = std::process::id();
        Ok(Self { id, start_time: start_time(id)? })
    }
}

/// Start time of a running process: field 22 of `/proc/PID/stat`. Field 2, the name, may contain spaces.
fn start_time(id: u32) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>());
    match fields.as_deref() {
        Some([state, ..]) if matches!(*state, "Z" | "X") => Err(io::ErrorKind::NotFound.into()),
        Some(fields) if fields.len() > 19 => Ok(fields[19].to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
