//! The real binary, as people and scripts use it.

mod bad_input;
mod captures;
mod claims;
mod decode;
mod dissector;
#[cfg(target_os = "linux")]
mod endurance;
mod lab;
mod model;
mod program;
mod runs;
mod traces;
mod tune;
