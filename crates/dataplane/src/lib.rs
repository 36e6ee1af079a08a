//! The real wire: Linux ports, the relay that protects a link, and the wire that impairs one.
//!
//! The protocol is `wiremend_proto::link`, the same that the simulator measures. This crate gives it a clock and two ports.
//! All system calls are in [`sys`], which is the only place with `unsafe`; [`net`] says with them what interfaces there are and
//! how they are joined.
#![cfg(target_os = "linux")]

pub mod cable;
pub mod control;
pub mod drive;
pub mod memory;
pub mod metrics;
pub mod net;
pub mod pace;
pub mod pool;
pub mod port;
pub mod relay;
pub mod sys;
