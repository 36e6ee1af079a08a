//! Parts of a switch port: queues by class, the scheduler, and pauses.

mod class_queue;
mod egress;
mod pause;
mod schedule;

pub(crate) use class_queue::QueuedFrame;
pub(crate) use egress::{Egress, OfferOutcome};
pub(crate) use pause::{ClassPauses, PauseWindow, PortPause};
pub(crate) use schedule::Schedule;

/// Traffic classes of a link.
pub(crate) const CLASSES: usize = 8;
