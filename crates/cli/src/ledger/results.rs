//! The outcomes of all runs, for those who judge.

use std::collections::BTreeMap;

use wiremend_scenario::Override;

use super::{Effort, Outcome, Run};

/// The outcomes of all runs that claims asked for.
pub(crate) struct Results<'a> {
    effort: Effort,
    sets: &'a [Override],
    /// By the command of the run.
    outcomes: BTreeMap<String, Outcome>,
}

impl<'a> Results<'a> {
    pub(super) fn new(effort: Effort, sets: &'a [Override], outcomes: BTreeMap<String, Outcome>) -> Self {
        Self { effort, sets, outcomes }
    }

    /// How much was simulated.
    pub(crate) fn effort(&self) -> Effort {
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
    pub(crate) fn computing_s(&self) -> f64 {
        self.outcomes.values().map(|outcome| outcome.took_s).sum()
    }
}
