//! Something that a paper says.

use std::time::Instant;

use wiremend_report::ledger::{Entry, Origin};

use super::run::commands;
use super::{Finding, Results, Run};

/// Something that a paper says, and how it is measured.
pub struct Claim {
    /// Its name in the ledger.
    pub id: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// Who says so, and where.
    pub source: &'static str,
    /// What the paper says, with its numbers.
    pub paper: &'static str,
    /// What is measured, and what counts as reproduced.
    pub method: &'static str,
    /// The runs that it needs; none if it only computes.
    pub(crate) runs: fn(Effort) -> Vec<Run>,
    /// What follows from them.
    pub(crate) judge: fn(&Results<'_>) -> Finding,
}

/// How much is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// Enough to come to the same verdict, in seconds.
    Quick,
    /// What figures are quoted from.
    Full,
}

impl Effort {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// One of two values: for those that only this decides on.
    pub fn choose<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

impl Claim {
    /// Its page of the ledger.
    pub fn entry(&self, results: &Results<'_>, origin: Origin) -> Entry {
        // Some claims are reckoned while they are judged, and have no runs.
        let begun = Instant::now();
        let Finding { verdict, measured, why, checks, table, figures } = (self.judge)(results);
        let judged_s = begun.elapsed().as_secs_f64();
        let runs = (self.runs)(results.effort());
        let ran_s: f64 = runs.iter().map(|run| results.of(run).took_s).sum();
        Entry {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            source: self.source.to_owned(),
            verdict,
            paper: self.paper.to_owned(),
            measured,
            why,
            method: self.method.to_owned(),
            checks,
            table,
            figures,
            computing_s: judged_s + ran_s,
            runs: commands(&runs, results.sets()),
            origin,
        }
    }
}
