//! The real binary, as people and scripts use it.

mod bad_input;
mod captures;
mod check;
mod claims;
mod deadlock;
mod decode;
mod dissector;
#[cfg(target_os = "linux")]
mod endurance;
mod fleet;
mod lab;
#[cfg(target_os = "linux")]
mod line;
mod model;
mod monitor;
mod planner;
mod program;
mod relay;
#[cfg(target_os = "linux")]
mod relay_classes;
mod relay_metrics;
mod relay_net;
mod runs;
mod segments;
mod traces;
mod tune;
#[cfg(target_os = "linux")]
mod two_hosts;
