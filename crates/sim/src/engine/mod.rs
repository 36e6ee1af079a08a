//! The engine: partitions, one thread each, and their synchronisation.

mod barrier;
mod fast_forward;
mod limits;
mod partition;
mod pause_script;
pub(crate) mod run;
mod thread_choice;

pub(crate) use limits::{Limits, MemoryLimit};
pub(crate) use partition::Partition;
pub(crate) use pause_script::PauseScript;
pub(crate) use run::RunOutcome;
pub use run::{EndReason, Observer, Progress};
