//! Where counters come from.

mod names;
mod sysfs;

pub use names::{Group, counter_of};
pub use sysfs::{Missing, Sysfs};
