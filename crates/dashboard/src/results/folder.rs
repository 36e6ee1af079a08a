//! Finds runs and sweeps in a folder and keeps what it has read of them.

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use wiremend_measure::{Headline, Summary};
use wiremend_report::{DocumentPart, StoredFlow, Traffic, read_json, slowest_flows, stored_series};
use wiremend_runner::Runner;
use wiremend_sweep::{Sweep, sweep_parts};

/// A folder with runs and sweeps at any depth.
pub(crate) struct ResultsFolder {
    root: PathBuf,
    /// What was read of a file, with its state then.
    read: BTreeMap<String, (Stamp, Rc<dyn Any>)>,
}

/// Files by which a change is noticed.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// What a folder holds, by path below it.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) runs: BTreeMap<String, Rc<Summary>>,
    pub(crate) sweeps: BTreeMap<String, PathBuf>,
    /// What cannot be shown, and why.
    pub(crate) refused: BTreeMap<String, String>,
}

/// Slowest flows of a run, by variant.
pub(crate) type SlowFlows = BTreeMap<String, Vec<StoredFlow>>;

/// Directories that are looked at, and how deep.
const DIRECTORIES_MAX: usize = 5_000;
const DEPTH_MAX: usize = 6;
/// Runs and sweeps on the page.
const RESULTS_MAX: usize = 400;
/// Length of a `summary.json`. That of 12 variants with 100 seeds each has 1 MB.
const SUMMARY_BYTES_MAX: u64 = 64 << 20;
/// Variants of a run whose series are kept.
const SERIES_VARIANTS_MAX: usize = 64;
/// Slowest flows that are listed of a variant.
const SLOW_MAX: usize = 5;

impl ResultsFolder {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, read: BTreeMap::new() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of a run or sweep by its name on the page.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        if name == HERE { self.root.clone() } else { self.root.join(name) }
    }

    /// Looks for runs and sweeps.
    pub(crate) fn contents(&mut self) -> Contents {
        let mut contents = Contents::default();
        let mut open = vec![(self.root.clone(), 0)];
        let mut looked_at = 0;
        while let Some((path, depth)) = open.pop() {
            looked_at += 1;
            let count = contents.runs.len() + contents.sweeps.len() + contents.refused.len();
            if looked_at > DIRECTORIES_MAX || count >= RESULTS_MAX {
                let why = format!(
                    "more than {RESULTS_MAX} results or {DIRECTORIES_MAX} directories; serve a folder below it to see the others"
                );
                contents.refused.insert(HERE.to_owned(), why);
                break;
            }
            self.look_into(&path, &mut contents);
            let is_sweep = path.join("plans").is_dir();
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            // Links are not followed: they may lead out of the folder, or round in it.
            let inner = entries.filter(|entry| {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = entry.file_name();
                let is_own = is_sweep && SWEEP_PARTS.iter().any(|part| name == *part);
                is_directory && !is_own && !name.to_string_lossy().starts_with('.')
            });
            if depth < DEPTH_MAX {
                open.extend(inner.map(|entry| (entry.path(), depth + 1)));
            }
        }
        contents
    }

    fn look_into(&mut self, path: &Path, contents: &mut Contents) {
        let name = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned();
        let name = if name.is_empty() { HERE.to_owned() } else { name };
        let summary = path.join("summary.json");
        if path.join("plans").is_dir() {
            contents.sweeps.insert(name, path.to_owned());
        } else if summary.exists() {
            let files = std::slice::from_ref(&summary);
            match self.cached(&format!("run {name}"), files, || read_summary(&summary)) {
                Ok(summary) => drop(contents.runs.insert(name, summary)),
                Err(why) => drop(contents.refused.insert(name, why)),
            }
        } else if ["flows.parquet", "report.html"].iter().any(|file| path.join(file).exists()) {
            let why = "files of a run without its summary.json: it was stopped, or files were removed";
            contents.refused.insert(name, why.to_owned());
        }
    }

    /// The slowest flows of a run.
    pub(crate) fn slow_flows(&mut self, name: &str) -> Result<Rc<SlowFlows>, String> {
        let path = self.path(name);
        let files = [path.join("flows.parquet")];
        self.cached(&format!("flows {name}"), &files, || slowest_flows(&path, SLOW_MAX))
    }

    /// The series of the first seed of each variant of a run; without points if it has none.
    pub(crate) fn series(
        &mut self,
        name: &str,
        summary: &Summary,
    ) -> Result<Rc<BTreeMap<String, Traffic>>, String> {
        let path = self.path(name);
        let files = ["series.parquet", "flow_series.parquet"].map(|file| path.join(file));
        let wanted = summary.origin.variants.iter().map(|made| (made.variant.clone(), made.seed));
        let wanted: Vec<_> = wanted.take(SERIES_VARIANTS_MAX).collect();
        self.cached(&format!("series {name}"), &files, || stored_series(&path, &wanted))
    }

    /// Drawings and table of a sweep.
    pub(crate) fn sweep(
        &mut self,
        path: &Path,
        wanted: &[Headline],
    ) -> Result<Rc<Vec<DocumentPart>>, String> {
        let stored = |part| fs::read_dir(path.join(part)).into_iter().flatten().filter_map(Result::ok);
        let files: Vec<PathBuf> =
            ["plans", "results"].into_iter().flat_map(stored).map(|file| file.path()).collect();
        let wanted_keys: Vec<&str> = wanted.iter().map(|headline| headline.key()).collect();
        let key = format!("sweep {} {}", path.display(), wanted_keys.join(" "));
        self.cached(&key, &files, || {
            let sweep = Sweep::open_to_read(path, &Runner::new()).map_err(|error| error.to_string())?;
            sweep_parts(&sweep, wanted).map_err(|error| error.to_string())
        })
    }

    /// Returns what was read before of these files, or reads it. Malformed files can make a decoder panic, and a pipe
    /// would block.
    fn cached<T: Any>(
        &mut self,
        key: &str,
        files: &[PathBuf],
        read: impl FnOnce() -> Result<T, String>,
    ) -> Result<Rc<T>, String> {
        let state = |file: &PathBuf| {
            let metadata = fs::metadata(file).ok();
            let changed = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
            (file.clone(), changed, metadata.map_or(0, |metadata| metadata.len()))
        };
        let stamp: Stamp = files.iter().map(state).collect();
        let is_special = |file: &&PathBuf| fs::metadata(file).is_ok_and(|metadata| !metadata.is_file());
        if let Some(special) = files.iter().find(is_special) {
            let name = special.file_name().unwrap_or_default().to_string_lossy();
            return Err(format!("{name}: not a file"));
        }
        if let Some((known, value)) = self.read.get(key)
            && *known == stamp
        {
            return Rc::clone(value).downcast().map_err(|_| "another kind of file".to_owned());
        }
        if self.read.len() >= CACHED_MAX {
            self.read.clear();
        }
        let value = catch_unwind(AssertUnwindSafe(read));
        let value = value.unwrap_or_else(|_| Err("it is malformed".to_owned())).map(Rc::new);
        if let Ok(value) = &value {
            self.read.insert(key.to_owned(), (stamp, Rc::clone(value) as Rc<dyn Any>));
        }
        value
    }
}

/// Name of the folder itself.
pub(crate) const HERE: &str = ".";
/// Directories of a sweep.
const SWEEP_PARTS: [&str; 4] = ["plans", "claims", "workers", "results"];
/// Read results that are kept.
const CACHED_MAX: usize = 2_000;

fn read_summary(path: &Path) -> Result<Summary, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    let read = file.take(SUMMARY_BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| format!("summary.json: {error}"))?;
    if text.len() as u64 > SUMMARY_BYTES_MAX {
        return Err(format!("summary.json: more than {} MiB", SUMMARY_BYTES_MAX >> 20));
    }
    let summary: Summary = read_json(&text).map_err(|why| format!("summary.json: {why}"))?;
    if summary.variants.is_empty() {
        return Err("summary.json: it has no variants".to_owned());
    }
    Ok(summary)
}
