//! The lab: real kernels and transports at the two ends of a link that is impaired and protected. Linux only.
//!
//! A [`chain::Chain`] is host A, a relay, a wire, a relay and host B, in three unnamed network namespaces and
//! in processes that end with the lab. [`tcp`] measures TCP over it, [`auto`] runs daemons that protect it,
//! [`roce`] uses virtual machines with soft-RoCE as hosts ([`guests`]), [`stalls`] one of them and `wiremend peer`. Each lab has a
//! [`directory::LabDirectory`], by which other processes find it.
//!
//! A [`Lab`] holds the path of the program that runs as relay, wire and daemon, and the stop flag. Call
//! [`privileges::acquire`] first, while the process has one thread: it enters a user namespace unless the
//! user is root.
#![cfg(target_os = "linux")]

pub mod auto;
pub mod chain;
pub mod directory;
mod error;
mod guest_link;
pub mod guests;
mod lab;
mod lab_process;
pub mod peer_speed;
pub mod privileges;
pub mod roce;
pub mod stalls;
pub mod tcp;

pub use error::Error;
pub use lab::Lab;
