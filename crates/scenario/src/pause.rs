//! Scripted pauses of ports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::impair::Direction;
use crate::name::LinkSet;
use crate::quantity::Within;
use crate::value::{self, Placed, SchemaOf};

/// Pauses one traffic class at some ports for a time, as if the other end of the link had sent a PFC PAUSE
/// frame (IEEE 802.1Qbb). Hosts and switches pause alike; other classes continue. No frame of the class starts
/// transmission from `start` until `stop`; a frame in transmission is completed. If several tables match a
/// port, the class is paused while any of them applies. At a port that also receives PFC frames
/// ([switch.lossless](#switchlossless)), the latest command applies.
///
/// ```toml
/// [[pause]]
/// links = "h0-tor"
/// direction = "backward"
/// class = 3
/// start = "10us"
/// stop = "50us"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The links. A link is named by its two ends: `"h0-tor"`.
    pub links: Placed<LinkSet>,
    /// The direction; the port that sends in this direction pauses.
    #[serde(default)]
    pub direction: Direction,
    /// The traffic class.
    pub class: Within<u8, 0, 7>,
    /// Start time.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub start: Time,
    /// End time. Default: the end of the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Time>")]
    pub stop: Option<Time>,
}
