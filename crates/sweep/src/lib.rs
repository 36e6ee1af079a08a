//! Sweeps: a scenario over axes of values and seeds.
//!
//! A [`Study`] is a file with a scenario and axes. Its [`Plan`] lists the cells: one run each, named by the hash of
//! what is simulated, so that a changed study runs only cells that are new. Any number of [workers](Worker) run the
//! cells of a [`Folder`], on one machine or on many; they share nothing but this folder. [`collect()`] makes one table
//! and a page of the results, with the same bytes wherever the cells ran.
//!
//! ```
//! use wiremend_runner::Runner;
//! use wiremend_sweep::{Plan, Study};
//!
//! let text = r#"
//!     name = "a tail, with and without dummies"
//!     scenario = "tail-packet"
//!     seeds = 2
//!     [[axis]]
//!     name = "dummies"
//!     path = "mend.dummies"
//!     values = [0, 2]
//! "#;
//! let study = Study::parse("study.toml", text)?;
//! let plan = Plan::new(study, &Runner::new(), false)?;
//! assert_eq!(plan.cells().len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The folder
//!
//! | path | content |
//! |---|---|
//! | `plans/000001.json` | the study, its scenario and the names of its cells; the last one counts |
//! | `claims/000001/7.1` | batch 7 of this plan belongs to a worker; `7.2` belongs to who took it over |
//! | `workers/ID.json` | a worker: machine, process, task of a scheduler |
//! | `workers/ID.beat` | its heartbeat, a number that increases while it runs |
//! | `results/ID.jsonl` | its results: a line for each cell, with a checksum |
//!
//! The results are the only truth. A cell is done if a line with a correct checksum says so; a line that a full disk or
//! a killed process left incomplete does not count. Claims only prevent that two workers run the same cell. They are
//! symbolic links, which are created whole or not at all. A claim holds while its worker lives: while its process exists
//! if it is on the same machine, otherwise while its heartbeat changes within the lease, by the clock of who watches.
//! A task that a scheduler restarts takes over its own claims at once. Results do not depend on who runs a cell, so a
//! worker that was only slow does no harm.

mod claims;
mod collect;
mod cost;
mod error;
mod folder;
mod liveness;
mod page;
mod plan;
mod point_result;
mod record;
mod status;
mod stored_plan;
mod study;
pub mod submit;
mod sweep;
mod worker;

pub use collect::{Collected, cells, collect};
pub use cost::Cost;
pub use error::Error;
pub use folder::Folder;
pub use liveness::Task;
pub use page::{describe, headline_title, sweep_parts};
pub use plan::{Cell, Plan, Point};
pub use record::{FailedCell, Outcome, Record, Results};
pub use status::{Status, WorkerStatus};
pub use stored_plan::StoredPlan;
pub use study::{
    Axis, AxisValue, Choice, Condition, Output, PlacedOverride, ScenarioSource, Seeds, Spacing, Study,
};
pub use sweep::{FailedBefore, Sweep};
pub use worker::{Part, Worker};
