//! Network interfaces: state, configuration and forwarding rules.
//!
//! [`Interface`] is the state of an interface. Functions create and change interfaces ([`new_veth`],
//! [`set_up`], [`disable_link_local`] …). [`tc`] forwards frames between two ports in the kernel, or keeps
//! received frames from the host. [`SavedConfig`] holds the settings to restore after a relay, [`offload`]
//! the offloads that a relay disables. [`InterfaceWatch`] reports changes. [`NetNs`] is a network namespace.
//!
//! All functions use netlink and `ioctl` in the network namespace of the calling thread. A [`NetError`] names
//! the failed operation and the remedy.

pub mod offload;
pub mod tc;

mod change;
mod error;
mod flow_control;
mod interface;
mod namespace;
mod neighbour;
mod program;
mod saved_config;
mod standard_statistics;
mod statistics;
mod watch;

pub use change::{
    VethEnd, add_address, add_neighbour, delete, disable_link_local, loopback_up, new_veth, open_tap,
    set_address_generation, set_mac, set_mtu, set_promiscuous, set_up,
};
pub use error::NetError;
pub use flow_control::PortFlowControl;
pub use interface::{Address, Counters, Interface};
pub use namespace::NetNs;
pub use neighbour::{Route, neighbour, route_to};
pub use saved_config::SavedConfig;
pub use standard_statistics::{FecBin, StandardStatistics, StatisticsReader};
pub use statistics::statistics;
pub use watch::{InterfaceChange, InterfaceWatch, RuleWatch};
