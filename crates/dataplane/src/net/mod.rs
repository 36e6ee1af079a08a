//! What interfaces there are, and how they are joined.
//!
//! [`Interface`] says what the kernel knows of one. The functions beside it make and change them ([`new_veth`], [`set_up`],
//! [`silence`] …). [`tc`] joins two ports in the kernel, or keeps what arrives on a port from the host, so that a relay alone has
//! it. [`Saved`] is how a port was before a relay took it, [`offload`] what must be switched off for that; [`Watch`] hears of changes.
//! [`NetNs`] is a network of one's own, in which all of this may be done without touching anything else.
//!
//! Everything is asked of the kernel by netlink and `ioctl`, and means the network namespace of the calling thread. What is not done
//! is a [`Refused`], which says what would help.

pub mod offload;
pub mod tc;

mod change;
mod interface;
mod namespace;
mod pause;
mod program;
mod refused;
mod saved;
mod statistics;
mod watch;

pub use change::{
    End, add_address, add_neighbour, delete, loopback_up, new_veth, open_tap, set_address_generation,
    set_mac, set_mtu, set_promiscuous, set_up, silence,
};
pub use interface::{Address, Counters, Interface};
pub use namespace::NetNs;
pub use pause::FlowControl;
pub use refused::Refused;
pub use saved::Saved;
pub use statistics::statistics;
pub use watch::{Change, Watch};
