//! Files that are there whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that takes its name only when it is [finished](Self::finish). Until then it is a hidden file beside it, which
/// goes if this value is dropped, for instance because of an error.
///
/// What exists already and is no regular file (`/dev/stdout`, a pipe) is written to directly: it must not be replaced.
///
/// Every error names the path.
#[derive(Debug)]
pub struct NewFile {
    path: PathBuf,
    temporary: Option<PathBuf>,
    file: File,
    failure: Option<io::Error>,
}

impl NewFile {
    /// Starts a file at `path`, whose directory must exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        // A link is followed, so that its target is replaced and not the link.
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

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that all is on disk and gives the file its name.
    pub fn finish(mut self) -> io::Result<()> {
        self.complete()
    }

    /// [`Self::finish`] for those who cannot give the file away.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let Some(temporary) = &self.temporary else { return Ok(()) };
        // A full disk may show only now.
        let renamed = self.file.sync_all().and_then(|()| fs::rename(temporary, &self.path));
        renamed.map_err(|error| named(&self.path, &error))?;
        self.temporary = None;
        Ok(())
    }

    /// The first error of a write, for those who got it through a layer that does not pass errors on as they are.
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

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.note(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.note(&error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing better can be done about a file that does not even let itself be removed.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes `text` to `path`, whole or not at all.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut file = NewFile::create(path)?;
    file.write_all(text.as_bytes())?;
    file.finish()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    path.with_file_name(name)
}

/// The error with the path in front and the kind kept.
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
    fn a_file_appears_only_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        fs::write(&path, "old").unwrap();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(directory.path()), ["a.txt"]);
    }

    #[test]
    fn an_abandoned_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = NewFile::create(&directory.path().join("a.txt")).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn errors_name_the_path() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no/such/a.txt");
        let error = NewFile::create(&missing).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("no/such/a.txt"), "{error}");
        let error = write_whole(directory.path(), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_device_is_an_error_and_is_not_replaced() {
        let error = write_whole(Path::new("/dev/full"), "text").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().starts_with("cannot write `/dev/full`: "), "{error}");
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_whole(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }
}
