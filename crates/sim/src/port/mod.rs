//! What the port of a switch is made of: queues by class, who goes next, and who must wait.

mod egress;
mod pause;
mod schedule;
mod waiting;

pub(crate) use egress::{CLASSES, Egress, Taken};
pub(crate) use pause::{Hold, Pauses};
pub(crate) use schedule::Schedule;
pub(crate) use waiting::Waiting;
