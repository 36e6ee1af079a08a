//! Control requests to a relay, and its status.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use wiremend_proto::link::{Endpoint, ProtectionLevel, RecoveryDelays};
use wiremend_units::Span;

use super::{ClassCounts, ClassRule, Counts, KeyMismatch, ProtectionMode};
use crate::control;
use crate::pool::Slot;

/// A control request to a relay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Returns the status.
    Status,
    /// Protects the sending direction.
    Activate,
    /// Ends protection of the sending direction.
    Deactivate,
    /// Changes settings; absent fields are unchanged.
    Set {
        /// Protection mode of frames that match no class.
        mode: Option<ProtectionMode>,
        /// Replaces all classes.
        classes: Option<Vec<ClassRule>>,
        /// Number of copies of each retransmitted frame; 0: as the measured loss requires.
        copies: Option<u8>,
        /// Loss rate that may remain.
        target: Option<f64>,
    },
}

impl control::Request for Request {
    fn is_change(&self) -> bool {
        *self != Self::Status
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Set { mode, classes, copies, target } = self else {
            return f.write_str(match self {
                Self::Activate => "protect what is sent",
                Self::Deactivate => "do not protect what is sent",
                Self::Status | Self::Set { .. } => "status",
            });
        };
        f.write_str("set")?;
        if let Some(mode) = mode {
            write!(f, " mode={}", mode.name())?;
        }
        if let Some(classes) = classes {
            let words: Vec<_> = classes.iter().map(ToString::to_string).collect();
            write!(f, " class={}", if words.is_empty() { "none".to_owned() } else { words.join(",") })?;
        }
        match copies {
            Some(0) => f.write_str(" copies=measured")?,
            Some(copies) => write!(f, " copies={copies}")?,
            None => {}
        }
        target.map_or(Ok(()), |target| write!(f, " target-loss={target:e}"))
    }
}

/// Status of a relay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Process id of the forwarding process.
    pub pid: u32,
    /// The LAN interface.
    pub lan: String,
    /// The link interface.
    pub link: String,
    /// Type of the link port.
    pub port: String,
    /// Age of the forwarding process.
    pub uptime_s: f64,
    /// Whether protection of the sending direction is switched on.
    pub wanted: bool,
    /// Whether the sending direction is protected.
    pub sending: bool,
    /// Whether the receiving direction is protected.
    pub receiving: bool,
    /// Current level: `ordered`, `non-blocking` or `pass-through`. High loss lowers it.
    pub protection_level: String,
    /// Protection mode of frames that match no class.
    pub mode: ProtectionMode,
    /// Frames from the LAN by class. The last entry counts frames that match no class.
    pub classes: Vec<Class>,
    /// Rate of the link.
    pub rate_bits_per_s: u64,
    /// Round trip time that both ends agreed on.
    pub rtt_ns: Option<u64>,
    /// Measured loss rate of the sending direction.
    pub loss: Option<f64>,
    /// Number of copies of each retransmitted frame.
    pub copies: u8,
    /// Counters of the data path.
    pub counts: Counts,
    /// Counters of the endpoint.
    pub link_counts: BTreeMap<String, u64>,
    /// Bytes kept for retransmission.
    pub tx_buffer_bytes: u64,
    /// Bytes that wait for an earlier frame.
    pub rx_buffer_bytes: u64,
    /// Number of frames in the pool.
    pub pool_used: u64,
    /// Memory for frames in bytes if all of it is used, with the rings of the ports.
    #[serde(default)]
    pub memory_max: u64,
    /// Frames dropped because the receive ring was full, from the LAN and from the link.
    pub kernel_dropped: [u64; 2],
    /// Frames that the kernel forwarded from the LAN and from the link since protection last ended.
    pub kernel_forwarded: [u64; 2],
    /// Of these, frames that the other interface did not accept.
    pub kernel_redirect_failed: [u64; 2],
    /// Frames lost while a direction changed between the kernel and the relay.
    #[serde(default)]
    pub handover_lost: u64,
    /// Frames that the kernel may have overtaken when it took a direction over.
    #[serde(default)]
    pub handover_late: u64,
    /// Why protection is off although it is switched on.
    #[serde(default)]
    pub held_back: Option<String>,
    /// `EtherType` of the link header of the other end, if it differs from ours.
    #[serde(default)]
    pub peer_ethertype: Option<u16>,
    /// Address of the other end, if control frames from others do not count.
    #[serde(default)]
    pub peer_address: Option<String>,
    /// Whether control frames of the link need a seal.
    #[serde(default)]
    pub keyed: bool,
    /// How the key of the other end differs from ours, if that may be why no direction is protected.
    #[serde(default)]
    pub key_mismatch: Option<KeyMismatch>,
    /// Whether the LAN and the link have a carrier.
    pub carrier: [bool; 2],
    /// Version of the peer's link header, if it differs from ours.
    pub peer_version: Option<u8>,
    /// Parse error of the last malformed link frame.
    pub malformed_because: Option<String>,
    /// Recovery times.
    pub recovery: Recovery,
}

/// A class of frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The matched frames; `other` for frames that match no class.
    pub class: String,
    /// The protection mode.
    pub protection: ProtectionMode,
    /// Counters since the class exists.
    #[serde(flatten)]
    pub counts: ClassCounts,
}

/// Times from the detection of a gap to the arrival of the missing frame.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// Number of recoveries.
    pub count: u64,
    /// Sum of all times.
    pub sum_ns: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Maximum.
    pub max_ns: u64,
    /// Upper edge and count of each histogram bucket that is not empty.
    pub buckets: Vec<(u64, u64)>,
}

impl Recovery {
    pub(super) fn from_delays(delays: &RecoveryDelays) -> Self {
        Self {
            count: delays.count(),
            sum_ns: delays.sum().as_ns(),
            p50_ns: delays.quantile_per_mille(500).map(Span::as_ns),
            p99_ns: delays.quantile_per_mille(990).map(Span::as_ns),
            max_ns: delays.max().as_ns(),
            buckets: delays
                .buckets()
                .filter(|(_, count)| *count > 0)
                .map(|(edge, count)| (edge.as_ns(), count))
                .collect(),
        }
    }
}

pub(super) fn level_name(end: &Endpoint<Slot>) -> &'static str {
    match end.protection_level() {
        ProtectionLevel::Ordered => "ordered",
        ProtectionLevel::NonBlocking => "non-blocking",
        ProtectionLevel::PassThrough => "pass-through",
    }
}

pub(super) fn link_counts(end: &Endpoint<Slot>) -> BTreeMap<String, u64> {
    let name = |name: &str| name.strip_prefix("link.").unwrap_or(name).to_owned();
    end.counters().named().into_iter().map(|(key, count)| (name(key), count)).collect()
}
