//! How deadlocks are noticed, and what is done about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::quantity::Within;
use crate::value::{self, Placed, Shown};

/// How the simulator itself notices a deadlock of lossless switches. It sees all of them at once, so that it is the truth against
/// which the remedies below are measured.
///
/// Looked for are ports that wait for each other in a circle: each holds a class because the next switch told it to, and all that
/// came in there over it waits in ports of the same kind, so that the switch could not let it go on even if everything else left. No such port
/// may have moved for `still`. What is found is permanent unless somebody drops frames. The instant of closure is when the last port of
/// the circle had to hold; it depends neither on `every` nor on `still`.
///
/// ```toml
/// [deadlock]
/// every = "50us"
/// ends_run = false
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Deadlock {
    /// How often it looks.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub every: Span,
    /// How long nothing may have moved.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub still: Span,
    /// Whether a deadlock ends the run. If left out, it does unless a remedy may end the deadlock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_run: Option<bool>,
}

impl Default for Deadlock {
    fn default() -> Self {
        Self { every: Span::from_us(100), still: Span::from_us(500), ends_run: None }
    }
}

/// A watchdog at each port of a lossless switch, in the manner of `SONiC`: it sees nothing but its own port. If a class
/// had to be held at two polls or more and never in between was let go, and that for `detection`, it calls a storm and
/// does its `action`, until the class was not held for `restoration`. It cannot tell a deadlock from long congestion.
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
    /// How often it looks.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub poll: Span,
    /// How long a class must have been held; at least two polls.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub detection: Span,
    /// How long it must not have been held for the port to be as before.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub restoration: Span,
    /// What it does.
    pub action: StormAction,
}

impl Default for Watchdog {
    fn default() -> Self {
        let ms = Span::from_ms;
        Self { poll: ms(100), detection: ms(200), restoration: ms(200), action: StormAction::Drop }
    }
}

/// What a watchdog does about a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StormAction {
    /// Drop what waits in the class at that port, and all that comes for it.
    #[default]
    Drop,
    /// Send it although it must be held; the next switch may have no room for it.
    Forward,
    /// Say so.
    Alert,
}

/// Frames that go round lose their lossless class: they go on in another one, which may drop them.
///
/// Either by their TTL: in a network whose longest path has six switches, a frame that was sent with 64 and has less than 58 left is
/// in a loop. Or by a tag that grows at each bounce, as in Tagger (Hu et al., `CoNEXT` 2017): a frame that comes in
/// over a lane that does not lead away from the hosts and leaves over one that does not lead towards them has bounced, which no shortest
/// path of a fat-tree or leaf–spine does.
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
    /// Frames with fewer hops left than this, when they come to a switch and it has taken 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_below: Option<Within<u8, 1, 255>>,
    /// Frames that have bounced more often than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounces: Option<Within<u8, 0, 254>>,
    /// The class that they go on in; it must not be lossless.
    pub class: Placed<Within<u8, 0, 7>>,
}

/// Probes along pauses: our remedy for a deadlock that has formed, whatever made it.
///
/// A port that had to hold a class for `after` asks its next switch why: by a frame of 64 bytes that no pause holds. A switch
/// passes a probe on through the ports that must hold the class too and have frames which came in as the probe did, but not to a port with a
/// lower number than the one that asked: that one asks for itself. A probe that comes back to the port that asked has gone along a circle of
/// pauses, which proves it, and of all ports of a circle only one gets its answer. That port drops frames from the head of its
/// class until the neighbour that the probe came from may go on, and not more than `drain`. What moves then goes around the circle.
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
    /// How long a class must have been held; a port asks again as often.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub after: Span,
    /// Frames that an answer may cost.
    pub drain: Within<u32, 1, 65_536>,
    /// Switches that a probe may cross.
    pub hops: Within<u8, 1, 255>,
}

impl Default for Probes {
    fn default() -> Self {
        Self { after: Span::from_us(200), drain: Within::fixed(256), hops: Within::fixed(32) }
    }
}

/// How a switch notices a routing loop by itself, within a few turns of it.
///
/// It remembers of each frame a fingerprint (who sent it to whom, and its IP identification) and the TTL that it had, in a table in which a newer
/// frame takes the place of an older one. The same frame with a smaller TTL has been here before. A retransmission is no such frame: it has
/// a new identification. It also counts the frames whose TTL ends here.
///
/// ```toml
/// [switch.loops]
/// action = "drop"
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Loops {
    /// Frames that each switch remembers.
    pub entries: Within<u32, 16, 16_777_216>,
    /// A frame that was here longer ago is another one: identifications come round.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub window: Span,
    /// Frames seen again within the window that make an alarm.
    pub repeats: Within<u32, 1, 1_000_000>,
    /// Frames whose TTL ended within the window that make an alarm.
    pub expiries: Within<u32, 1, 1_000_000>,
    /// What happens to a frame that is seen again.
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

/// What happens to a frame that a switch has seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopAction {
    /// It goes on; the switch only says so.
    #[default]
    Alarm,
    /// It is dropped: our remedy for loops. It would have been lost in any case, and takes no buffer meanwhile.
    Drop,
}
