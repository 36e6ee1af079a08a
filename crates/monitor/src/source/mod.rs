//! Where counters come from.

mod names;
mod sonic;
mod sysfs;

pub use names::{Group, counter_of};
pub use sonic::Sonic;
pub use sysfs::{Missing, Sysfs};
