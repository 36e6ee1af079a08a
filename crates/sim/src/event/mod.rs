//! Pending events: their order, and the numbers of what they come from.

mod queue;
mod source;

pub(crate) use queue::{Queue, Source};
pub(crate) use source::{Event, Sources};
