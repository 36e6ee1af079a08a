//! The lab: real kernels and real transports at the two ends of a link that we impair and protect. Linux only.
//!
//! A [`chain::Chain`] is host A, a relay, a wire, a relay and host B, in networks that nobody else sees: three namespaces held by
//! this process alone, and processes that end with it. [`tcp`] sends TCP over it, [`auto`] lets daemons mend it, [`roce`] puts machines with soft-RoCE in the place
//! of hosts ([`guests`]). A lab has a [`place::Place`], by which others find it.
//!
//! A [`Lab`] says which program plays relay, wire and daemon, and when everything has to end. [`rights::acquire`] comes first: whoever
//! is not root gets the right to make networks in a user namespace, while the process has one thread.
#![cfg(target_os = "linux")]

pub mod auto;
pub mod chain;
mod error;
pub mod guests;
mod lab;
mod part;
pub mod place;
pub mod rights;
pub mod roce;
pub mod tcp;

pub use error::Error;
pub use lab::Lab;
