//! Switches: which way a frame goes, what is done to it on its way, and the memory that ports share.

mod balance;
pub(crate) mod deadlock;
mod detour;
pub(crate) mod lossless;
mod mark;
mod repeat;
mod trim;

pub(crate) use balance::{Balancer, Manner};
pub(crate) use detour::{Detour, Detours, Meant};
pub(crate) use lossless::Lossless;
pub use lossless::{PauseCounters, SwitchCounters};
pub(crate) use mark::{Curve, Marking};
pub(crate) use repeat::Repeaters;
pub(crate) use trim::{Acks, Rule, Trimming};
