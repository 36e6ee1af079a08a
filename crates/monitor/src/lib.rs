//! Finds links that corrupt, and says why a link is slow (LG §3.6 and appendix C).
//!
//! A switch or a host reads the counters of its ports once a second. From reading to reading a [`Port`] makes of them how many
//! frames came and how many were bad, whatever registers do meanwhile: they run over, begin anew, lag behind. A
//! [`Detector`] judges these samples. No clock is read here and nothing is drawn: the same readings give the same verdicts.

pub mod bus;
pub mod control;

mod agent;
mod config;
mod counter;
mod daemon;
mod detector;
mod explain;
mod foresight;
mod name;
mod port;
mod register;
#[cfg(target_os = "linux")]
pub mod service;
mod snapshot;
mod source;
mod window;

pub use agent::{Conduct, Known, Link, Mode, Protect, decide};
pub use config::{BadConfig, Config, CounterSource, RedisConfig};
pub use counter::{Counter, Counters};
pub use daemon::{Daemon, Event, Machine, Tally};
pub use detector::{Detector, Estimate, Thresholds, Unusable, Verdict};
pub use explain::{Cause, End, Explanation, Growth, Reason, explain};
pub use foresight::{Fec, Forecast, Foreseen, Foresight};
pub use name::{Name, PortName};
pub use port::{Counted, Port, Reading, Untold};
pub use register::{Pace, Step, step};
pub use snapshot::{Record, Snapshot, Unreadable};
pub use source::{Group, Missing, Sonic, Sysfs, counter_of};
pub use window::{Sample, Window};
