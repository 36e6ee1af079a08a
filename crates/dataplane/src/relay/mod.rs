//! The relay: a bump in the wire at each end of a link, which masks the link's losses from everything that crosses it.
//!
//! [`Bump`] is the data path, without clock or system call: frames of two ports in, frames out, an end of
//! `wiremend_proto::link` between them. [`Service`] puts it on real interfaces. While nothing is protected the kernel
//! joins the two ports by itself (`junction`), and the relay reads only frames of the link's own.
//!
//! A service is a process that may be killed. A [`Supervisor`] is another one, which has the interfaces in its [`Hold`], starts the service,
//! gives traffic to the kernel when that ends, and propagates carriers (`carrier`); [`metrics`] is how it all looks to Prometheus.

mod bump;
mod carrier;
mod classes;
mod counts;
mod hold;
mod junction;
pub mod metrics;
mod notices;
mod ports;
mod queue;
mod service;
mod settings;
mod status;
mod supervise;
mod unusable;
mod wishes;

pub use bump::{Bump, BumpConfig};
pub use classes::{Care, ClassError, Classes, Rule};
pub use counts::{ClassCounts, Counts};
pub use hold::{Hold, Restored, restore};
pub use service::{Ended, Service};
pub use settings::{PortKind, Settings};
pub use status::{Class, Recovery, Request, Status};
pub use supervise::Supervisor;
pub use unusable::Unusable;

use wishes::Wishes;

/// The control socket's name in a relay's directory.
pub const SOCKET: &str = "control";
/// The exit code of a relay whose clock is worn: another one takes over.
pub const WORN: i32 = 75;
