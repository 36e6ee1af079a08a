//! Counters of Linux, from the tree that the kernel mounts at `/sys` or one that looks like it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::counter::{Counter, Counters};
use crate::snapshot::Snapshot;
use crate::source::{Group, counter_of};

/// Reads ports of this machine.
#[derive(Debug)]
pub struct Sysfs {
    root: PathBuf,
    /// Counters that could not be read, each said once.
    missing: BTreeSet<Missing>,
    unsaid: Vec<Missing>,
    /// Whether a port was up, and how often that had changed by then.
    carriers: BTreeMap<String, (u64, bool)>,
}

/// A counter that is there and cannot be read, or has no number in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Missing {
    /// The file.
    pub file: PathBuf,
    /// Why.
    pub why: String,
}

impl Sysfs {
    /// The kernel's own tree.
    pub const ROOT: &str = "/sys";
    /// Longer than any number in it.
    const BYTES_MAX: usize = 64;
    /// What a detector needs.
    const FRAMES: [(&str, Counter); 2] = [("rx_packets", Counter::RxGood), ("rx_crc_errors", Counter::RxCrc)];
    /// More files than any device has counters.
    const FILES_MAX: usize = 4096;

    /// Of a tree.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), missing: BTreeSet::new(), unsaid: Vec::new(), carriers: BTreeMap::new() }
    }

    /// The interfaces with a device behind them, sorted.
    pub fn interfaces(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join("class/net"))?.take(Self::FILES_MAX) {
            let entry = entry?;
            if entry.path().join("device").exists()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Reads an interface and the RDMA devices on it. Only an interface that is not there is an error; of its counters those count
    /// that can be read, and `driver` replaces what the kernel says of the same.
    pub fn read(&mut self, interface: &str, driver: Counters) -> io::Result<Snapshot> {
        check_name(interface)?;
        let base = self.root.join("class/net").join(interface);
        fs::metadata(&base)?;
        let mut counters = self.counters(&base.join("statistics"), Group::Interface);
        for (counter, value) in driver.iter() {
            counters.set(counter, value);
        }
        for directory in rdma_counters(&base) {
            for (counter, value) in self.counters(&directory, Group::Rdma).iter() {
                counters.add(counter, value);
            }
        }
        Ok(Snapshot {
            up: read_number(&base.join("carrier")).is_ok_and(|carrier| carrier == 1),
            carrier_changes: read_number(&base.join("carrier_changes")).ok(),
            megabits_per_s: read_number(&base.join("speed")).ok().filter(|&speed| speed > 0),
            counters,
        })
    }

    /// The same, of what a [detector](crate::Detector) needs and nothing else: with hundreds of ports once a second every file counts. What
    /// the driver knows is not asked of the kernel.
    pub fn read_frames(&mut self, interface: &str, driver: Counters) -> io::Result<Snapshot> {
        check_name(interface)?;
        let base = self.root.join("class/net").join(interface);
        let mut counters = driver;
        for (name, counter) in Self::FRAMES {
            if driver.get(counter).is_some() {
                continue;
            }
            let file = base.join("statistics").join(name);
            match read_number(&file) {
                Ok(value) => counters.set(counter, value),
                // No such file: the interface is gone, or has no such counter.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::metadata(&base)?;
                }
                Err(error) => self.miss(file, &error),
            }
        }
        let has_fec = driver.get(Counter::FecSymbols0).is_some();
        let carrier_changes = read_number(&base.join("carrier_changes")).ok();
        Ok(Snapshot {
            up: self.is_up(interface, &base, carrier_changes),
            carrier_changes,
            megabits_per_s: has_fec.then(|| read_number(&base.join("speed")).ok()).flatten(),
            counters,
        })
    }

    /// Counters that could not be read and have not been said yet.
    pub fn unsaid(&mut self) -> Vec<Missing> {
        std::mem::take(&mut self.unsaid)
    }

    /// While its changes are the same as before, so is the carrier.
    fn is_up(&mut self, interface: &str, base: &Path, changes: Option<u64>) -> bool {
        if let (Some(changes), Some((then, up))) = (changes, self.carriers.get(interface))
            && changes == *then
        {
            return *up;
        }
        let up = read_number(&base.join("carrier")).is_ok_and(|carrier| carrier == 1);
        if let Some(changes) = changes {
            self.carriers.insert(interface.to_owned(), (changes, up));
        }
        up
    }

    fn counters(&mut self, directory: &Path, group: Group) -> Counters {
        let mut counters = Counters::default();
        // No such directory: a device without such counters.
        let Ok(entries) = fs::read_dir(directory) else { return counters };
        for entry in entries.take(Self::FILES_MAX).flatten() {
            let name = entry.file_name();
            let Some(counter) = name.to_str().and_then(|name| counter_of(group, name)) else { continue };
            match read_number(&entry.path()) {
                Ok(value) => counters.add(counter, value),
                Err(error) => self.miss(entry.path(), &error),
            }
        }
        counters
    }

    fn miss(&mut self, file: PathBuf, error: &io::Error) {
        let missing = Missing { file, why: error.to_string() };
        if self.missing.insert(missing.clone()) {
            self.unsaid.push(missing);
        }
    }
}

/// The counters of all ports of all RDMA devices on the device of this interface.
fn rdma_counters(interface: &Path) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    for device in children(&interface.join("device/infiniband")) {
        for port in children(&device.join("ports")) {
            directories.push(port.join("hw_counters"));
        }
    }
    directories
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<_> = entries.take(Sysfs::FILES_MAX).flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// A name that stays below its directory.
fn check_name(interface: &str) -> io::Result<()> {
    let plain = !interface.is_empty() && !interface.contains('/') && interface != "." && interface != "..";
    if plain { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "no name of an interface")) }
}

/// The kernel gives a number whole, in one piece.
fn read_number(file: &Path) -> io::Result<u64> {
    let mut bytes = [0; Sysfs::BYTES_MAX];
    let length = File::open(file)?.read(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    text.trim().parse().map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is no count", text.trim().escape_debug()))
    })
}
