//! Links that mend their own losses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span, Time};

use crate::impair::Direction;
use crate::name::LinkSet;
use crate::quantity::{Probability, Within};
use crate::value::{self, Placed, Shown};

/// Links between switches whose two ends send again what the link corrupts, before anyone else notices (LinkGuardian,
/// Joshi et al., SIGCOMM 2023). Without this table, none does. A link belongs to one such table at most.
///
/// All times and thresholds follow from the rate of the link and its round trip, which its ends measure when they start.
///
/// ```toml
/// [[protect]]
/// links = "switches"
/// by = "linkguardian"
/// target = "1e-8"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protect {
    /// Which links. A link is called by its two ends: `"leaf0-spine1"`.
    pub links: Placed<LinkSet>,
    /// In which direction frames are protected. The other carries acknowledgements.
    #[serde(default)]
    pub direction: Direction,
    /// By what.
    pub by: Scheme,
    /// Whose protocol.
    #[serde(default)]
    pub profile: Profile,
    /// Traffic classes that need not keep their order, whatever `by` says: their frames never wait for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unordered: Vec<Within<u8, 0, 7>>,
    /// The loss that may remain.
    #[serde(default = "target")]
    pub target: Probability,
    /// The loss of the link as far as it is known; the ends go by it until they have measured it.
    #[serde(default = "loss")]
    pub loss: Probability,
    /// Copies of a frame that is sent again. If left out, as many as bring the measured loss below the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Within<u8, 1, 4>>,
    /// Dummies when a port falls idle. Each shows that frames before it are missing.
    #[serde(default = "dummies")]
    pub dummies: Within<u8, 0, 16>,
    /// How often a notification, a pause or its end is sent: more than once where the way back corrupts too.
    #[serde(default = "control_copies")]
    pub control_copies: Within<u8, 1, 8>,
    /// Room for frames that are sent and not yet acknowledged.
    #[serde(default = "buffer", with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub tx_buffer: Bytes,
    /// Room for frames that wait for an earlier one.
    #[serde(default = "buffer", with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub rx_buffer: Bytes,
    /// The sender is asked to pause when so much waits for an earlier frame. If left out, it follows from the link.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub pause_at: Option<Bytes>,
    /// The sender is asked to go on when so little waits. If left out, it follows from the link.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub resume_at: Option<Bytes>,
    /// Whether the sender is asked to pause at all. Without it the buffer overflows.
    #[serde(default = "backpressure")]
    pub backpressure: bool,
    /// How long a missing frame is waited for. If left out, it follows from the link.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub give_up: Option<Span>,
    /// From when on.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Time>")]
    pub start: Time,
    /// Until when; if left out, without end.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Time>")]
    pub stop: Option<Time>,
}

fn target() -> Probability {
    Probability::fixed(1e-8)
}

fn loss() -> Probability {
    Probability::fixed(1e-4)
}

fn dummies() -> Within<u8, 0, 16> {
    Within::fixed(3)
}

fn control_copies() -> Within<u8, 1, 8> {
    Within::fixed(1)
}

fn buffer() -> Bytes {
    Bytes::new(200_000)
}

fn backpressure() -> bool {
    true
}

/// Whose protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Ours: what the prototype cannot do, and ends that keep frames in memory.
    #[default]
    Hardened,
    /// The published prototype, register by register, on its switch: buffers turn through a loopback port of 100 Gb/s that the
    /// protected ports of a switch share, and a frame is examined once a turn. It was built for links of 10, 25 and 100 Gb/s, knows one
    /// order for all classes, and both ends start at once; `give_up`, `pause_at` and `resume_at` are the published ones if left out,
    /// and `control_copies` is 1.
    Paper,
}

/// What mends a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// Retransmission over the link; frames keep their order.
    Linkguardian,
    /// Retransmission over the link; what is sent again comes late, and nothing waits for it.
    LinkguardianNb,
}
