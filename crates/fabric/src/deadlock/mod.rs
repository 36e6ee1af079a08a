//! Whether a lossless network can lock up: which buffers wait for which, and in what circles.

mod check;
mod cycle;
mod dependency;
mod filling;
mod mesh;
mod survey;
mod ways;

pub use check::{
    Check, CheckError, Component, Cycle, DEPENDENCY_BYTES_MAX, Destination, Order, Override, Verdict,
};
pub use filling::{Alpha, RoutingLoop};
pub use survey::{CASES_MAX, Case, Failures, Reroute, Survey};
