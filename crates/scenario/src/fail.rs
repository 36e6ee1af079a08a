//! Links and switches that fail.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span, Time};

use crate::name::{LinkSet, SwitchSet};
use crate::pattern::CheckError;
use crate::quantity::Probability;
use crate::value::{self, Place, Placed, SchemaOf};

/// A failure of links, or of whole switches: once, periodically, or at random times. A failed link loses every
/// frame that it sends or that is on its way, in both directions; its ports go on sending. A failed switch is a
/// switch of which all links fail. PFC pauses of a port end when its link fails.
///
/// Routing learns of a change that lasts for `detect`, and after `reroute` all switches use the shortest paths of
/// the remaining links between switches, or those that are farther away later (`reroute_per_hop`). Until then switches
/// send frames to the failed link. While a switch has no
/// path to a host, it drops frames to it. Without `detect` routing never learns of the failure.
///
/// ```toml
/// [topology]
/// kind = "leaf-spine"
/// leaves = 2
/// spines = 2
/// hosts_per_leaf = 2
///
/// [[fail]]
/// links = "leaf0-spine1"
/// start = "100us"
/// down = "1ms"
/// detect = "50us"
/// reroute = "20us"
/// ```
///
/// A link that flaps, and a switch that loses the packets of a tenth of all flows:
///
/// ```toml
/// [topology]
/// kind = "leaf-spine"
/// leaves = 2
/// spines = 2
/// hosts_per_leaf = 2
///
/// [stop]
/// after = "100ms"
///
/// [[fail]]
/// links = "leaf0-spine1"
/// down = "10us"
/// up = "2ms"
/// random = true
///
/// [[fail]]
/// switches = "spine0"
/// flows = 0.1
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fail {
    /// The links that fail. A link is named by its two ends: `"leaf0-spine1"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Placed<LinkSet>>,
    /// The switches that fail, instead of `links`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Placed<SwitchSet>>,
    /// Start of the first failure.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub start: Time,
    /// Duration of a failure. Default: until the end of the run.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub down: Option<Span>,
    /// Time from the end of a failure to the next one. Default: there is one failure.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub up: Option<Span>,
    /// Whether each link or switch draws its own times, exponentially distributed with the means `down` and `up`. The
    /// first failure then comes a time of mean `up` after `start`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random: bool,
    /// No failure starts at this time or later. Default: the end of the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Time>")]
    pub stop: Option<Time>,
    /// Share of flows whose frames are lost, chosen by a hash of source, destination and UDP port: below 1, a gray
    /// failure, which does not end pauses.
    #[serde(default = "every_flow")]
    pub flows: Probability,
    /// Time until a change of the link is detected; a shorter change is not. Default: never.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub detect: Option<Span>,
    /// Time from the detection until all switches use new routes.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub reroute: Span,
    /// How much later a switch uses new routes for each hop between it and the link: a routing protocol that converges
    /// hop by hop. Switches that disagree meanwhile may form loops. Default: all switches change together.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub reroute_per_hop: Span,
    /// Memory of each port of the link for frames that the link loses before routing avoids it, as in SQR (Qu et al.,
    /// ICNP 2019). When the switches at the link use new routes, it sends them over these, one after the other at the
    /// rate of the link. What does not fit is lost. Not with protected links or a lossless class. Default: nothing is
    /// kept.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub cache: Option<Bytes>,
}

fn every_flow() -> Probability {
    Probability::ONE
}

impl Fail {
    /// Checks that the fields fit together.
    pub(crate) fn check(&self) -> Result<(), CheckError> {
        let why = match (&self.links, &self.switches, self.down, self.up) {
            (None, None, ..) => "nothing fails; name `links` or `switches`",
            (Some(_), Some(_), ..) => "both `links` and `switches`; write a table for each",
            (_, _, None, Some(_)) => "`up` without `down`; set how long a failure lasts",
            (_, _, _, None) if self.random => "`random` without `up`; set both means, `down` and `up`",
            _ if self.stop.is_some_and(|stop| stop <= self.start) => {
                "`stop` is not later than `start`; set a later time"
            }
            _ if self.flows == Probability::ZERO => "`flows` is 0, so nothing is lost; set a share above 0",
            _ if self.detect.is_none() && self.reroute + self.reroute_per_hop > Span::ZERO => {
                "`reroute` or `reroute_per_hop` without `detect`; routing reacts only to failures that it detects"
            }
            _ if self.cache.is_some() && self.detect.is_none() => {
                "`cache` without `detect`; frames are kept until routing has detected the failure"
            }
            _ => return Ok(()),
        };
        Err((Place(None), why.to_owned()))
    }
}
