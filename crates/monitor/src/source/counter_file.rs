//! Counters in a file that another program writes again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use wiremend_units::{Span, Time};

use super::{openconfig, prometheus_text};
use crate::snapshot::PortSnapshot;

/// Format of a counter file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CounterFileFormat {
    /// Prometheus text with the metrics of `node_exporter`.
    NodeExporter,
    /// JSON with the structure of `OpenConfig`.
    OpenConfig,
}

/// The ports in a file: a snapshot, or why there is none.
pub(super) type Ports = BTreeMap<String, Result<PortSnapshot, String>>;

/// Reads the ports of a file. The file is parsed once per change, for all its ports.
#[derive(Debug)]
pub struct CounterFile {
    path: PathBuf,
    format: CounterFileFormat,
    max_age: Span,
    names: BTreeSet<String>,
    /// Time of the last write and length.
    version: Option<(SystemTime, u64)>,
    /// When this version was noticed.
    changed_at: Time,
    ports: Result<Ports, String>,
    /// The last reported problem of each port; that of the whole file has an empty name.
    problems: BTreeMap<String, String>,
    messages: Vec<String>,
}

impl CounterFile {
    /// Maximum length of a file.
    pub const BYTES_MAX: u64 = 16 << 20;
    /// Default of the age from which a file is stale: programs write such files once a minute or more often.
    pub const MAX_AGE: Span = Span::from_ms(5 * 60_000);

    /// Creates a reader of these ports. A file that was not written for `max_age` is not used.
    pub fn new(
        path: PathBuf,
        format: CounterFileFormat,
        max_age: Span,
        names: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            path,
            format,
            max_age,
            names: names.into_iter().collect(),
            version: None,
            changed_at: Time::ZERO,
            ports: Ok(Ports::new()),
            problems: BTreeMap::new(),
            messages: Vec::new(),
        }
    }

    /// Returns the newest snapshot of a port, and when it was noticed. `wall` is the time of day.
    pub fn read(&mut self, name: &str, now: Time, wall: SystemTime) -> Option<(Time, PortSnapshot)> {
        if let Err(reason) = self.refresh(now, wall) {
            self.report("", &reason);
            return None;
        }
        let found = match &self.ports {
            Err(reason) => Err(("", reason.clone())),
            Ok(ports) => match ports.get(name) {
                Some(Ok(snapshot)) => Ok(*snapshot),
                Some(Err(reason)) => Err((name, format!("`{name}`: {reason}"))),
                None => Err((name, format!("no port `{name}` in this file"))),
            },
        };
        match found {
            Ok(snapshot) => {
                self.problems.remove("");
                self.problems.remove(name);
                Some((self.changed_at, snapshot))
            }
            Err((key, reason)) => {
                self.report(key, &reason);
                None
            }
        }
    }

    /// Returns the messages since the last call, each problem once.
    pub fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// Reads the file if it changed, and checks its age.
    fn refresh(&mut self, now: Time, wall: SystemTime) -> Result<(), String> {
        let found = checked(fs::metadata(&self.path))?;
        let modified = found.modified().map_err(|error| error.to_string())?;
        let version = Some((modified, found.len()));
        if version != self.version {
            self.version = version;
            self.changed_at = now;
            self.ports = read_bounded(&self.path).and_then(|text| self.parse(&text));
        }
        // The time of day may be wrong here or where the file was written.
        let age = wall.duration_since(modified).unwrap_or_default();
        let unchanged = Duration::from_nanos(now.since(self.changed_at.min(now)).as_ns());
        let max_age = Duration::from_nanos(self.max_age.as_ns());
        if age.max(unchanged) > max_age {
            let max_age = self.max_age;
            return Err(format!("not written for more than {max_age}; does the program that writes it run?"));
        }
        Ok(())
    }

    fn parse(&self, text: &str) -> Result<Ports, String> {
        let mut ports = match self.format {
            CounterFileFormat::NodeExporter => prometheus_text::parse(text, &self.names),
            CounterFileFormat::OpenConfig => openconfig::parse(text, &self.names),
        }?;
        for port in ports.values_mut() {
            if port.as_ref().is_ok_and(|snapshot| snapshot.reading(Time::ZERO).is_none()) {
                *port = Err("the file does not count its good and its corrupted frames".to_owned());
            }
        }
        Ok(ports)
    }

    fn report(&mut self, key: &str, reason: &str) {
        if self.problems.get(key).is_none_or(|known| known != reason) {
            self.problems.insert(key.to_owned(), reason.to_owned());
            self.messages.push(format!("{}: {reason}", self.path.display()));
        }
    }
}

/// Returns what is known of a regular file.
fn checked(metadata: io::Result<Metadata>) -> Result<Metadata, String> {
    let found = metadata.map_err(|error| error.to_string())?;
    if found.is_file() { Ok(found) } else { Err("not a regular file".to_owned()) }
}

fn read_bounded(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = open(path).map_err(|error| error.to_string())?;
    // Another file may have taken its place since it was looked at.
    checked(file.metadata())?;
    file.take(CounterFile::BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > CounterFile::BYTES_MAX {
        return Err(format!("longer than {} MiB", CounterFile::BYTES_MAX >> 20));
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 text at byte {}", error.utf8_error().valid_up_to()))
}

/// Opens a file. Opening a FIFO does not wait for its writer.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.read(true).open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::*;

    /// A FIFO that takes the place of a file is refused, whether somebody writes it or not.
    #[test]
    fn a_fifo_is_neither_awaited_nor_read() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("counters");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        // Without it, a reader that waits for a writer would wait for ever.
        let writer = {
            let fifo = fifo.clone();
            std::thread::spawn(move || fs::write(fifo, "node_network_up 1\n"))
        };
        assert_eq!(read_bounded(&fifo).unwrap_err(), "not a regular file");
        drop(File::options().read(true).write(true).open(&fifo).unwrap());
        drop(writer);
        assert_eq!(read_bounded(&fifo).unwrap_err(), "not a regular file");
    }
}
