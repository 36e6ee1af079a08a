//! Lanes, one direction of a link each: how a frame leaves a node and reaches the next.

mod port;
mod ring;
mod wires;

pub(crate) use port::{Port, PortFlags};
pub(crate) use ring::{Pool, Ring};
pub use wires::LaneCounters;
pub(crate) use wires::{Outbox, Wires};
