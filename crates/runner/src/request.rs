//! What to run of a scenario, and which files to write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wiremend_measure::{EffectiveScenario, Origin};
use wiremend_report::{Contents, shell_quoted};
use wiremend_scenario::Variant;
use wiremend_sim::SimulationPlan;
use wiremend_units::{LinkId, nearest_name};

use crate::contents::contents;
use crate::error::Error;
use crate::input::Input;
use crate::machine;
use crate::pool::Runner;

/// The variants, seeds and output files of a run.
pub struct Request<'a> {
    pub(crate) input: &'a Input,
    pub(crate) variants: Vec<&'a Variant>,
    /// Names of selected variants.
    names: Vec<String>,
    seed: Option<u64>,
    pub(crate) seeds: u64,
    captures: Vec<(String, PathBuf)>,
    pub(crate) capture_causes: bool,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) csv: bool,
}

/// One run of a request.
pub(crate) struct Run<'a> {
    pub(crate) variant: &'a Variant,
    /// Index of the variant in the request.
    pub(crate) number: usize,
    pub(crate) seed: u64,
    /// Links to capture, and their files.
    pub(crate) captures: Vec<(LinkId, PathBuf)>,
}

impl<'a> Request<'a> {
    /// Creates a request for all variants of a scenario with its own seed and without files.
    pub fn new(input: &'a Input) -> Self {
        Self {
            input,
            variants: input.file.variants.iter().collect(),
            names: Vec::new(),
            seed: None,
            seeds: 1,
            captures: Vec::new(),
            capture_causes: false,
            folder: None,
            csv: false,
        }
    }

    /// Selects variants by name, in the order of the file; all if `names` is empty.
    pub fn variants(self, names: &[String]) -> Result<Self, Error> {
        Ok(Self { variants: self.input.variants(names)?, names: names.to_vec(), ..self })
    }

    /// Sets the first seed.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Runs each variant with this number of consecutive seeds.
    pub fn seeds(self, seeds: u64) -> Self {
        Self { seeds, ..self }
    }

    /// Captures the frames of a link, such as `h0-tor`, in a pcapng file. If there are several runs, each
    /// file name contains the variant and the seed.
    pub fn capture(mut self, link: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        self.captures.push((link.into(), path.into()));
        self
    }

    /// Names the cause of each timeout in comments of the captures.
    pub fn capture_causes(self) -> Self {
        Self { capture_causes: true, ..self }
    }

    /// Writes `summary.json`, `report.html`, `flows.parquet`, `links.parquet` and, if the scenario has a `[series]`,
    /// `series.parquet` into a directory: all files or none.
    pub fn out_dir(self, path: impl Into<PathBuf>) -> Self {
        Self { folder: Some(path.into()), ..self }
    }

    /// Also writes the tables as CSV.
    pub fn csv(self) -> Self {
        Self { csv: true, ..self }
    }

    /// What the runs have: the tables have columns for it.
    pub fn contents(&self) -> Contents {
        contents(self.variants.iter().map(|variant| &variant.scenario))
    }

    /// The first seed.
    pub fn first_seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| self.input.file.scenario.seed.get())
    }

    /// The command that repeats the run.
    pub fn command(&self) -> String {
        let mut words = vec!["wiremend run".to_owned(), shell_quoted(&self.input.name)];
        let sets = self.input.overrides.iter();
        words.extend(
            sets.map(|set| format!("--set {}", shell_quoted(&format!("{}={}", set.path, set.value)))),
        );
        words.extend(self.names.iter().map(|name| format!("--variant {}", shell_quoted(name))));
        words.push(format!("--seed {}", self.first_seed()));
        if self.seeds > 1 {
            words.push(format!("--seeds {}", self.seeds));
        }
        words.join(" ")
    }

    /// How the results of this request are made. The files that it reads are known only later.
    pub(crate) fn origin(&self, threads: usize) -> Origin {
        let effective = |variant: &&Variant| EffectiveScenario {
            variant: variant.name.clone(),
            seed: self.first_seed_of(variant),
            sha256: variant.scenario.sha256(),
            scenario: variant.scenario.to_toml(),
        };
        let sets = self.input.overrides.iter();
        Origin {
            command: self.command(),
            overrides: sets.map(|set| format!("{}={}", set.path, set.value)).collect(),
            threads: threads as u64,
            machine: machine::description(),
            scenario: self.input.file.text().to_owned(),
            variants: self.variants.iter().map(effective).collect(),
            files: Vec::new(),
        }
    }

    /// Whether a run has the first seed of its variant.
    pub(crate) fn is_first(&self, run: &Run<'_>) -> bool {
        run.seed == self.first_seed_of(run.variant)
    }

    fn first_seed_of(&self, variant: &Variant) -> u64 {
        self.seed.unwrap_or_else(|| variant.scenario.seed.get())
    }

    /// All runs, ordered by variant. Errors of all variants are found before the first run.
    pub(crate) fn runs(&self, runner: &Runner<'_>) -> Result<Vec<Run<'a>>, Error> {
        let is_one = self.variants.len() == 1 && self.seeds == 1;
        let mut runs = Vec::new();
        for (number, variant) in self.variants.iter().copied().enumerate() {
            let is_checked_by_running = self.captures.is_empty() && self.variants.len() == 1;
            let links = if is_checked_by_running { Vec::new() } else { self.links(runner, variant)? };
            let first = self.first_seed_of(variant);
            for seed in (0..self.seeds).map(|number| first.wrapping_add(number)) {
                let path = |(_, path): &(String, PathBuf)| {
                    if is_one {
                        path.clone()
                    } else {
                        numbered(path, &variant.name, (self.seeds > 1).then_some(seed))
                    }
                };
                let captures = links.iter().copied().zip(self.captures.iter().map(path)).collect();
                runs.push(Run { variant, number, seed, captures });
            }
        }
        distinct(runs.iter().flat_map(|run| run.captures.iter().map(|(_, path)| path)))?;
        Ok(runs)
    }

    /// The links to capture.
    fn links(&self, runner: &Runner<'_>, variant: &Variant) -> Result<Vec<LinkId>, Error> {
        let options = runner.options(0);
        let plan = SimulationPlan::new(&variant.scenario, self.input, &options);
        let plan = plan.map_err(|error| self.input.build_error(&error))?;
        let graph = plan.graph();
        let find = |(link, _): &(String, PathBuf)| {
            graph.link_by_name(link).ok_or_else(|| {
                let names: Vec<_> =
                    (0..graph.links().len() as u32).map(|link| graph.link_name(LinkId(link))).collect();
                Error::UnknownLink(unknown_link(link, &names.iter().map(String::as_str).collect::<Vec<_>>()))
            })
        };
        self.captures.iter().map(find).collect()
    }
}

fn unknown_link(wanted: &str, names: &[&str]) -> String {
    const SHOWN_MAX: usize = 8;
    let guess = nearest_name(wanted, names).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    let some = names.iter().take(SHOWN_MAX).copied().collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(SHOWN_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("unknown link `{wanted}`{guess}; there are {some}{more}")
}

/// Refuses two captures with the same file: variant names that differ only in characters that file names do
/// not allow, or one path in two spellings.
fn distinct<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for path in paths {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        if !seen.insert((folder, path.file_name())) {
            return Err(Error::SameFile(path.clone()));
        }
    }
    Ok(())
}

/// `link.pcapng` for a variant and an optional seed: `link-go-back-n-7.pcapng`.
fn numbered(path: &Path, variant: &str, seed: Option<u64>) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(format!("-{}", variant.chars().map(plain).collect::<String>()));
    if let Some(seed) = seed {
        name.push(format!("-{seed}"));
    }
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_several_runs_have_a_file_each() {
        let path = Path::new("a/link.pcapng");
        assert_eq!(numbered(path, "1 MB/s", None), Path::new("a/link-1_MB_s.pcapng"));
        assert_eq!(numbered(path, "base", Some(7)), Path::new("a/link-base-7.pcapng"));
        assert_eq!(numbered(Path::new("x"), "base", None), Path::new("x-base"));
    }
}
