//! Outcomes of all runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use wiremend_runner::Runner;
use wiremend_scenario::Override;

use super::{Effort, Outcome, Run};

/// Outcomes of all runs of the chosen claims. While the runs of a claim are listed, all outcomes
/// are empty.
pub struct Results<'a> {
    effort: Effort,
    sets: &'a [Override],
    runner: Runner<'a>,
    program: Option<PathBuf>,
    /// By the command of the run.
    outcomes: BTreeMap<String, Outcome>,
    /// The runs whose outcomes a judgement asked for, by command, while they are listed.
    asked: Option<RefCell<BTreeMap<String, Run>>>,
}

impl<'a> Results<'a> {
    pub(super) fn new(
        effort: Effort,
        sets: &'a [Override],
        runner: Runner<'a>,
        outcomes: BTreeMap<String, Outcome>,
    ) -> Self {
        Self { effort, sets, runner, program: None, outcomes, asked: None }
    }

    /// No outcomes yet: a judgement with it finds out which runs it needs.
    pub(super) fn listing(effort: Effort) -> Self {
        Self { asked: Some(RefCell::default()), ..Self::new(effort, &[], Runner::new(), BTreeMap::new()) }
    }

    /// The runs whose outcomes the judgement asked for, each once.
    pub(super) fn asked(self) -> Vec<Run> {
        self.asked.map(RefCell::into_inner).unwrap_or_default().into_values().collect()
    }

    /// Whether there are no outcomes yet. What costs time and needs no run is left out then.
    pub(crate) fn is_listing(&self) -> bool {
        self.asked.is_some()
    }

    /// Sets the `wiremend` program, which claims start for measurements in the lab. Without it these claims
    /// are not reproduced.
    pub fn with_program(self, program: PathBuf) -> Self {
        Self { program: Some(program), ..self }
    }

    /// Output of `wiremend lab` with these arguments, parsed as JSON. The lab creates network namespaces,
    /// which needs a process with one thread, so it runs in its own process.
    pub(crate) fn lab<T: DeserializeOwned>(&self, arguments: &[&str]) -> Option<T> {
        let program = self.program.as_ref()?;
        let output = Command::new(program).arg("lab").args(arguments).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// The runner, for claims that run fleet simulations.
    pub(crate) fn runner(&self) -> &Runner<'a> {
        &self.runner
    }

    /// The effort of the runs.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Outcome of a run.
    pub(crate) fn outcome(&self, run: &Run) -> &Outcome {
        static EMPTY: LazyLock<Outcome> = LazyLock::new(Outcome::default);
        let command = run.command(self.sets);
        if let Some(asked) = &self.asked {
            asked.borrow_mut().insert(command, run.clone());
            return &EMPTY;
        }
        self.outcomes
            .get(&command)
            .unwrap_or_else(|| panic!("a claim asks for other runs after it has seen outcomes: {command}"))
    }

    /// Sum of the computing times of all runs.
    pub fn computing_s(&self) -> f64 {
        self.outcomes.values().map(|outcome| outcome.took_s).sum()
    }
}
