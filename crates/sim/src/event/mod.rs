//! The queue of pending events, and the numbering of event sources.

mod jump;
mod order;
mod queue;
mod source;
mod window;

pub(crate) use queue::{EventQueue, EventSource, NodeWindows};
pub(crate) use source::{Event, EventSources};
