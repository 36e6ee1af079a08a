//! The relay: a bump in the wire at each end of a link, which masks the link's losses from everything that crosses it.
//!
//! [`Bump`] is the data path, without clock or system call: frames of two ports in, frames out, an end of
//! `wiremend_proto::link` between them. [`Service`] puts it on real interfaces. While nothing is protected the kernel
//! joins the two ports by itself (`junction`), and the relay reads only frames of the link's own.

mod bump;
mod counts;
mod junction;
mod ports;
mod queue;
mod service;
mod settings;
mod status;
mod supervise;

pub use bump::{Bump, BumpConfig};
pub use counts::Counts;
pub use ports::Unusable;
pub use service::{Ended, Service};
pub use settings::Settings;
pub use status::{Recovery, Request, Status};
pub use supervise::supervise;

/// The control socket's name in a relay's directory.
pub const SOCKET: &str = "control";
/// The exit code of a relay whose clock is worn: another one takes over.
pub const WORN: i32 = 75;
