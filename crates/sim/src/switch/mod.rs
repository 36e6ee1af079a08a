//! Switches: which way a frame goes, what is done to it on its way, and the ports and memory that it waits in.

mod balance;
pub(crate) mod deadlock;
mod detour;
pub(crate) mod lossless;
mod lossy;
mod mark;
mod ports;
mod repeat;
mod trim;

pub(crate) use balance::{Balancer, Manner};
pub(crate) use detour::{Detour, Detours, Meant};
pub(crate) use lossless::Lossless;
pub use lossless::{PauseCounters, SwitchCounters};
pub(crate) use lossy::Lossy;
pub(crate) use mark::{Curve, Marking};
pub(crate) use ports::SwitchPorts;
pub(crate) use repeat::Repeaters;
pub(crate) use trim::{Acks, Rule, Trimming};
