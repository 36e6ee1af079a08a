//! Ports that are told to wait.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::impair::Direction;
use crate::name::LinkSet;
use crate::quantity::Within;
use crate::value::{self, Placed, Shown};

/// Ports that hold a traffic class for a while, as if the other end of their link had sent them a PAUSE frame for it
/// (IEEE 802.1Qbb); hosts obey as switches do. Other classes go on. No frame of the class begins to leave at `start` or
/// later and before `stop`; one that has begun is finished. Where several of these tables meet, the class waits while
/// one of them says so. At a port that PFC frames reach as well ([switch.lossless](#switchlossless)), the later word counts.
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
    /// On which links. A link is called by its two ends: `"h0-tor"`.
    pub links: Placed<LinkSet>,
    /// In which direction: the port that sends this way waits.
    #[serde(default)]
    pub direction: Direction,
    /// Which traffic class.
    pub class: Within<u8, 0, 7>,
    /// From when on.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Time>")]
    pub start: Time,
    /// Until when; if left out, without end.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Time>")]
    pub stop: Option<Time>,
}
