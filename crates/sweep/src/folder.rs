//! The folder that workers share.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::Error;
use crate::plan::Plan;
use crate::stored_plan::StoredPlan;

/// A folder of one study.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// A plan with its number in the folder.
#[derive(Clone, Debug)]
pub(crate) struct NumberedPlan {
    pub(crate) number: u32,
    pub(crate) plan: StoredPlan,
}

const PLANS: &str = "plans";
/// Directories of a folder.
const PARTS: [&str; 4] = [PLANS, "claims", "workers", "results"];
/// Number of the next temporary file of this process.
static TEMPORARY_NUMBER: AtomicU32 = AtomicU32::new(0);
/// Most times that another process may publish a plan first.
const PUBLISH_TRIES: u32 = 100;

impl Folder {
    /// Opens a folder that has a plan.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let folder = Self { path: path.to_owned() };
        match folder.last_number()? {
            Some(_) => Ok(folder),
            None if path.is_dir() => {
                Err(Error::Input(format!("`{}` is not the folder of a sweep", path.display())))
            }
            None => Err(Error::Input(format!("`{}` does not exist", path.display()))),
        }
    }

    /// Opens or creates the folder of a study. A folder with other files or of another study is refused.
    pub fn of_study(path: &Path, plan: &Plan) -> Result<Self, Error> {
        let folder = Self { path: path.to_owned() };
        if let Some(last) = folder.last()? {
            let (here, study) = (&last.plan.name, &plan.study().name);
            if here != study {
                return Err(Error::Input(format!(
                    "`{}` holds the sweep \"{here}\" and this study is \"{study}\"; choose another directory",
                    path.display()
                )));
            }
            return Ok(folder);
        }
        // Another process may be creating the folder at this moment.
        let is_own = |name: &std::ffi::OsStr| PARTS.iter().any(|part| name == *part);
        let is_used = match fs::read_dir(path) {
            Ok(mut entries) => entries.any(|entry| entry.is_ok_and(|entry| !is_own(&entry.file_name()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => true,
            Err(error) => return Err(Error::file("read", path, &error)),
        };
        if is_used {
            let why =
                format!("`{}` holds files that are not of a sweep; choose another directory", path.display());
            return Err(Error::Input(why));
        }
        for part in PARTS {
            let inner = path.join(part);
            fs::create_dir_all(&inner)
                .map_err(|error| Error::file("create the directory", &inner, &error))?;
        }
        Ok(folder)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn results(&self) -> PathBuf {
        self.path.join("results")
    }

    pub(crate) fn workers(&self) -> PathBuf {
        self.path.join("workers")
    }

    pub(crate) fn claims(&self, plan: u32) -> PathBuf {
        self.path.join("claims").join(format!("{plan:06}"))
    }

    /// The plan that counts.
    pub(crate) fn last(&self) -> Result<Option<NumberedPlan>, Error> {
        self.last_number()?.map(|number| self.numbered(number)).transpose()
    }

    /// A plan by number.
    pub(crate) fn numbered(&self, number: u32) -> Result<NumberedPlan, Error> {
        let path = self.plan_path(number);
        let text = fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))?;
        let plan: Option<StoredPlan> = serde_json::from_str(&text).ok();
        let plan = plan.filter(|plan| plan.kind == StoredPlan::KIND).ok_or_else(|| {
            let shown = path.display();
            Error::Input(format!("`{shown}` is not a plan of this version; choose another directory"))
        })?;
        Ok(NumberedPlan { number, plan })
    }

    fn last_number(&self) -> Result<Option<u32>, Error> {
        let plans = self.path.join(PLANS);
        let entries = match fs::read_dir(&plans) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(Error::file("read", &plans, &error)),
        };
        let number = |entry: io::Result<fs::DirEntry>| {
            entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.parse::<u32>().ok()
        };
        Ok(entries.filter_map(number).max())
    }

    fn plan_path(&self, number: u32) -> PathBuf {
        self.path.join(PLANS).join(format!("{number:06}.json"))
    }

    /// Makes a plan the one that counts, unless `is_settled` accepts the present one. A plan appears whole, and of two
    /// processes that publish at once, one sees the plan of the other.
    pub(crate) fn publish(
        &self,
        plan: &StoredPlan,
        mut is_settled: impl FnMut(&NumberedPlan) -> Result<bool, Error>,
    ) -> Result<NumberedPlan, Error> {
        let text = serde_json::to_string(plan).expect("a plan is plain values");
        for _ in 0..PUBLISH_TRIES {
            let last = self.last()?;
            if let Some(last) = &last
                && is_settled(last)?
            {
                return Ok(last.clone());
            }
            let number = last.map_or(1, |last| last.number + 1);
            let path = self.plan_path(number);
            match create_whole(&path, text.as_bytes()) {
                Ok(()) => {
                    let claims = self.claims(number);
                    let made = fs::create_dir_all(&claims);
                    made.map_err(|error| Error::file("create the directory", &claims, &error))?;
                    return Ok(NumberedPlan { number, plan: plan.clone() });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::file("write", &path, &error)),
            }
        }
        Err(Error::Environment(format!(
            "other processes keep changing the plan in `{}`",
            self.path.display()
        )))
    }
}

/// Creates a file with its whole content, or fails if it exists. A link is atomic on shared file systems too, where
/// `O_EXCL` would show a file without its content.
pub(crate) fn create_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let number = TEMPORARY_NUMBER.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{host}-{}-{number}.partial", std::process::id()));
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let linked = written.and_then(|()| fs::hard_link(&temporary, path));
    // If it cannot be removed, it is not a plan by its name.
    let _ = fs::remove_file(&temporary);
    linked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_created_once_and_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("000001.json");
        create_whole(&path, b"first").unwrap();
        assert_eq!(create_whole(&path, b"second").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
