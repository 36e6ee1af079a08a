//! The engine: partitions, one thread each, and their synchronisation.

mod barrier;
mod fast_forward;
mod partition;
mod pause_script;
pub(crate) mod run;
mod thread_choice;

pub(crate) use partition::Partition;
pub(crate) use pause_script::{PauseScript, ScriptedPause};
pub use run::{EndReason, Observer, Progress};
pub(crate) use run::{Limits, MemoryLimit, RunOutcome};
