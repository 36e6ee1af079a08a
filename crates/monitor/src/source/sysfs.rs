//! Counters of Linux interfaces, from `/sys` or a directory with the same structure.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::counter::{Counter, Counters};
use crate::snapshot::PortSnapshot;
use crate::source::{CounterGroup, counter_for_name};

/// Reads the ports of this machine.
#[derive(Debug)]
pub struct SysfsCounters {
    root: PathBuf,
    /// Unreadable counters, each reported once.
    unreadable: BTreeSet<UnreadableCounter>,
    unreported: Vec<UnreadableCounter>,
    /// By interface: the last value of `carrier_changes`, and whether the port was up then.
    carrier_states: BTreeMap<String, (u64, bool)>,
}

/// A counter file that cannot be read or does not contain a number.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnreadableCounter {
    /// The file.
    pub file: PathBuf,
    /// Reason.
    pub reason: String,
}

impl SysfsCounters {
    /// Mount point of the kernel's sysfs.
    pub const ROOT: &str = "/sys";
    /// Maximum length of a number.
    const BYTES_MAX: usize = 64;
    /// Counters that a detector needs.
    const FRAMES: [(&str, Counter); 2] = [("rx_packets", Counter::RxGood), ("rx_crc_errors", Counter::RxCrc)];
    /// Maximum number of files per directory.
    const FILES_MAX: usize = 4096;

    /// Creates a reader of this tree.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            unreadable: BTreeSet::new(),
            unreported: Vec::new(),
            carrier_states: BTreeMap::new(),
        }
    }

    /// Returns the interfaces with a device, sorted.
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

    /// Reads an interface and its RDMA devices. `driver` overrides the kernel's values. Unreadable counters
    /// are omitted; only a missing interface is an error.
    pub fn read(&mut self, interface: &str, driver: Counters) -> io::Result<PortSnapshot> {
        check_name(interface)?;
        let base = self.root.join("class/net").join(interface);
        fs::metadata(&base)?;
        let mut counters = self.counters(&base.join("statistics"), CounterGroup::Interface);
        for (counter, value) in driver.iter() {
            counters.set(counter, value);
        }
        for directory in rdma_counters(&base) {
            for (counter, value) in self.counters(&directory, CounterGroup::Rdma).iter() {
                counters.add(counter, value);
            }
        }
        Ok(PortSnapshot {
            up: read_number(&base.join("carrier")).is_ok_and(|carrier| carrier == 1),
            carrier_changes: read_number(&base.join("carrier_changes")).ok(),
            megabits_per_s: read_number(&base.join("speed")).ok().filter(|&speed| speed > 0),
            counters,
        })
    }

    /// Reads only the counters that a [detector](crate::Detector) needs, because a daemon reads hundreds of
    /// ports per second. Counters in `driver` are not read from sysfs.
    pub fn read_frames(&mut self, interface: &str, driver: Counters) -> io::Result<PortSnapshot> {
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
                // The interface or the counter does not exist.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    fs::metadata(&base)?;
                }
                Err(error) => self.report_unreadable(file, &error),
            }
        }
        let has_fec = driver.get(Counter::FecSymbols0).is_some();
        let carrier_changes = read_number(&base.join("carrier_changes")).ok();
        Ok(PortSnapshot {
            up: self.is_up(interface, &base, carrier_changes),
            carrier_changes,
            megabits_per_s: has_fec.then(|| read_number(&base.join("speed")).ok()).flatten(),
            counters,
        })
    }

    /// Returns the unreadable counters that were not reported yet.
    pub fn take_unreported(&mut self) -> Vec<UnreadableCounter> {
        std::mem::take(&mut self.unreported)
    }

    /// Returns the carrier state, cached while `carrier_changes` is unchanged.
    fn is_up(&mut self, interface: &str, base: &Path, changes: Option<u64>) -> bool {
        if let (Some(changes), Some((then, up))) = (changes, self.carrier_states.get(interface))
            && changes == *then
        {
            return *up;
        }
        let up = read_number(&base.join("carrier")).is_ok_and(|carrier| carrier == 1);
        if let Some(changes) = changes {
            self.carrier_states.insert(interface.to_owned(), (changes, up));
        }
        up
    }

    fn counters(&mut self, directory: &Path, group: CounterGroup) -> Counters {
        let mut counters = Counters::default();
        // The device has no such counters.
        let Ok(entries) = fs::read_dir(directory) else { return counters };
        for entry in entries.take(Self::FILES_MAX).flatten() {
            let name = entry.file_name();
            let Some(counter) = name.to_str().and_then(|name| counter_for_name(group, name)) else {
                continue;
            };
            match read_number(&entry.path()) {
                Ok(value) => counters.add(counter, value),
                Err(error) => self.report_unreadable(entry.path(), &error),
            }
        }
        counters
    }

    fn report_unreadable(&mut self, file: PathBuf, error: &io::Error) {
        let unreadable = UnreadableCounter { file, reason: error.to_string() };
        if self.unreadable.insert(unreadable.clone()) {
            self.unreported.push(unreadable);
        }
    }
}

/// Returns the counter directories of all ports of all RDMA devices of an interface.
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
    let mut paths: Vec<_> =
        entries.take(SysfsCounters::FILES_MAX).flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Rejects names that lead out of the directory.
fn check_name(interface: &str) -> io::Result<()> {
    let is_plain = !interface.is_empty() && !interface.contains('/') && interface != "." && interface != "..";
    if is_plain { Ok(()) } else { Err(io::Error::new(io::ErrorKind::InvalidInput, "not an interface name")) }
}

/// Reads a number. The kernel returns it in one read.
fn read_number(file: &Path) -> io::Result<u64> {
    let mut bytes = [0; SysfsCounters::BYTES_MAX];
    let length = File::open(file)?.read(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    text.trim().parse().map_err(|_| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("`{}` is not a number", text.trim().escape_debug()),
        )
    })
}
