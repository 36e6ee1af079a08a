//! The files that a scenario names: where they are, and copies of them beside the results.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wiremend_measure::InputFile;
use wiremend_report::AtomicFile;
use wiremend_units::Sha256;

/// Files that runs have read, by their names in the scenario.
#[derive(Default)]
pub(crate) struct FilesRead(Mutex<BTreeMap<String, PathBuf>>);

impl FilesRead {
    pub(crate) fn note(&self, name: &str, path: &Path) {
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.entry(name.to_owned()).or_insert_with(|| path.to_owned());
    }

    /// Returns names and hashes of the files; copies them into `folder` if there is one. What is not a regular
    /// file, such as a pipe, can be read only once, so it has neither.
    pub(crate) fn describe(&self, folder: Option<&Path>) -> io::Result<Vec<InputFile>> {
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let describe = |(number, (name, path)): (usize, (&String, &PathBuf))| {
            let mut file = InputFile { name: name.clone(), ..InputFile::default() };
            if !path.is_file() {
                return Ok(file);
            }
            let Some(folder) = folder else {
                file.sha256 = sha256(path)?;
                return Ok(file);
            };
            let own = path.file_name().unwrap_or_default().to_string_lossy();
            file.copy = format!("{COPIES}/{number}-{own}");
            std::fs::create_dir_all(folder.join(COPIES))?;
            let mut copy = AtomicFile::create(&folder.join(&file.copy))?;
            file.sha256 = read_hashed(path, |bytes| copy.write_all(bytes))?;
            copy.finish()?;
            Ok(file)
        };
        read.iter().enumerate().map(describe).collect()
    }
}

/// Directory of copies below the output directory.
pub(crate) const COPIES: &str = "inputs";

/// Returns the SHA-256 hash of a file.
pub fn sha256(path: &Path) -> io::Result<String> {
    read_hashed(path, |_| Ok(()))
}

fn read_hashed(path: &Path, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<String> {
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()));
    let mut file = File::open(path).map_err(named)?;
    let (mut hash, mut buffer) = (Sha256::default(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer).map_err(named)? {
            0 => return Ok(hash.finish()),
            count => {
                hash.add(&buffer[..count]);
                each(&buffer[..count])?;
            }
        }
    }
}
