//! `wiremend lab stalls --part ping-pong`: WRITEs of a kernel and of `wiremend peer` in turn.

use serde::{Deserialize, Serialize};

use super::MessageTimes;

/// WRITEs of one end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PingPongWrites {
    /// Number of WRITEs.
    pub count: u64,
    /// Expiries of the timer while a WRITE was outstanding.
    pub timeouts: u64,
    /// Completion times of WRITEs that lost their packet once, and nothing else.
    pub lost_packet: Option<MessageTimes>,
    /// Completion times of WRITEs that lost their acknowledgement once, and nothing else.
    pub lost_ack: Option<MessageTimes>,
}

/// A ping-pong with the kernel, or in the simulator.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PingPongTimes {
    /// From a WRITE of the first end to its next one.
    pub iterations: MessageTimes,
    /// 99.9 % of them took at most this long.
    pub p999_ms: f64,
    /// The longest one.
    pub longest_ms: f64,
    /// WRITEs of the kernel, which writes first, and of `wiremend peer`.
    pub writes: [PingPongWrites; 2],
}

/// A set-up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PingPongRow {
    /// Loss rate, and remedies of `wiremend peer`.
    pub set_up: String,
    /// With the kernel.
    pub kernel: PingPongTimes,
    /// In the simulator.
    pub simulator: PingPongTimes,
}

/// The ends that write, in the order of [`PingPongTimes::writes`].
pub const ENDS: [&str; 2] = ["kernel", "peer"];
