//! Switches: forwarding, load balancing, marking, trimming, and the ports and buffers of frames.

mod balance;
pub(crate) mod deadlock;
mod forwarding_entry;
pub(crate) mod lossless;
mod lossy;
mod mark;
mod ports;
mod repeat;
mod trim;

pub(crate) use balance::{BalancePolicy, Balancer};
pub(crate) use forwarding_entry::{ForwardingEntries, ForwardingEntry, ForwardingTarget};
pub(crate) use lossless::Lossless;
pub use lossless::{PauseCounters, SwitchCounters};
pub(crate) use lossy::Lossy;
pub(crate) use mark::{Marking, RedCurve};
pub(crate) use ports::SwitchPorts;
pub(crate) use repeat::Repeaters;
pub(crate) use trim::{AckHandling, TrimRule, Trimming};
