//! What links do to frames.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::name::LinkSet;
use crate::quantity::{BurstLength, Probability, Within};
use crate::registered::Registered;
use crate::value::{self, Placed, Shown};

/// What some links do to frames: a frame that is hit arrives with a wrong frame check and is dropped. A link may
/// have several impairments; the luck of one does not depend on the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impair {
    /// Which frames are hit.
    #[serde(rename = "kind")]
    #[schemars(flatten)]
    pub fault: Fault,
    /// On which links. A link is called by its two ends: `"h0-tor"`.
    pub links: Placed<LinkSet>,
    /// In which direction. Each has its own luck and count.
    #[serde(default)]
    pub direction: Direction,
    /// From when on. What crosses the link earlier is neither hit nor counted.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Time>")]
    pub start: Time,
    /// Until when; if left out, without end.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Time>")]
    pub stop: Option<Time>,
}

/// A direction of a link, which runs from the first end in its name to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Both, each on its own.
    #[default]
    Both,
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Backward,
}

/// Which frames are hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub enum Fault {
    /// Frames with at least one wrong bit; each bit of a frame, from MAC header to frame check sequence, is wrong
    /// with the same probability, independently.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "bit-errors"
    /// links = "switches"
    /// rate = "1e-8"
    /// ```
    BitErrors(BitErrors),
    /// Each frame with the same probability, however long, independently.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "frames"
    /// links = "h0-tor"
    /// direction = "forward"
    /// rate = "1/256"
    /// ```
    Frames(Frames),
    /// Several frames in a row (Gilbert 1960), from the two figures that one measures: how many frames are lost, and
    /// how many in a row.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "bursts"
    /// links = "switches"
    /// loss = "1e-3"
    /// length = 3
    /// ```
    Bursts(Bursts),
    /// Frames of a channel with a good and a bad state (Elliott 1963), from its four probabilities.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "gilbert-elliott"
    /// links = "switches"
    /// to_bad = "1e-4"
    /// to_good = 0.2
    /// loss_bad = 0.5
    /// ```
    GilbertElliott(GilbertElliott),
    /// Every n-th frame.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "every"
    /// links = "all"
    /// n = 1000
    /// ```
    Every(Every),
    /// IPv4 frames whose identification has a given value under a mask. Hosts count identifications up from frame to
    /// frame, so that a mask of 0xff hits one frame in 256 and each repeat has new luck.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "ip-id"
    /// links = "all"
    /// mask = 0xff
    /// value = 0xff
    /// ```
    IpId(IpId),
    /// Frames that are named one by one.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "script"
    /// links = "h0-tor"
    /// direction = "forward"
    /// rules = [
    ///   { psn = 7, nth = 2 },
    ///   { packet = "ack", nth = 3, count = 2 },
    ///   { nth = 100 },
    /// ]
    /// ```
    ///
    /// Frames of a protected link can be named by what they say to its other end, and a list of such faults can be read from a file:
    /// one that was recorded by `wiremend lab wire --record`, or written by hand.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "script"
    /// links = "s0-s1"
    /// rules = [{ link = "data", seq = 5 }, { link = "missing", count = 2 }]
    /// faults = "recorded.faults"
    /// ```
    Script(Script),
    /// Each frame with the same probability, as `frames` does, for estimating what a protected link still loses where that is too rare to
    /// be counted. Losses begin on purpose, copies of what was lost are lost more often than in truth, and each such episode
    /// counts as much as it is likely. So only the estimate says something about such a link, not what else a run counts. It is
    /// for one direction of one link that is protected.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "tilted"
    /// links = "s0-s1"
    /// direction = "forward"
    /// rate = "1e-3"
    /// ```
    Tilted(Tilted),
    /// One that a program has registered.
    #[schemars(skip)]
    Registered(Registered),
}

/// Parameters of [`Fault::Tilted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tilted {
    /// Probability that a frame is hit, in truth.
    pub rate: Probability,
    /// The same for copies of what was lost, in most episodes.
    #[serde(default = "raised")]
    pub raised: Probability,
    /// Frames that pass between an episode and the next, at least; twice as many at most.
    #[serde(default = "after")]
    pub after: Within<u64, 1, 1_000_000_000>,
    /// Frames without a loss that end an episode: by then all of its losses must be mended or given up.
    #[serde(default = "quiet")]
    pub quiet: Within<u64, 1, 1_000_000_000>,
}

fn raised() -> Probability {
    Probability::fixed(0.7)
}

fn after() -> Within<u64, 1, 1_000_000_000> {
    Within::fixed(100)
}

fn quiet() -> Within<u64, 1, 1_000_000_000> {
    Within::fixed(250)
}

/// Parameters of [`Fault::BitErrors`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BitErrors {
    /// Probability that a bit is wrong.
    pub rate: Probability,
}

/// Parameters of [`Fault::Frames`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Probability that a frame is hit.
    pub rate: Probability,
}

/// Parameters of [`Fault::Bursts`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Share of all frames that is hit.
    pub loss: Probability,
    /// Frames that are hit in a row, on average.
    pub length: BurstLength,
}

/// Parameters of [`Fault::GilbertElliott`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability to turn bad after a frame in the good state.
    pub to_bad: Probability,
    /// Probability to turn good after a frame in the bad state.
    pub to_good: Probability,
    /// Probability to hit a frame in the good state.
    #[serde(default)]
    pub loss_good: Probability,
    /// Probability to hit a frame in the bad state.
    #[serde(default = "always")]
    pub loss_bad: Probability,
}

fn always() -> Probability {
    Probability::ONE
}

/// Parameters of [`Fault::Every`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// One frame in so many is hit.
    pub n: Within<u64, 1, 1_000_000_000_000>,
    /// Frames that pass before counting begins: frames `offset + n`, `offset + 2n`, … are hit, from 1.
    #[serde(default = "nothing")]
    pub offset: Within<u64, 0, 1_000_000_000_000>,
}

fn nothing() -> Within<u64, 0, 1_000_000_000_000> {
    Within::fixed(0)
}

/// Parameters of [`Fault::IpId`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IpId {
    /// The bits that are compared.
    pub mask: Within<u16, 0, 0xffff>,
    /// What they must be; no bit outside the mask.
    pub value: Within<u16, 0, 0xffff>,
}

/// Parameters of [`Fault::Script`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A frame is hit if one of these rules hits it. Each rule counts, on its own, the frames that match it on this
    /// link and direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// A file with faults of protected links, each a line: direction (`forth` is forward, `back` is backward), kind and number as in a
    /// rule's `link` and `seq`, and which transmission of that frame, from 1. `forth data 5 2` is the first copy of frame 5. What follows a
    /// `#` is not read. A path is relative to the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub faults: Option<Placed<String>>,
}

/// Hits some of the frames that match, by their order on the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Only frames with this packet sequence number. The first packet of a queue pair has `transport.first_psn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psn: Option<Within<u32, 0, 0xff_ffff>>,
    /// Only packets of this type.
    #[serde(default)]
    pub packet: PacketKind,
    /// Only frames on a protected link that are this to its two ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkFrame>,
    /// Only frames on a protected link with this number, or about it. The first frame after the start of protection has 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Within<u32, 0, 0xf_ffff>>,
    /// The first match that is hit, from 1.
    #[serde(default = "once")]
    pub nth: Within<u64, 1, 1_000_000_000_000>,
    /// How many matches in a row are hit.
    #[serde(default = "once")]
    pub count: Within<u64, 1, 1_000_000_000_000>,
}

fn once() -> Within<u64, 1, 1_000_000_000_000> {
    Within::fixed(1)
}

/// What a packet does in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketKind {
    /// All frames.
    #[default]
    Any,
    /// Of a SEND or a WRITE.
    Data,
    /// Positive acknowledgements.
    Ack,
    /// Negative acknowledgements, receiver-not-ready included.
    Nak,
    /// Requests for a READ.
    ReadRequest,
    /// Answers to a READ.
    ReadResponse,
}

/// What a frame is to the two ends of a protected link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkFrame {
    /// A frame of somebody else's, with its number.
    Data,
    /// Says that nothing follows, with the number of the next frame.
    Dummy,
    /// An acknowledgement of its own, with the first number that is not settled.
    Ack,
    /// Says what is missing, with the first number that is.
    Missing,
    /// Protection begins or ends; its number is 0.
    Hello,
}
