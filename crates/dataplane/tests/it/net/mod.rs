//! Interfaces, filters and offloads of a real kernel, in a network namespace per test.
//!
//! Without root each test runs itself again in a user namespace. If that is not allowed, the test is skipped,
//! or fails if `CI` is set.

mod interfaces;
pub(crate) mod namespace;
mod offloads;
mod rules;
