//! The course of time: what one thread owns, and how threads go on together.

mod barrier;
mod part;
pub(crate) mod run;
mod script;

pub(crate) use part::Part;
pub use run::{Ending, Observer, Progress};
pub(crate) use run::{Limits, Memory, Ran};
pub(crate) use script::{Script, ScriptedPause};
