//! Forwarding entries that override the shortest path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::name::Line;
use crate::value::{self, Placed, SchemaOf};

/// A forwarding entry that overrides the shortest path, permanently or for a time: a wrong entry, a switch
/// that has not converged yet, or a longer path. While it is active, `switch` forwards frames for `to` to `next`.
/// Two entries that point at each other form a loop, in which frames circulate until their TTL expires
/// (`transport.ttl`, or `ttl` of a `cbr` workload): each switch decrements it and drops the frame at 0. If
/// several entries match a frame, an entry for its host takes precedence over an entry for its host's switch,
/// and that over `all`.
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
    /// The switch that has the entry.
    pub switch: Placed<Line>,
    /// Destination of the frames: a host, a switch (all hosts attached to it), or `all`.
    pub to: Placed<Line>,
    /// Next hop: a neighbour of the switch, or one of its links by name. With several links to the neighbour,
    /// each connection uses one of them.
    pub next: Placed<Line>,
    /// Start time.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub start: Time,
    /// End time. Default: the end of the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Time>")]
    pub stop: Option<Time>,
}
