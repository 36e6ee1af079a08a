//! Sources of counters.

mod counter_names;
mod sonic;
mod sysfs;

pub use counter_names::{CounterGroup, counter_for_name};
pub use sonic::SonicCounters;
pub use sysfs::{SysfsCounters, UnreadableCounter};
