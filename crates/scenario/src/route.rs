//! Entries of forwarding tables that are not the shortest way.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::name::Line;
use crate::value::{self, Placed, Shown};

/// A forwarding entry that overrules the shortest way, for good or for a while: a wrong entry, a switch that has not
/// converged yet, a detour. While it lasts, frames to `to` that come to `switch` leave for `next`, wherever that leads. Two such entries
/// that send to each other are a loop, in which frames run around until their TTL is used up (`transport.ttl`, `ttl` of a
/// `cbr` workload): each switch takes 1 from it and drops a frame at 0. Of entries that all fit a frame, one for its host counts more
/// than one for the hosts of its switch, and that more than one for all.
///
/// ```toml
/// [[route]]
/// switch = "s1"
/// to = "h3"
/// next = "s0"
/// start = "1ms"
/// stop = "4ms"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The switch whose entry it is.
    pub switch: Placed<Line>,
    /// Where the frames go to that it holds for: a host, a switch for all hosts on it, or `all`.
    pub to: Placed<Line>,
    /// Where they leave for: a neighbour of the switch, or one of its links by name. Of several links to a neighbour, each connection
    /// keeps to one.
    pub next: Placed<Line>,
    /// From when on.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Time>")]
    pub start: Time,
    /// Until when; if left out, without end.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Time>")]
    pub stop: Option<Time>,
}
