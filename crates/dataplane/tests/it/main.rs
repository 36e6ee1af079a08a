//! The data plane as it is used: bumps back to back in memory, relays on real interfaces, and the kernel they stand on.
#![cfg(target_os = "linux")]

mod bump;
mod bumps;
mod classes;
mod corpus;
mod net;
mod statistics;
mod xdp;
