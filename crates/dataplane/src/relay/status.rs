//! What a relay says of itself.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiremend_proto::link::{Endpoint, RecoveryDelays, Stance};
use wiremend_units::Span;

use super::{Care, ClassCounts, Counts, Rule};
use crate::control;
use crate::pool::Slot;

/// What can be asked of a relay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How it stands.
    Status,
    /// Protect what is sent from here.
    Activate,
    /// Protect it no longer.
    Deactivate,
    /// Go by something else from here on.
    Set {
        /// How frames are carried that are of no class.
        mode: Option<Care>,
        /// The classes of frames, in place of those there were.
        classes: Option<Vec<Rule>>,
        /// So many copies of what is asked for; 0: by the loss that is measured.
        copies: Option<u8>,
        /// The loss that may remain.
        target: Option<f64>,
    },
}

impl control::Request for Request {
    fn changes(&self) -> bool {
        *self != Self::Status
    }
}

/// How a relay stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Of the program.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The two interfaces.
    pub lan: String,
    /// See `lan`.
    pub link: String,
    /// How frames come in and go out.
    pub port: String,
    /// Since its start.
    pub uptime_s: f64,
    /// Protection of what is sent was asked for.
    pub wanted: bool,
    /// What is sent is protected.
    pub sending: bool,
    /// What arrives is protected.
    pub receiving: bool,
    /// How far protection goes.
    pub stance: String,
    /// How frames are carried that are of no class.
    pub mode: Care,
    /// What came from the LAN by class; the last are those of no class.
    pub classes: Vec<Class>,
    /// Of the link.
    pub rate_bits_per_s: u64,
    /// Of what is sent, as it was agreed upon.
    pub rtt_ns: Option<u64>,
    /// Of what is sent, as it was measured.
    pub loss: Option<f64>,
    /// Copies of what is asked for.
    pub copies: u8,
    /// Frames, bytes and drops of the relay.
    pub counts: Counts,
    /// What the end of the link has counted.
    pub link_counts: BTreeMap<String, u64>,
    /// Bytes that are kept for the other end, and bytes that wait for an earlier frame.
    pub tx_buffer_bytes: u64,
    /// See `tx_buffer_bytes`.
    pub rx_buffer_bytes: u64,
    /// Frames in memory.
    pub pool_used: u64,
    /// Frames that the kernel had no room for, on the side of the LAN and of the link.
    pub kernel_dropped: [u64; 2],
    /// Frames that the kernel has forwarded from the LAN and from the link since protection of each last ended.
    pub kernel_forwarded: [u64; 2],
    /// Of these, frames that the other interface did not take.
    pub kernel_untaken: [u64; 2],
    /// Whether the LAN and the link have a carrier.
    pub carrier: [bool; 2],
    /// The version of the link header that the other end speaks, if it is another one.
    pub peer_version: Option<u8>,
    /// What was wrong with the last frame that could not be read.
    pub malformed_because: Option<String>,
    /// How long recovery took.
    pub recovery: Recovery,
}

/// A class of frames.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// Which frames; `other`: those of no class.
    pub class: String,
    /// How they are carried.
    pub care: Care,
    /// What was counted while there was such a class.
    #[serde(flatten)]
    pub counts: ClassCounts,
}

/// How long it took from a gap that was seen to the frame that filled it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// How many.
    pub count: u64,
    /// Of all together.
    pub sum_ns: u64,
    /// Half of them took at most this, and so on.
    pub p50_ns: Option<u64>,
    /// See `p50_ns`.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub max_ns: u64,
    /// The upper edge of each bucket that has something in it, and how much.
    pub buckets: Vec<(u64, u64)>,
}

impl Recovery {
    pub(super) fn of(delays: &RecoveryDelays) -> Self {
        Self {
            count: delays.count(),
            sum_ns: delays.sum().as_ns(),
            p50_ns: delays.per_mille(500).map(Span::as_ns),
            p99_ns: delays.per_mille(990).map(Span::as_ns),
            max_ns: delays.max().as_ns(),
            buckets: delays
                .buckets()
                .filter(|(_, count)| *count > 0)
                .map(|(edge, count)| (edge.as_ns(), count))
                .collect(),
        }
    }
}

pub(super) fn stance_name(end: &Endpoint<Slot>) -> &'static str {
    match end.stance() {
        Stance::Ordered => "ordered",
        Stance::NonBlocking => "non-blocking",
        Stance::PassThrough => "pass-through",
    }
}

pub(super) fn link_counts(end: &Endpoint<Slot>) -> BTreeMap<String, u64> {
    let name = |name: &str| name.strip_prefix("link.").unwrap_or(name).to_owned();
    end.counters().named().into_iter().map(|(key, count)| (name(key), count)).collect()
}
