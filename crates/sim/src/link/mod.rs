//! Lanes, one direction of a link each: how a frame leaves a node and reaches the next.

mod lanes;
mod port;
mod ring;

pub use lanes::LaneCounters;
pub(crate) use lanes::{Lanes, Outbox};
pub(crate) use port::{Intake, Port, Wire};
pub(crate) use ring::{Pool, Ring};
