//! The cells of a study.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use wiremend_runner::{Error as RunError, Estimate, Input, Runner};
use wiremend_scenario::{Override, Variant};
use wiremend_units::Sha256;

use crate::error::Error;
use crate::study::{Axis, AxisValue, PlacedOverride, ScenarioSource, Seeds, Study};
use crate::study::{SEED, VARIANT};

/// A study with its cells in the order of the table.
pub struct Plan {
    study: Study,
    /// The scenario with the values of the first point.
    base: Input,
    variants: Vec<String>,
    version: String,
    points: Vec<Point>,
    cells: Vec<Cell>,
    /// Numbers of the cells that are run: the first of each name.
    distinct: Vec<usize>,
    batch_cells: usize,
}

/// A combination of values: what all seeds have in common.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// By axis: the number of its value.
    pub choices: Vec<usize>,
    /// Name of the variant.
    pub variant: String,
    /// Predicted cost of one seed.
    pub estimate: Estimate,
}

/// One run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    /// Number of its point.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// The first half of the SHA-256 hash of what is simulated: version, scenario, files, seed.
    pub name: String,
}

/// Most cells of a study.
const CELLS_MAX: u64 = 10_000_000;
/// Digits of the name of a cell.
const NAME_DIGITS: usize = 32;
/// CPU time that a batch should have, so that claiming costs little and few cells wait for one worker.
const BATCH_S: f64 = 2.0;
/// Most cells of a batch, and least batches of a plan with that many cells.
const BATCH_CELLS_MAX: usize = 256;
const BATCHES_MIN: usize = 64;

impl Plan {
    /// Cells above which a plan must be confirmed: loading them all takes long.
    pub const UNCONFIRMED_MAX: usize = 100_000;

    /// Plans a study: loads and checks the scenario of every point. A study with very many cells is refused unless the
    /// user has confirmed it.
    pub fn new(study: Study, runner: &Runner<'_>, is_confirmed: bool) -> Result<Self, Error> {
        let first: Vec<usize> = vec![0; study.axes.len()];
        let base = load_base(&study, runner, &sets(&study, &first))?;
        let mut plan = Self::enumerated(study, base, runner.version_name())?;
        if plan.cells.len() > Self::UNCONFIRMED_MAX && !is_confirmed {
            return Err(Error::Input(format!(
                "{}: {} cells; more than {} must be confirmed with --yes",
                plan.study.source(),
                plan.cells.len(),
                Self::UNCONFIRMED_MAX
            )));
        }
        let combined: Vec<Range<usize>> = plan.points_by_choices();
        let files = Mutex::new(BTreeMap::new());
        // Reports of progress are for runs.
        let quiet = runner.progress(&());
        let weights = vec![1.0; combined.len()];
        let loaded = quiet.for_each(&weights, |item| {
            let points = &plan.points[combined[item.number()].clone()];
            plan.load_points(&quiet, points, &files)
        })?;
        let mut hashes = Vec::with_capacity(plan.points.len());
        let estimates = loaded.into_iter().flatten();
        for (point, (hash, estimate)) in plan.points.iter_mut().zip(estimates) {
            point.estimate = estimate;
            hashes.push(hash);
        }
        for cell in &mut plan.cells {
            cell.name = name(&plan.version, &hashes[cell.point], cell.seed);
        }
        plan.finish(None);
        Ok(plan)
    }

    /// Lists the cells, without their names.
    pub(crate) fn enumerated(study: Study, base: Input, version: &str) -> Result<Self, Error> {
        let variants = base.variants(&study.variants)?.iter().map(|variant| variant.name.clone()).collect();
        let seeds: Vec<u64> = match &study.seeds {
            Seeds::Listed(seeds) => seeds.clone(),
            Seeds::Count(count) => {
                let first = base.file.scenario.seed.get();
                (0..*count).map(|number| first.wrapping_add(number)).collect()
            }
        };
        let mut plan = Self {
            study,
            base,
            variants,
            version: version.to_owned(),
            points: Vec::new(),
            cells: Vec::new(),
            distinct: Vec::new(),
            batch_cells: 1,
        };
        let groups = plan.study.groups();
        let sizes: Vec<usize> = groups.iter().map(|group| plan.study.axes[group[0]].choices.len()).collect();
        plan.check_count(&sizes, seeds.len())?;
        let mut at = vec![0; groups.len()];
        loop {
            plan.add_points(&groups, &at, &seeds);
            // The last axis advances first.
            let Some(advanced) = (0..at.len()).rev().find(|group| at[*group] + 1 < sizes[*group]) else {
                break;
            };
            at[advanced] += 1;
            at[advanced + 1..].fill(0);
        }
        if plan.cells.is_empty() {
            return Err(Error::Input(format!(
                "{}: the conditions leave out every cell",
                plan.study.source()
            )));
        }
        Ok(plan)
    }

    fn check_count(&self, sizes: &[usize], seeds: usize) -> Result<(), Error> {
        let counts = sizes.iter().copied().chain([self.variants.len(), seeds]);
        let cells = counts.fold(1_u64, |all, count| all.saturating_mul(count as u64));
        if cells > CELLS_MAX {
            let why = format!("{}: {cells} cells; a study has at most {CELLS_MAX}", self.study.source());
            return Err(Error::Input(why));
        }
        Ok(())
    }

    fn add_points(&mut self, groups: &[Vec<usize>], at: &[usize], seeds: &[u64]) {
        let mut choices = vec![0; self.study.axes.len()];
        for (group, choice) in groups.iter().zip(at) {
            for axis in group {
                choices[*axis] = *choice;
            }
        }
        for variant in self.variants.clone() {
            let estimate = Estimate { cpu_s: 0.0, memory_bytes: 0 };
            let point = Point { choices: choices.clone(), variant, estimate };
            let number = self.points.len();
            let kept = seeds.iter().filter(|seed| !self.is_excluded(&point, **seed));
            let cells: Vec<_> =
                kept.map(|seed| Cell { point: number, seed: *seed, name: String::new() }).collect();
            if !cells.is_empty() {
                self.cells.extend(cells);
                self.points.push(point);
            }
        }
    }

    fn is_excluded(&self, point: &Point, seed: u64) -> bool {
        let value = |column: &str| match column {
            SEED => AxisValue::Int(seed as i64),
            VARIANT => AxisValue::Text(point.variant.clone()),
            name => {
                let axis = self.study.axes.iter().position(|axis| axis.name == name).expect("a checked name");
                self.study.axes[axis].choices[point.choices[axis]].value.clone()
            }
        };
        let excludes = self.study.excludes.iter();
        excludes.into_iter().any(|all| all.iter().all(|(column, condition)| condition.holds(&value(column))))
    }

    /// Ranges of points that differ only in the variant: they are loaded together.
    fn points_by_choices(&self) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            match ranges.last_mut() {
                Some(last) if self.points[last.start].choices == point.choices => last.end = number + 1,
                _ => ranges.push(number..number + 1),
            }
        }
        ranges
    }

    fn load_points(
        &self,
        runner: &Runner<'_>,
        points: &[Point],
        files: &Mutex<BTreeMap<PathBuf, String>>,
    ) -> Result<Vec<(String, Estimate)>, RunError> {
        let input = self.input(runner, &points[0])?;
        let one = |point: &Point| {
            let variant = variant(&input, point);
            Ok((hash(&input, variant, files)?, Estimate::new(&variant.scenario)))
        };
        points.iter().map(one).collect()
    }

    /// Loads the scenario of a point. Errors have their place in the study.
    fn input(&self, runner: &Runner<'_>, point: &Point) -> Result<Input, RunError> {
        let sets = sets(&self.study, &point.choices);
        runner.reload(&self.base, &overrides(&sets)).map_err(|error| placed(&self.study, &sets, error))
    }

    /// Loads the scenario of a point, with its hash.
    pub(crate) fn load(&self, runner: &Runner<'_>, number: usize) -> Result<LoadedPoint, RunError> {
        let point = &self.points[number];
        let input = self.input(runner, point)?;
        let variant = variant(&input, point).clone();
        let hash = hash(&input, &variant, &Mutex::default())?;
        Ok(LoadedPoint { number, input, variant, hash })
    }

    /// Sets what follows from the names, and the size of batches.
    pub(crate) fn finish(&mut self, batch_cells: Option<usize>) {
        let mut seen = BTreeSet::new();
        self.distinct = (0..self.cells.len()).filter(|cell| seen.insert(&self.cells[*cell].name)).collect();
        let all_s: f64 = self.distinct.iter().map(|cell| self.estimate(*cell).cpu_s).sum();
        let by_time = (BATCH_S * self.distinct.len() as f64 / all_s.max(f64::MIN_POSITIVE)) as usize;
        let by_count = self.distinct.len().div_ceil(BATCHES_MIN);
        self.batch_cells = batch_cells.unwrap_or(by_time.min(by_count).clamp(1, BATCH_CELLS_MAX));
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// The scenario of the study, with the values of the first point.
    pub fn base(&self) -> &Input {
        &self.base
    }

    /// Version of the program that planned.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Names of the variants.
    pub fn variants(&self) -> &[String] {
        &self.variants
    }

    /// Points in the order of the table.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Cells in the order of the table.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    pub(crate) fn points_mut(&mut self) -> &mut [Point] {
        &mut self.points
    }

    pub(crate) fn cells_mut(&mut self) -> &mut [Cell] {
        &mut self.cells
    }

    /// Numbers of the cells that are run: the first of each name.
    pub fn distinct(&self) -> &[usize] {
        &self.distinct
    }

    /// Predicted cost of a cell.
    pub fn estimate(&self, cell: usize) -> Estimate {
        self.points[self.cells[cell].point].estimate
    }

    /// The value of an axis at a point.
    pub fn value(&self, point: usize, axis: usize) -> &AxisValue {
        &self.study.axes[axis].choices[self.points[point].choices[axis]].value
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.study.axes
    }

    pub(crate) const fn batch_cells(&self) -> usize {
        self.batch_cells
    }

    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.distinct.len().div_ceil(self.batch_cells)
    }

    /// Numbers of the cells of a batch.
    pub fn batch(&self, number: usize) -> &[usize] {
        let start = number * self.batch_cells;
        &self.distinct[start..self.distinct.len().min(start + self.batch_cells)]
    }

    /// The name of a cell as this program computes it.
    pub(crate) fn name(&self, hash: &str, seed: u64) -> String {
        name(&self.version, hash, seed)
    }
}

/// The scenario of a point.
pub(crate) struct LoadedPoint {
    pub(crate) number: usize,
    pub(crate) input: Input,
    pub(crate) variant: Variant,
    pub(crate) hash: String,
}

fn variant<'a>(input: &'a Input, point: &Point) -> &'a Variant {
    let mut variants = input.file.variants.iter();
    variants.find(|variant| variant.name == point.variant).expect("overrides change no names of variants")
}

/// Hash of what all seeds of a point simulate: the scenario, and the files that it names.
fn hash(
    input: &Input,
    variant: &Variant,
    files: &Mutex<BTreeMap<PathBuf, String>>,
) -> Result<String, RunError> {
    let mut hash = variant.scenario.sha256_of_all_seeds();
    for (name, path) in input.files_of(&variant.scenario) {
        let known = files.lock().unwrap_or_else(PoisonError::into_inner).get(&path).cloned();
        let content = match known {
            Some(content) => content,
            None => wiremend_runner::sha256(&path).map_err(|source| RunError::Unreadable { name, source })?,
        };
        hash = Sha256::of(format!("{hash} {content}").as_bytes());
        files.lock().unwrap_or_else(PoisonError::into_inner).insert(path, content);
    }
    Ok(hash)
}

fn name(version: &str, hash: &str, seed: u64) -> String {
    let mut name = Sha256::of(format!("{version} {hash} {seed}").as_bytes());
    name.truncate(NAME_DIGITS);
    name
}

/// Changes of the scenario at a point: those of all cells first.
fn sets<'s>(study: &'s Study, choices: &[usize]) -> Vec<&'s PlacedOverride> {
    let of_axes = study.axes.iter().zip(choices).flat_map(|(axis, choice)| &axis.choices[*choice].sets);
    study.sets.iter().chain(of_axes).collect()
}

fn overrides(sets: &[&PlacedOverride]) -> Vec<Override> {
    sets.iter().map(|placed| placed.set.clone()).collect()
}

fn load_base(study: &Study, runner: &Runner<'_>, sets: &[&PlacedOverride]) -> Result<Input, Error> {
    let overrides = overrides(sets);
    let loaded = match &study.scenario {
        ScenarioSource::Inline(text) => {
            runner.load_text_at(study.source(), Path::new(study.source()), text, &overrides)
        }
        ScenarioSource::Named(name, place) => {
            let path = study.scenario_path(name);
            let is_file = path.is_file() || path.extension().is_some_and(|extension| extension == "toml");
            let name = if is_file { path.display().to_string() } else { name.clone() };
            runner.load(&name, &overrides).map_err(|error| match error {
                RunError::UnknownScenario(why) => {
                    RunError::UnknownScenario(study.error(*place, &why).to_string())
                }
                other => other,
            })
        }
    };
    loaded.map_err(|error| placed(study, sets, error).into())
}

/// Gives an error of an override its place in the study.
fn placed(study: &Study, sets: &[&PlacedOverride], error: RunError) -> RunError {
    let RunError::Scenario(found) = &error else { return error };
    let Some(wrong) = found.set().and_then(|number| sets.get(number)) else { return error };
    let Override { path, value } = &wrong.set;
    RunError::Scenario(study.error(wrong.place, &format!("{path} = {value}: {}", found.message())))
}
