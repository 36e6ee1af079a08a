//! The frame of the ledger: from claims to verdicts.
//!
//! A [`Claim`] names the runs that it needs and a function that judges their outcomes. The frame takes the runs of
//! all claims that were asked for, each once however many claims want it, and spreads them over the cores, the longest
//! first ([`Schedule`]). What a run came to is a small value that does not grow with its flows; with a [`Store`] it is kept
//! on disk, so that a long ledger goes on where it was interrupted.
//!
//! A verdict is computed. A judgement collects checks, each of which holds what was measured against what
//! is wanted; the claim says what to check, and the checks say what follows. So every claim can fail, and `--set` is how to
//! see it fail: it changes the scenario of all runs.

mod affected;
mod claim;
mod judgement;
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
    affected::{Group, Met},
    judgement::{Finding, Judgement},
    outcome::Outcome,
    run::Run,
};
