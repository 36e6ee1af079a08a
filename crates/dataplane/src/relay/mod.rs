//! The relay: a bump in the wire at each end of a link, which hides the losses of the link by retransmission.
//!
//! [`DataPath`] moves frames between two ports through an endpoint of `wiremend_proto::link`. It has no clock
//! and makes no system call. [`Service`] runs it on real interfaces. While a direction is not protected, the
//! kernel forwards its frames (`traffic_owner`) and the relay reads control frames of the link only.
//!
//! The service is the forwarding process. A [`Supervisor`] in another process holds the [`InterfaceLease`],
//! starts the service, hands traffic to the kernel when the service dies, and propagates carrier loss
//! (`carrier`). [`metrics`] exports the status to Prometheus.

mod carrier;
mod classifier;
mod counts;
mod datapath;
mod error;
mod guard;
mod handover;
mod health;
mod interface_lease;
mod link_key;
pub mod metrics;
mod mtu_watch;
mod notices;
mod policer;
mod ports;
mod queue;
mod reload;
mod runtime_settings;
mod sealed_session;
mod service;
mod settings;
mod status;
mod supervisor;
mod traffic_owner;

pub use classifier::{ClassError, ClassRule, Classifier, ProtectionMode};
pub use counts::{ClassCounts, Counts};
pub use datapath::{DataPath, DataPathConfig};
pub use error::RelayError;
pub use guard::{KeyMismatch, Trust};
pub use interface_lease::{InterfaceLease, Restored, restore};
pub use link_key::{KeyFileError, LinkKey};
pub use service::{ExitReason, Service};
pub use settings::{PortKind, Settings};
pub use status::{Class, Recovery, Request, Status};
pub use supervisor::{Supervisor, SupervisorSignals};

use runtime_settings::RuntimeSettings;

/// Name of the control socket in the directory of a relay.
pub const SOCKET: &str = "control";
/// Exit code of a forwarding process that another must replace: the supervisor starts one.
pub const RESTART: i32 = 75;
