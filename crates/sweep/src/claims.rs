//! Which worker runs which batch.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Claims of one plan: `BATCH.EPOCH`, a symbolic link to the name of a worker. It is created whole or not at all, also
/// on a full disk. The highest epoch counts; who takes over a batch creates the next, and one of several succeeds.
pub(crate) struct Claims {
    directory: PathBuf,
    held: BTreeMap<usize, Claim>,
}

/// The claim of a batch that counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Claim {
    pub(crate) epoch: u32,
    pub(crate) worker: String,
}

impl Claims {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory, held: BTreeMap::new() }
    }

    /// Reads the claims of all workers.
    pub(crate) fn refresh(&mut self) -> io::Result<()> {
        let entries = match fs::read_dir(&self.directory) {
            // The plan was published a moment ago.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return fs::create_dir_all(&self.directory);
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some((batch, epoch)) = name.to_str().and_then(parse) else { continue };
            if self.held.get(&batch).is_none_or(|claim| claim.epoch < epoch) {
                let worker = fs::read_link(entry.path())?.to_string_lossy().into_owned();
                self.held.insert(batch, Claim { epoch, worker });
            }
        }
        Ok(())
    }

    /// The claim of a batch when it was last read.
    pub(crate) fn holder(&self, batch: usize) -> Option<&Claim> {
        self.held.get(&batch)
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// Claims a batch; returns whether nobody else did.
pub(crate) fn claim(directory: &Path, batch: usize, epoch: u32, worker: &str) -> io::Result<bool> {
    let path = directory.join(format!("{batch}.{epoch}"));
    match std::os::unix::fs::symlink(worker, &path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => {
            Err(io::Error::new(error.kind(), format!("cannot create `{}`: {error}", path.display())))
        }
    }
}

fn parse(name: &str) -> Option<(usize, u32)> {
    let (batch, epoch) = name.split_once('.')?;
    Some((batch.parse().ok()?, epoch.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_gets_a_batch() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1");
        let mut claims = Claims::new(path.clone());
        claims.refresh().unwrap();
        assert_eq!(claims.holder(7), None);
        assert!(claim(&path, 7, 1, "a").unwrap() && !claim(&path, 7, 1, "b").unwrap());
        assert!(claim(&path, 7, 2, "b").unwrap() && !claim(&path, 7, 2, "c").unwrap());
        claims.refresh().unwrap();
        assert_eq!(claims.holder(7), Some(&Claim { epoch: 2, worker: "b".to_owned() }));
    }
}
