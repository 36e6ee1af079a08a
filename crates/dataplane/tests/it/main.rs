//! The data plane as it is used: bumps back to back in memory, and relays on real interfaces.

mod bump;
mod bumps;
mod classes;
mod corpus;
mod statistics;
mod xdp;
