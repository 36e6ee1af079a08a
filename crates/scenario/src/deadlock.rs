//! Detection of deadlocks, and remedies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::quantity::Within;
use crate::value::{self, Placed, SchemaOf};

/// Detection of deadlocks of lossless switches by the simulator. It sees all switches at the same instant, so
/// its result is the ground truth for the remedies below.
///
/// It searches for ports that wait for each other in a cycle: each has paused a class because the next switch
/// sent a PFC frame, and all frames of the class that entered that switch through it wait in ports of the same
/// kind, so that the switch could not resume it even if all other frames left. No such port may have moved
/// for `still`. A deadlock that it finds is permanent unless frames are dropped. The deadlock is dated to the
/// instant when the last port of the cycle was paused, which depends neither on `every` nor on `still`.
///
/// ```toml
/// [deadlock]
/// every = "50us"
/// ends_run = false
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deadlock {
    /// Interval between searches.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub every: Span,
    /// Minimum time without any movement.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub still: Span,
    /// Whether a deadlock ends the run. Default: yes, unless a remedy may resolve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_run: Option<bool>,
}

impl Default for Deadlock {
    fn default() -> Self {
        Self { every: Span::from_us(100), still: Span::from_us(500), ends_run: None }
    }
}

/// A PFC watchdog at each port of a lossless switch, modelled on `SONiC`; it sees only its own port. If a
/// class is paused at two or more polls without a resume in between, for at least `detection`, the watchdog
/// detects a storm and performs `action` until the class has not been paused for `restoration`. It cannot
/// distinguish a deadlock from long congestion.
///
/// ```toml
/// [switch.lossless]
/// classes = [3]
///
/// [switch.watchdog]
/// detection = "200ms"
/// restoration = "200ms"
/// action = "drop"
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Watchdog {
    /// Polling interval.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub poll: Span,
    /// Minimum time for which a class is paused; at least two polls.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub detection: Span,
    /// Time without a pause after which the port returns to normal.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub restoration: Span,
    /// Reaction to a storm.
    pub action: StormAction,
}

impl Default for Watchdog {
    fn default() -> Self {
        let ms = Span::from_ms;
        Self { poll: ms(100), detection: ms(200), restoration: ms(200), action: StormAction::Drop }
    }
}

/// Reaction of a watchdog to a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StormAction {
    /// Drop the queued frames of the class at the port, and all further frames for it.
    #[default]
    Drop,
    /// Send the frames despite the pause; the next switch may have no room for them.
    Forward,
    /// Report the storm only.
    Alert,
}

/// Demotes frames that are in a loop from their lossless class to a lossy one.
///
/// By TTL: in a network whose longest path has six switches, a frame that was sent with TTL 64 and has less
/// than 58 left is in a loop. By a bounce counter, as in Tagger (Hu et al., `CoNEXT` 2017): a frame has
/// bounced if it arrives over a lane that does not lead away from the hosts and leaves over one that does not
/// lead towards them, which no shortest path of a fat-tree or leaf–spine does.
///
/// ```toml
/// [switch.lossless]
/// classes = [3]
///
/// [switch.demotion]
/// ttl_below = 58
/// class = 0
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Demotion {
    /// Demote frames whose TTL is below this value after the switch has decremented it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_below: Option<Within<u8, 1, 255>>,
    /// Demote frames that have bounced more often than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounces: Option<Within<u8, 0, 254>>,
    /// The class of demoted frames; it must not be lossless.
    pub class: Placed<Within<u8, 0, 7>>,
}

/// Probes along pauses: a remedy for any deadlock after it has formed.
///
/// A port that has been paused for `after` sends a probe to the next switch, a frame of 64 bytes that no
/// pause holds. A switch forwards the probe through the ports that are paused in the same class and hold
/// frames that came in as the probe did, except ports with a lower number than the port that sent the probe:
/// these send their own. A probe that returns to its origin has followed a cycle of pauses, which proves the
/// deadlock, and only one port of a cycle gets its probe back. That port drops frames from the head of its
/// class until the neighbour that the probe came from may resume, at most `drain` frames. Then frames move
/// around the cycle again.
///
/// ```toml
/// [switch.lossless]
/// classes = [3]
///
/// [switch.probes]
/// after = "200us"
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Probes {
    /// Time for which a class is paused before the port sends a probe, and interval between its probes.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub after: Span,
    /// Maximum number of frames that the port drops for one probe.
    pub drain: Within<u32, 1, 65_536>,
    /// Maximum number of switches that a probe crosses.
    pub hops: Within<u8, 1, 255>,
}

impl Default for Probes {
    fn default() -> Self {
        Self { after: Span::from_us(200), drain: Within::fixed(256), hops: Within::fixed(32) }
    }
}

/// Detection of routing loops by a single switch, within a few turns of a loop.
///
/// For each frame the switch stores a fingerprint (source, destination and IP identification) and the TTL, in
/// a table where newer frames overwrite older ones. A frame that returns with a smaller TTL has been here
/// before. A retransmission is a different frame, because it has a new identification. The switch also counts
/// frames whose TTL expires.
///
/// ```toml
/// [switch.loops]
/// action = "drop"
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Loops {
    /// Number of fingerprints that a switch stores.
    pub entries: Within<u32, 16, 16_777_216>,
    /// Maximum time between two arrivals of the same frame; identifications repeat after a while.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub window: Span,
    /// Number of repeated frames within the window that raises an alarm.
    pub repeats: Within<u32, 1, 1_000_000>,
    /// Number of TTL expiries within the window that raises an alarm.
    pub expiries: Within<u32, 1, 1_000_000>,
    /// Treatment of a repeated frame.
    pub action: LoopAction,
}

impl Default for Loops {
    fn default() -> Self {
        Self {
            entries: Within::fixed(16_384),
            window: Span::from_ms(10),
            repeats: Within::fixed(3),
            expiries: Within::fixed(10),
            action: LoopAction::Alarm,
        }
    }
}

/// Treatment of a frame that a switch has seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopAction {
    /// Forward it; the switch only raises an alarm.
    #[default]
    Alarm,
    /// Drop it. It would be lost anyway, and no longer occupies buffers.
    Drop,
}
