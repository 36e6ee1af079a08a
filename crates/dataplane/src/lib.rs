//! The data plane on Linux: ports, the [`relay`] that protects a link, and the [`wire`] that impairs one.
//!
//! The relay runs the protocol core of `wiremend_proto::link`, which the simulator runs as well. This crate
//! adds a clock and two ports. [`sys`] wraps all system calls and is the only module with `unsafe` code.
//! [`net`] builds on it to read and configure network interfaces.
#![cfg(target_os = "linux")]

pub mod control;
pub mod event_loop;
pub mod http;
pub mod memory_port;
pub mod metrics;
pub mod net;
pub mod pacer;
pub mod pool;
pub mod port;
pub mod relay;
pub mod socket_file;
pub mod sys;
pub mod wire;
