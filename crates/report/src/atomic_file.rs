//! Files that appear complete or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that gets its name only in [`finish`](Self::finish). Until then the data are in a hidden file in
/// the same directory, which is removed if this value is dropped.
///
/// An existing path that is not a regular file (`/dev/stdout`, a pipe) is written directly.
///
/// Every error names the path.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    temporary: Option<PathBuf>,
    file: File,
    failure: Option<io::Error>,
}

impl AtomicFile {
    /// Starts a file at `path`. Its directory must exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        // A symbolic link is resolved, so that its target is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let existing = fs::metadata(&path).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(named(&path, &io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let temporary = existing.is_none_or(|found| found.is_file()).then(|| beside(&path));
        let opened = match &temporary {
            Some(temporary) => File::create(temporary),
            None => File::options().write(true).open(&path),
        };
        match opened {
            Ok(file) => Ok(Self { path, temporary, file, failure: None }),
            Err(error) => Err(named(&path, &error)),
        }
    }

    /// Final path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all data to disk and gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.complete()
    }

    /// [`Self::finish`] for callers that do not own the file.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Some(temporary) = &self.temporary else { return Ok(()) };
        // A full disk may show only in this call.
        let renamed = self.file.sync_all().and_then(|()| fs::rename(temporary, &self.path));
        renamed.map_err(|error| named(&self.path, &error))?;
        self.temporary = None;
        Ok(())
    }

    /// Returns the first write error, for callers whose writer layer hides it.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    fn note(&mut self, error: &io::Error) -> io::Error {
        let error = named(&self.path, error);
        if error.kind() != io::ErrorKind::Interrupted {
            self.failure.get_or_insert_with(|| io::Error::new(error.kind(), error.to_string()));
        }
        error
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.note(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.note(&error))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // If the file cannot be removed, nothing can be done.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes `text` to `path` atomically: the file is complete or absent.
pub fn write_atomic(path: &Path, text: &str) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}

/// Adds the path to an error and keeps its kind.
pub(crate) fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_only_when_it_is_finished() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(directory.path()), ["a.txt"]);
    }

    #[test]
    fn a_dropped_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(&directory.path().join("a.txt")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn errors_name_the_path() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no/such/a.txt");
        let error = AtomicFile::create(&missing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("no/such/a.txt"), "{error}");
        let error = write_atomic(directory.path(), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error_and_is_not_replaced() {
        let error = write_atomic(Path::new("/dev/full"), "text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("cannot write `/dev/full`: "), "{error}");
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_atomic(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }
}
