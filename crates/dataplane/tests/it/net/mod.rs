//! Interfaces, filters and offloads of a real kernel, in network namespaces that each test makes for itself.
//!
//! As root they run as they are. Without, each test starts itself once more in a user namespace; where there are none it says
//! so and is skipped, or fails if `CI` is set.

mod interfaces;
mod offloads;
mod own;
mod rules;
