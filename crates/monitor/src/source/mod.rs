//! Sources of counters.

mod counter_file;
mod counter_names;
#[cfg(target_os = "linux")]
mod driver;
mod openconfig;
mod prometheus_text;
mod sonic;
mod sysfs;

pub use counter_file::{CounterFile, CounterFileFormat};
pub use counter_names::{CounterGroup, counter_for_name};
#[cfg(target_os = "linux")]
pub use driver::DriverCounters;
pub use sonic::SonicCounters;
pub use sysfs::{SysfsCounters, UnreadableCounter};
