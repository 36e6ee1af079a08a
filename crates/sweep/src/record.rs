//! Results of cells: lines that are only ever appended.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wiremend_runner::SingleRun;

/// The result of a cell.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Name of the cell.
    pub cell: String,
    /// Attempt in which it ran.
    pub attempt: u32,
    /// CPU time in seconds.
    pub took_s: f64,
    /// What came out.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a cell ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran to its end.
    Done {
        /// Flows that ended.
        flows: u64,
        /// Flows that finished.
        finished: u64,
        /// Digest of its rows and counters.
        digest: String,
        /// Its headline numbers.
        values: BTreeMap<String, f64>,
    },
    /// It failed for this reason.
    Failed(String),
}

/// A cell that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedCell {
    /// Number of the cell in the plan.
    pub cell: usize,
    /// Why.
    pub message: String,
}

impl Outcome {
    pub(crate) fn done(run: &SingleRun) -> Self {
        let values = run.result.values.iter().map(|(headline, value)| (headline.key().to_owned(), *value));
        Self::Done {
            flows: run.summary.flows,
            finished: run.summary.finished,
            digest: run.summary.digest.clone(),
            values: values.collect(),
        }
    }
}

/// Results of all workers, by the name of the cell.
#[derive(Default)]
pub struct Results {
    records: BTreeMap<String, Record>,
    /// By file: bytes of whole lines that were read.
    read: BTreeMap<PathBuf, u64>,
}

impl Results {
    /// Reads what was added to the directory since the last call. A directory that does not exist has no results.
    pub(crate) fn refresh(&mut self, directory: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                self.read_file(path)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, path: PathBuf) -> io::Result<()> {
        let from = self.read.get(&path).copied().unwrap_or(0);
        let mut file = File::open(&path)?;
        if file.metadata()?.len() <= from {
            return Ok(());
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut bytes)?;
        // A line without its end is still being written, or was never finished.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for line in bytes[..whole].split(|byte| *byte == b'\n') {
            if let Some(record) = parse(line) {
                self.add(record);
            }
        }
        self.read.insert(path, from + whole as u64);
        Ok(())
    }

    /// Adds a record. A result counts more than a failure, and a later failure more than an earlier one.
    pub(crate) fn add(&mut self, record: Record) {
        let is_better =
            self.records.get(&record.cell).is_none_or(|known| match (&known.outcome, &record.outcome) {
                (Outcome::Done { .. }, _) => false,
                (Outcome::Failed(_), Outcome::Done { .. }) => true,
                (Outcome::Failed(_), Outcome::Failed(_)) => known.attempt <= record.attempt,
            });
        if is_better {
            self.records.insert(record.cell.clone(), record);
        }
    }

    /// The result of a cell.
    pub fn get(&self, cell: &str) -> Option<&Record> {
        self.records.get(cell)
    }

    /// Whether a cell need not be run in this attempt.
    pub fn is_settled(&self, cell: &str, attempt: u32) -> bool {
        self.get(cell).is_some_and(|record| match record.outcome {
            Outcome::Done { .. } => true,
            Outcome::Failed(_) => record.attempt >= attempt,
        })
    }
}

/// Extension of files with results.
const EXTENSION: &str = "jsonl";
/// How often results are written through to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(10);

/// The file of one worker. It is created with the first result.
pub(crate) struct ResultWriter {
    path: PathBuf,
    open: Option<OpenFile>,
}

struct OpenFile {
    file: File,
    /// Bytes of whole lines.
    whole: u64,
    synced: Instant,
}

impl ResultWriter {
    pub(crate) fn new(directory: &Path, worker: &str) -> Self {
        Self { path: directory.join(format!("{worker}.{EXTENSION}")), open: None }
    }

    /// Appends a record in one write. After an error, the file ends with the last whole line.
    pub(crate) fn append(&mut self, record: &Record) -> io::Result<()> {
        let written = self.try_append(record);
        written.map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write `{}`: {error}", self.path.display()))
        })
    }

    fn try_append(&mut self, record: &Record) -> io::Result<()> {
        if self.open.is_none() {
            let file = OpenOptions::new().append(true).create_new(true).open(&self.path)?;
            self.open = Some(OpenFile { file, whole: 0, synced: Instant::now() });
        }
        let open = self.open.as_mut().expect("opened above");
        let line = render(record);
        if let Err(error) = open.file.write_all(line.as_bytes()) {
            // If this fails too, the checksum of the incomplete line is wrong.
            let _ = open.file.set_len(open.whole);
            return Err(error);
        }
        open.whole += line.len() as u64;
        if open.synced.elapsed() >= SYNC_EVERY {
            open.file.sync_data()?;
            open.synced = Instant::now();
        }
        Ok(())
    }

    /// Writes everything through to the disk, where a full disk of a network may show first.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.file.sync_all().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write `{}`: {error}", self.path.display()))
        })
    }
}

/// A line: the checksum of the rest, a space, JSON.
fn render(record: &Record) -> String {
    let json = serde_json::to_string(record).expect("a record is plain values");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

fn parse(line: &[u8]) -> Option<Record> {
    let (checksum, json) = (line.get(..8)?, line.get(9..)?);
    let checksum = u32::from_str_radix(std::str::from_utf8(checksum).ok()?, 16).ok()?;
    if checksum != crc32fast::hash(json) {
        return None;
    }
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cell: &str, attempt: u32, failure: Option<&str>) -> Record {
        let values = BTreeMap::from([("fct_p50_ns".to_owned(), 0.1 + 0.2)]);
        let done = Outcome::Done { flows: 3, finished: 2, digest: "ab".to_owned(), values };
        let outcome = failure.map_or(done, |why| Outcome::Failed(why.to_owned()));
        Record { cell: cell.to_owned(), attempt, took_s: 1.5, outcome }
    }

    #[test]
    fn records_are_read_back_exactly_as_they_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = ResultWriter::new(directory.path(), "w");
        let mut results = Results::default();
        results.refresh(&directory.path().join("none")).unwrap();
        for (number, name) in ["a", "b"].into_iter().enumerate() {
            writer.append(&record(name, 1, None)).unwrap();
            results.refresh(directory.path()).unwrap();
            assert_eq!(results.records.len(), number + 1);
        }
        writer.sync().unwrap();
        assert_eq!(results.get("b"), Some(&record("b", 1, None)));
    }

    /// Whatever a killed process or a full disk leaves at the end of a file, whole lines count and nothing else does.
    #[test]
    fn a_line_that_is_cut_or_damaged_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("w.jsonl");
        let (first, second) = (render(&record("a", 1, None)), render(&record("b", 1, None)));
        for kept in 0..second.len() {
            fs::write(&path, format!("{first}{}", &second[..kept])).unwrap();
            let mut results = Results::default();
            results.refresh(directory.path()).unwrap();
            assert!(results.is_settled("a", 1) && !results.is_settled("b", 1), "{kept}");
            let mut torn = format!("{first}{}", &second[..kept]).into_bytes();
            torn.extend(vec![0; second.len() - kept]);
            torn.push(b'\n');
            fs::write(&path, torn).unwrap();
            let mut results = Results::default();
            results.refresh(directory.path()).unwrap();
            assert!(results.is_settled("a", 1) && !results.is_settled("b", 1), "{kept}");
        }
    }

    #[test]
    fn a_failure_counts_in_its_attempt_and_never_against_a_result() {
        let mut results = Results::default();
        results.add(record("a", 1, Some("no memory")));
        assert!(results.is_settled("a", 1) && !results.is_settled("a", 2));
        results.add(record("a", 2, None));
        results.add(record("a", 3, Some("later")));
        assert_eq!(results.get("a"), Some(&record("a", 2, None)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.path().join("full")).unwrap();
        let file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let mut writer = ResultWriter::new(directory.path(), "w");
        writer.open = Some(OpenFile { file, whole: 0, synced: Instant::now() });
        let error = writer.append(&record("a", 1, None)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("w.jsonl"), "{error}");
    }
}
