//! Outcomes on disk, so that an interrupted measurement continues.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wiremend_report::write_atomic;

use super::Outcome;
use crate::error::Error;

/// A directory with one file for each outcome. Files are written atomically.
pub struct Store {
    directory: PathBuf,
    /// Version and hash of the executable: outcomes of another build are not used.
    program: String,
}

/// Content of a file: the outcome, and everything it depends on.
#[derive(Serialize, Deserialize)]
struct StoredOutcome {
    program: String,
    command: String,
    scenario: String,
    outcome: Outcome,
}

impl Store {
    /// Opens or creates the directory, for this version of the program.
    pub fn open(directory: &Path, version: &str) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(|error| {
            let what = format!("cannot create the directory `{}`: {error}", directory.display());
            Error::File(io::Error::new(error.kind(), what))
        })?;
        Ok(Self { directory: directory.to_owned(), program: program(version) })
    }

    /// Returns the outcome of a run if this program has stored it. Unreadable files are ignored.
    pub(crate) fn get(&self, command: &str, scenario: &str) -> Option<Outcome> {
        let text = fs::read_to_string(self.path(command, scenario)).ok()?;
        let stored: StoredOutcome = serde_json::from_str(&text).ok()?;
        let is_same =
            stored.program == self.program && stored.command == command && stored.scenario == scenario;
        is_same.then_some(stored.outcome)
    }

    /// Stores an outcome.
    pub(crate) fn put(&self, command: &str, scenario: &str, outcome: &Outcome) -> io::Result<()> {
        let stored = StoredOutcome {
            program: self.program.clone(),
            command: command.to_owned(),
            scenario: scenario.to_owned(),
            outcome: outcome.clone(),
        };
        let text = serde_json::to_string(&stored).expect("an outcome is plain values");
        write_atomic(&self.path(command, scenario), &text)
    }

    fn path(&self, command: &str, scenario: &str) -> PathBuf {
        let name = hash(&[self.program.as_bytes(), command.as_bytes(), scenario.as_bytes()]);
        self.directory.join(format!("{name:016x}.json"))
    }
}

fn program(version: &str) -> String {
    let bytes = std::env::current_exe().and_then(fs::read).unwrap_or_default();
    format!("{version} {:016x}", hash(&[&bytes]))
}

fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write_usize(part.len());
        hasher.write(part);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use wiremend_measure::{Collector, Counters};

    use super::*;

    #[test]
    fn an_outcome_is_returned_only_for_the_same_run() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("runs"), "1.0").unwrap();
        let summary = serde_json::to_value(Collector::new().summary("base", &Counters::default())).unwrap();
        let outcome = serde_json::json!({ "summary": summary, "lanes": {}, "took_s": 0.1 });
        let outcome: Outcome = serde_json::from_value(outcome).unwrap();
        assert_eq!(store.get("wiremend run x", "text"), None);
        store.put("wiremend run x", "text", &outcome).unwrap();
        assert_eq!(store.get("wiremend run x", "text").as_ref(), Some(&outcome));
        assert_eq!(store.get("wiremend run x --seed 2", "text"), None);
        assert_eq!(store.get("wiremend run x", "another text"), None);
        let other = Store { directory: store.directory.clone(), program: "0.0.0".to_owned() };
        assert_eq!(other.get("wiremend run x", "text"), None);
        fs::write(store.path("wiremend run x", "text"), "{\"program\":").unwrap();
        assert_eq!(store.get("wiremend run x", "text"), None);
    }
}
