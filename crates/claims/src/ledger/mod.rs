//! From claims to verdicts.
//!
//! A [`Claim`] lists its runs and has a function that judges their outcomes. A [`Schedule`] collects the runs
//! of all chosen claims, each once even if several claims share it, and distributes them over the cores,
//! longest first. The outcome of a run has a size that does not depend on its number of flows. A [`Store`]
//! keeps outcomes on disk, so that an interrupted measurement continues.
//!
//! Verdicts are computed from checks, each of which compares a measured value with a criterion. Every claim
//! can fail: `--set` changes the scenarios of all runs and shows it.

mod claim;
mod flow_groups;
mod judgement;
mod metrics;
pub(crate) mod number;
mod outcome;
mod results;
mod run;
mod schedule;
mod store;

pub use claim::{Claim, Effort};
pub use results::Results;
pub use schedule::Schedule;
pub use store::Store;
pub(crate) use {
    flow_groups::Group,
    judgement::{Judgement, Printed},
    outcome::Outcome,
    run::Run,
};
