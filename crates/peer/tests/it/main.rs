//! Two endpoints back to back on a fake clock, and a hostile peer.

mod allocations;
mod congestion;
mod connection_manager;
mod corpus;
#[path = "../../../proto/tests/it/counting_allocator.rs"]
mod counting_allocator;
mod duo;
mod hostile;
mod losses;
mod swarm;
mod verbs;
