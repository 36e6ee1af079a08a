//! A plan as a file of the folder.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wiremend_runner::{Estimate, Runner};

use crate::error::Error;
use crate::plan::Plan;
use crate::study::Study;

/// Everything that a worker needs: it reads neither the study file nor the scenario file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StoredPlan {
    /// [`StoredPlan::KIND`].
    pub kind: String,
    /// Version of the program.
    pub version: String,
    /// Name of the study.
    pub name: String,
    /// Failures of earlier attempts do not count: these cells are run again.
    pub attempt: u32,
    /// Path of the study file.
    pub source: PathBuf,
    /// Text of the study file.
    pub study: String,
    /// Absolute path of the scenario file, to which names of flow lists are relative.
    pub scenario_path: Option<PathBuf>,
    /// Name of the scenario, for messages.
    pub scenario_name: String,
    /// Text of the scenario.
    pub scenario: String,
    /// Cells of a batch.
    pub batch_cells: usize,
    /// By point: predicted seconds and bytes of one cell.
    pub estimates: Vec<(f64, u64)>,
    /// Names of the cells in order.
    pub cells: Vec<String>,
}

impl StoredPlan {
    /// Marks the file, and its layout.
    pub const KIND: &str = "wiremend sweep 1";

    /// Stores a plan.
    pub fn new(plan: &Plan, attempt: u32) -> Self {
        let base = plan.base();
        let absolute = |path: &std::path::Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let estimate = |point: &crate::plan::Point| (point.estimate.cpu_s, point.estimate.memory_bytes);
        Self {
            kind: Self::KIND.to_owned(),
            version: plan.version().to_owned(),
            name: plan.study().name.clone(),
            attempt,
            source: PathBuf::from(plan.study().source()),
            study: plan.study().text().to_owned(),
            scenario_path: base.path().map(absolute),
            scenario_name: base.file.source().to_owned(),
            scenario: base.file.text().to_owned(),
            batch_cells: plan.batch_cells(),
            estimates: plan.points().iter().map(estimate).collect(),
            cells: plan.cells().iter().map(|cell| cell.name.clone()).collect(),
        }
    }

    /// Returns whether both run the same cells in the same batches.
    pub fn has_same_cells(&self, other: &Self) -> bool {
        self.cells == other.cells && self.batch_cells == other.batch_cells && self.study == other.study
    }

    /// Restores the plan, for a program of the same version.
    pub fn plan(&self, runner: &Runner<'_>) -> Result<Plan, Error> {
        if self.version != runner.version_name() {
            return Err(Error::Input(format!(
                "the sweep was planned by wiremend {} and this is {}: run `wiremend sweep STUDY --out DIR` with this \
                 version, or the same version everywhere",
                self.version,
                runner.version_name()
            )));
        }
        self.plan_of_any_version(runner)
    }

    /// Restores the plan to read results, whatever program made them.
    pub fn plan_of_any_version(&self, runner: &Runner<'_>) -> Result<Plan, Error> {
        let damaged = || {
            Error::Input("the plan of the sweep is damaged; run `wiremend sweep STUDY --out DIR`".to_owned())
        };
        let study = Study::parse(&self.source.display().to_string(), &self.study)?;
        let sets: Vec<_> =
            study.sets.iter().chain(study.axes.iter().flat_map(|axis| &axis.choices[0].sets)).collect();
        let sets: Vec<_> = sets.into_iter().map(|placed| placed.set.clone()).collect();
        let base = match &self.scenario_path {
            Some(path) => runner.load_text_at(&self.scenario_name, path, &self.scenario, &sets)?,
            None => runner.load_text(&self.scenario_name, &self.scenario, &sets)?,
        };
        let mut plan = Plan::enumerated(study, base, &self.version)?;
        if plan.cells().len() != self.cells.len() || plan.points().len() != self.estimates.len() {
            return Err(damaged());
        }
        for (cell, name) in plan.cells_mut().iter_mut().zip(&self.cells) {
            cell.name.clone_from(name);
        }
        for (point, (cpu_s, memory_bytes)) in plan.points_mut().iter_mut().zip(&self.estimates) {
            point.estimate = Estimate { cpu_s: *cpu_s, memory_bytes: *memory_bytes };
        }
        plan.finish(Some(self.batch_cells.max(1)));
        Ok(plan)
    }
}
