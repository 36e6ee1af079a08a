//! Repeats a run from the files of its output directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use wiremend_report::{RunRecord, read_json};
use wiremend_units::Sha256;

use crate::error::Error;
use crate::input::Input;
use crate::input_files;
use crate::output_dir::SUMMARY;
use crate::pool::Runner;
use crate::request::Request;

/// A run that an output directory describes.
pub struct RecordedRun {
    folder: PathBuf,
    record: RunRecord,
}

/// A variant that was run again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Repeated {
    /// Name of the variant.
    pub variant: String,
    /// The digest in the output directory.
    pub recorded: String,
    /// The digest of the repetition.
    pub digest: String,
}

impl Repeated {
    /// Whether the repetition has the same results.
    pub fn is_equal(&self) -> bool {
        self.recorded == self.digest
    }
}

impl RecordedRun {
    /// Reads the description of a run from its output directory.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(SUMMARY);
        let text = fs::read_to_string(&path)
            .map_err(|source| Error::Unreadable { name: path.display().to_string(), source })?;
        let record: RunRecord =
            read_json(&text).map_err(|why| Error::NotARun(format!("{}: {why}", path.display())))?;
        Ok(Self { folder: folder.to_owned(), record })
    }

    /// What the directory says about the run.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Returns the scenario that a variant ran, and its first seed.
    pub fn input(&self, runner: &Runner<'_>, variant: &str) -> Result<(Input, u64), Error> {
        let made = self.record.origin.variants.iter().find(|made| made.variant == variant);
        let made = made.ok_or_else(|| self.not_a_run(&format!("there is no variant \"{variant}\"")))?;
        if Sha256::of(made.scenario.as_bytes()) != made.sha256 {
            let why = format!("the scenario of \"{}\" was changed after the run", made.variant);
            return Err(self.not_a_run(&why));
        }
        let input = runner.load_text(&made.variant, &made.scenario, &[])?;
        Ok((input.with_copies(self.copies()?), made.seed))
    }

    /// Runs every variant again with its seeds and compares the digests.
    pub fn repeat(&self, runner: &Runner<'_>) -> Result<Vec<Repeated>, Error> {
        // Errors of all variants are found before the first run.
        let inputs = self.record.origin.variants.iter().map(|made| {
            let recorded = self
                .record
                .digest(&made.variant)
                .ok_or_else(|| self.not_a_run(&format!("variant \"{}\" has no digest", made.variant)))?;
            let (input, _) = self.input(runner, &made.variant)?;
            Ok((made, input, recorded))
        });
        let mut repeated = Vec::new();
        for (made, input, recorded) in inputs.collect::<Result<Vec<_>, Error>>()? {
            let batch = runner.run(&Request::new(&input).seed(made.seed).seeds(self.record.seeds))?;
            let digest = batch.summary.variants[0].digest.clone();
            repeated.push(Repeated { variant: made.variant.clone(), recorded: recorded.to_owned(), digest });
        }
        Ok(repeated)
    }

    /// Returns the copies of the files that the scenario names.
    fn copies(&self) -> Result<BTreeMap<String, PathBuf>, Error> {
        let mut copies = BTreeMap::new();
        for file in &self.record.origin.files {
            if file.copy.is_empty() {
                let why = format!("`{}` was not a regular file, so the run has no copy of it", file.name);
                return Err(self.not_a_run(&why));
            }
            let path = self.folder.join(&file.copy);
            let hash = input_files::sha256(&path)
                .map_err(|source| Error::Unreadable { name: path.display().to_string(), source })?;
            if hash != file.sha256 {
                return Err(self.not_a_run(&format!("`{}` was changed after the run", file.copy)));
            }
            copies.insert(file.name.clone(), path);
        }
        Ok(copies)
    }

    fn not_a_run(&self, why: &str) -> Error {
        Error::NotARun(format!("{}: {why}", self.folder.join(SUMMARY).display()))
    }
}
