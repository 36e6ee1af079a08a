//! Where a lab keeps its sockets and logs, and how it is found by others.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use wiremend_dataplane::sys::credentials;

use crate::error::Error;
use crate::lab::LOOK;

/// A directory of this process. It goes away with this value.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
}

/// A lab of this user.
#[derive(Debug)]
pub struct Found {
    path: PathBuf,
    process: Process,
}

/// A process, which no other that gets its number later is taken for.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Process {
    id: u32,
    /// Ticks since the machine was started.
    born: String,
}

const PREFIX: &str = "wiremend-lab-";
/// Who has the directory.
const OWNER: &str = "process";
/// A lab that is asked to end does so within this, or is killed.
const PATIENCE: Duration = Duration::from_mins(1);

impl Place {
    /// Makes one, and clears away those of labs that were killed.
    pub fn new() -> Result<Self, Error> {
        for found in found().into_iter().filter(|found| !found.is_running()) {
            found.clear();
        }
        let process = Process::own().map_err(|error| Error::file(&error))?;
        let path = std::env::temp_dir().join(format!("{PREFIX}{}", process.id));
        let unusable =
            |error: io::Error| Error::Environment(format!("cannot make `{}`: {error}", path.display()));
        // Nobody else may have made it, or look into it.
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(unusable)?;
        let place = Self { path: path.clone() };
        fs::write(path.join(OWNER), format!("{} {}\n", process.id, process.born)).map_err(unusable)?;
        Ok(place)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is cleared by the next lab.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The labs of this user, those that were killed included.
pub fn found() -> Vec<Found> {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let mut all: Vec<Found> = entries.filter_map(|entry| Found::at(entry.path())).collect();
    all.sort_by_key(|found| found.process.id);
    all
}

impl Found {
    fn at(path: PathBuf) -> Option<Self> {
        let id: u32 = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
        let facts = fs::symlink_metadata(&path).ok()?;
        // What others put there says nothing about processes of ours.
        if !facts.is_dir() || facts.uid() != credentials::own_uid() {
            return None;
        }
        let owner = fs::read_to_string(path.join(OWNER)).ok()?;
        let (named, born) = owner.trim().split_once(' ')?;
        (named == id.to_string()).then(|| Self { process: Process { id, born: born.to_owned() }, path })
    }

    /// The process that has it.
    pub fn process_id(&self) -> u32 {
        self.process.id
    }

    /// Whether that process runs.
    pub fn is_running(&self) -> bool {
        born(self.process.id).is_ok_and(|born| born == self.process.born)
    }

    /// Ends it, in order if it obeys; what it leaves is cleared away. False: it had ended before.
    pub fn end(self) -> io::Result<bool> {
        let id = Pid::from_raw(self.process.id.cast_signed()).ok_or(io::ErrorKind::InvalidData)?;
        // Held before it is looked at: whatever has the number afterwards is not meant.
        let Ok(process) = pidfd_open(id, PidfdFlags::empty()) else {
            self.clear();
            return Ok(false);
        };
        if !self.is_running() {
            self.clear();
            return Ok(false);
        }
        pidfd_send_signal(&process, Signal::TERM)?;
        let until = Instant::now() + PATIENCE;
        while self.is_running() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        if self.is_running() {
            pidfd_send_signal(&process, Signal::KILL)?;
        }
        self.clear();
        Ok(true)
    }

    fn clear(&self) {
        // Its owner may have done so.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Process {
    fn own() -> io::Result<Self> {
        let id = std::process::id();
        Ok(Self { id, born: born(id)? })
    }
}

/// When a process that runs was started, as the 22nd field of `/proc/PID/stat` has it; its name, the second, may have spaces.
fn born(id: u32) -> io::Result<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>());
    match fields.as_deref() {
        Some([state, ..]) if matches!(*state, "Z" | "X") => Err(io::ErrorKind::NotFound.into()),
        Some(fields) if fields.len() > 19 => Ok(fields[19].to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
