//! Lanes, one direction of a link each: they carry frames from one node to the next.

mod lanes;
mod lazy;
mod outbox;
mod port;
mod ring;

pub use lanes::LaneCounters;
pub(crate) use lanes::{KeptCounters, Lanes};
pub(crate) use outbox::Outbox;
pub(crate) use port::{Intake, Port, WireFlags};
pub(crate) use ring::{LaneRing, PoolRing, RingPool};
