//! Records of ports that daemons, planners and operators store in Redis.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::detector::LossEstimate;
use crate::name::Name;

/// A record about one port.
pub trait Record: Serialize + DeserializeOwned {
    /// Part of the Redis key.
    const KIND: &'static str;

    /// Returns whether the values are consistent.
    fn is_valid(&self) -> bool;
}

/// Loss and carrier state that a port observes on receive. Published by the node of the port.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// Loss of received frames, if the link corrupts.
    pub corrupting: Option<LossEstimate>,
    /// Number of the last repair that the daemon has processed.
    #[serde(default)]
    pub last_repair: u64,
    /// Whether the port has no carrier.
    #[serde(default)]
    pub down: bool,
    /// Loss that FEC counters predict, while it exceeds the threshold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<f64>,
}

/// A repair of a link, published by an operator. Its version is the number of the repair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairRecord {}

impl Record for RepairRecord {
    const KIND: &'static str = "repair";

    fn is_valid(&self) -> bool {
        true
    }
}

impl Record for Observation {
    const KIND: &'static str = "observation";

    fn is_valid(&self) -> bool {
        let ordered = |e: &LossEstimate| {
            e.errors <= e.frames && 0.0 <= e.low && e.low <= e.loss && e.loss <= e.high && e.high <= 1.0
        };
        let is_ratio = |loss: &f64| (0.0..=1.0).contains(loss);
        self.corrupting.as_ref().is_none_or(ordered) && self.forecast.as_ref().is_none_or(is_ratio)
    }
}

/// The sending end's reaction to the peer's observation. Published by the node of the port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRecord {
    /// Version of the observation that the action responds to.
    pub observation_version: u64,
    /// The action.
    pub action: LinkAction,
}

/// Action of a sending end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LinkAction {
    /// No protection is necessary.
    Nothing,
    /// Sent frames are protected.
    Protect {
        /// Number of copies of each retransmitted frame.
        copies: u8,
    },
    /// Protection is necessary, but the daemon may not or cannot protect.
    Decline {
        /// Reason.
        reason: String,
    },
}

impl Record for ActionRecord {
    const KIND: &'static str = "action";

    fn is_valid(&self) -> bool {
        match &self.action {
            LinkAction::Nothing => true,
            LinkAction::Protect { copies } => *copies >= 1,
            LinkAction::Decline { reason } => reason.len() <= 500,
        }
    }
}

/// Advice of the planner on a link, stored for the port at each of its ends.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// Advised action.
    pub action: AdvisedAction,
    /// Whether frames sent from this end should be protected while the link is in service.
    pub protect: bool,
    /// Whether daemons in mode `advised` act on it.
    pub binding: bool,
    /// Reason, with numbers.
    pub reason: String,
}

impl Advice {
    /// Advice on a link that nobody reports.
    pub fn nothing(binding: bool) -> Self {
        Self { action: AdvisedAction::Nothing, protect: false, binding, reason: String::new() }
    }
}

/// Advised action on a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdvisedAction {
    /// No action.
    Nothing,
    /// Keep the link in service, protected.
    Protect,
    /// Take the link out of service for repair.
    Drain,
    /// Keep the link unprotected: it can be neither drained nor protected.
    Wait,
}

impl AdvisedAction {
    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Protect => "protect",
            Self::Drain => "drain",
            Self::Wait => "wait",
        }
    }
}

impl Record for Advice {
    const KIND: &'static str = "advice";

    fn is_valid(&self) -> bool {
        self.reason.len() <= 500
    }
}

/// Whether planners are halted because too many links failed at once. Set by the planner, cleared by an operator.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HaltRecord {
    /// Whether planners are halted.
    pub halted: bool,
    /// Reason.
    pub reason: String,
    /// Nodes that reported too many failures, so that new ones are not acted on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Name>,
}

impl HaltRecord {
    /// Maximum number of distrusted nodes. With more of them the whole fabric is halted.
    pub const NODES_MAX: usize = 32;
}

impl Record for HaltRecord {
    const KIND: &'static str = "halt";

    fn is_valid(&self) -> bool {
        self.reason.len() <= 500 && self.nodes.len() <= Self::NODES_MAX
    }
}

/// An operator's hold of a port: daemon and planner change nothing at it. Published by the node of the
/// port or by a planner.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoldRecord {
    /// End of the hold by the server's clock, in milliseconds since 1970; 0 if the hold was ended.
    pub until_ms: u64,
    /// Why the port is held.
    pub why: String,
    /// Whether the link is under maintenance: it counts as out of service, and its loss is no failure.
    #[serde(default)]
    pub maintenance: bool,
}

impl HoldRecord {
    /// Longest hold: 30 days.
    pub const LENGTH_MAX_MS: u64 = 30 * 24 * 3_600_000;
    /// Maximum length of the reason.
    pub const WHY_MAX: usize = 200;

    /// A hold that was ended.
    pub fn ended() -> Self {
        Self { until_ms: 0, why: String::new(), maintenance: false }
    }

    /// Returns the time left at this time of the server. An end beyond the longest hold is a mistake or a
    /// clock that was set back: such a hold does not count.
    pub fn left_ms(&self, now_ms: u64) -> Option<u64> {
        let left = self.until_ms.checked_sub(now_ms)?;
        (left > 0 && left <= Self::LENGTH_MAX_MS).then_some(left)
    }
}

impl Record for HoldRecord {
    const KIND: &'static str = "hold";

    fn is_valid(&self) -> bool {
        self.why.len() <= Self::WHY_MAX
    }
}
