//! Detects links that corrupt frames and explains why a link is slow (LG §3.6 and appendix C).
//!
//! A daemon reads the counters of its ports once a second. A [`PortMonitor`] turns two successive readings
//! into a number of received and of corrupted frames, although counters wrap, restart at zero or are
//! updated late. A [`Detector`] judges these samples. Nothing here reads a clock or draws random numbers:
//! equal readings give equal verdicts.

pub mod planner;
pub mod redis;

mod config;
mod counter;
mod counter_delta;
mod daemon;
mod daemon_event;
mod decision;
mod detector;
mod explain;
mod forecast;
mod frame_window;
mod name;
mod port_monitor;
mod protection_damper;
#[cfg(target_os = "linux")]
pub mod service;
mod snapshot;
mod source;

pub use config::{BadConfig, CounterFileKey, CounterSource, DaemonConfig, RedisConfig};
pub use counter::{Counter, Counters};
pub use counter_delta::{CounterDelta, MaxFrameRate, counter_delta};
pub use daemon::{ActionCounts, Daemon, Machine, RelayState};
pub use daemon_event::DaemonEvent;
pub use decision::{ActionConfig, DaemonMode, LinkConfig, LinkInput, Protector, decide};
pub use detector::{BadThresholds, Detector, LinkVerdict, LossEstimate, Thresholds};
pub use explain::{CounterGrowth, Explanation, LinkSide, Reason, SlowLinkCause, explain};
pub use forecast::{FecCounts, Forecast, ForecastChange, LossForecaster};
pub use frame_window::{FrameSample, FrameWindow};
pub use name::{Name, PortName};
pub use port_monitor::{FrameCounts, PortMonitor, PortReading, UnusedReadings};
pub use protection_damper::ProtectionDamper;
pub use snapshot::{BadRecording, PortSnapshot, RecordedSnapshot};
#[cfg(target_os = "linux")]
pub use source::DriverCounters;
pub use source::{
    CounterFile, CounterFileFormat, CounterGroup, SonicCounters, SysfsCounters, UnreadableCounter,
    counter_for_name,
};
