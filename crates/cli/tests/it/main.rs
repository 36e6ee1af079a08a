//! The real binary, as people and scripts use it.

mod bad_input;
mod captures;
mod check;
mod claims;
mod counter_files;
mod deadlock;
mod decode;
mod decode_tshark;
mod dissector;
mod documents;
mod explain;
mod explain_schema;
mod fleet;
mod model;
mod monitor;
mod perfetto;
mod planner;
mod program;
mod runs;
mod segments;
mod services;
mod surface;
mod sweep;
#[cfg(target_os = "linux")]
mod sweep_cluster;
mod traces;
mod tune;
#[cfg(target_os = "linux")]
mod wire;
