//! The outcomes of all runs, for those who judge.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde::de::DeserializeOwned;
use wiremend_runner::Runner;
use wiremend_scenario::Override;

use super::{Effort, Outcome, Run};

/// The outcomes of all runs that claims asked for.
pub struct Results<'a> {
    effort: Effort,
    sets: &'a [Override],
    runner: Runner<'a>,
    program: Option<PathBuf>,
    /// By the command of the run.
    outcomes: BTreeMap<String, Outcome>,
}

impl<'a> Results<'a> {
    pub(super) fn new(
        effort: Effort,
        sets: &'a [Override],
        runner: Runner<'a>,
        outcomes: BTreeMap<String, Outcome>,
    ) -> Self {
        Self { effort, sets, runner, program: None, outcomes }
    }

    /// The same, for claims that ask the program `wiremend` for a laboratory: this is it. Without, they are not reproduced.
    pub fn with_program(self, program: PathBuf) -> Self {
        Self { program: Some(program), ..self }
    }

    /// What `wiremend lab` prints as JSON for these arguments. It is a process of its own, since it makes networks, for which a process
    /// must have one thread.
    pub(crate) fn lab<T: DeserializeOwned>(&self, arguments: &[&str]) -> Option<T> {
        let program = self.program.as_ref()?;
        let output = Command::new(program).arg("lab").args(arguments).output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// Where claims run what is no simulation of packets.
    pub(crate) fn runner(&self) -> &Runner<'a> {
        &self.runner
    }

    /// How much was simulated.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// What the user changed in all scenarios.
    pub(crate) fn sets(&self) -> &'a [Override] {
        self.sets
    }

    /// What came of a run.
    pub(crate) fn of(&self, run: &Run) -> &Outcome {
        let command = run.command(self.sets);
        self.outcomes.get(&command).unwrap_or_else(|| panic!("a claim asks for its runs first: {command}"))
    }

    /// How long all of them took to compute, one after the other.
    pub fn computing_s(&self) -> f64 {
        self.outcomes.values().map(|outcome| outcome.took_s).sum()
    }
}
