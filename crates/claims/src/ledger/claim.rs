//! A claim of a paper.

use std::time::Instant;

use wiremend_report::ledger::{ClaimResult, Origin, Source, Statement};
use wiremend_scenario::Override;

use super::run::commands;
use super::{Judgement, Results, Run};
use crate::criteria;

/// A claim of a paper, and its measurement.
pub struct Claim {
    /// Identifier in the ledger: `J1`.
    pub id: &'static str,
    /// Subject of the claim in a few words.
    pub title: &'static str,
    /// The paper, and the place in it.
    pub source: Source,
    /// The claim of the paper, with its numbers.
    pub paper: &'static str,
    /// The measurement. Its criteria are the checks.
    pub method: &'static str,
    /// What is known about the result beyond its numbers. It has no effect on the verdict.
    pub note: &'static str,
    /// Returns the runs that the claim needs. If there are none, they are those that its judgement asks for.
    pub(crate) runs: fn(Effort) -> Vec<Run>,
    /// Judges the outcomes of the runs. It asks for the same runs whatever their outcomes are.
    pub(crate) judge: fn(&mut Judgement, &Results<'_>),
}

/// Amount of simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Enough for the same verdict, within seconds.
    Quick,
    /// The effort of the published results.
    Full,
}

impl Effort {
    /// `quick` or `full`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// Returns one of two values.
    pub fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

impl Claim {
    /// The fields that a claim may leave out.
    pub(crate) const FORM: Self = Self {
        id: "",
        title: "",
        source: Source { name: "own question", citation: "our own question", place: "" },
        paper: "",
        method: "",
        note: "",
        runs: |_| Vec::new(),
        judge: |_, _| (),
    };

    /// The texts that do not depend on a measurement.
    pub fn statement(&self) -> Statement {
        let Self { id, title, source, paper, method, note, .. } = *self;
        let (is_own, revisions) = (self.is_own(), criteria::revisions(id));
        Statement { id, title, source, paper, method, note, is_own, revisions }
    }

    /// Whether this is a question of our own, which no paper answers.
    pub fn is_own(&self) -> bool {
        self.id.starts_with('W') || matches!(self.id, "P4" | "D16")
    }

    /// The commands that start its runs one by one, with the changes of the user. None if the claim only
    /// computes.
    pub fn commands(&self, effort: Effort, sets: &[Override]) -> Vec<String> {
        commands(&self.runs(effort), sets)
    }

    /// The runs that it needs; none if it only computes.
    pub(crate) fn runs(&self, effort: Effort) -> Vec<Run> {
        let listed = (self.runs)(effort);
        if !listed.is_empty() {
            return listed;
        }
        let listing = Results::listing(effort);
        (self.judge)(&mut Judgement::default(), &listing);
        listing.asked()
    }

    /// Judges the claim.
    pub fn judge(&self, results: &Results<'_>, origin: Origin) -> ClaimResult {
        // Claims without runs compute while they are judged.
        let start = Instant::now();
        let mut judgement = Judgement::default();
        (self.judge)(&mut judgement, results);
        let table = judgement.take_table();
        let Judgement { checks, corrections, explanations, figures, .. } = judgement;
        let judging_s = start.elapsed().as_secs_f64();
        let running_s: f64 = self.runs(results.effort()).iter().map(|run| results.outcome(run).took_s).sum();
        let computing_s = judging_s + running_s;
        ClaimResult {
            id: self.id.to_owned(),
            criteria: self.statement().version(),
            checks,
            corrections,
            explanations,
            table,
            figures,
            computing_s,
            origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_needs_the_runs_that_its_judgement_asks_for() {
        let claim = Claim {
            judge: |judgement, results| {
                assert!(results.is_listing());
                for seed in [2, 1, 2] {
                    let outcome = results.outcome(&Run::new("tour").seed(seed));
                    judgement.none("unfinished flows", outcome.unfinished());
                }
            },
            ..Claim::FORM
        };
        assert_eq!(claim.runs(Effort::Quick).len(), 2, "each once");
        assert_eq!(claim.commands(Effort::Quick, &[]), ["wiremend run tour --seed 1 --seeds 2"]);
        let listing = Claim { runs: |_| vec![Run::new("nak")], ..claim };
        assert_eq!(listing.commands(Effort::Quick, &[]), ["wiremend run nak"]);
    }
}
