//! Impairments of links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::name::LinkSet;
use crate::quantity::{BurstLength, Probability, Within};
use crate::registered::Registered;
use crate::value::{self, Placed, SchemaOf};

/// An impairment of some links. The receiver drops corrupted frames, because their frame check fails. A link
/// may have several impairments, which draw independently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impair {
    /// Which frames are corrupted.
    #[schemars(flatten)]
    pub kind: ImpairmentKind,
    /// The links. A link is named by its two ends: `"h0-tor"`.
    pub links: Placed<LinkSet>,
    /// The direction. Each direction draws and counts independently.
    #[serde(default)]
    pub direction: Direction,
    /// Start time. Earlier frames are neither corrupted nor counted.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub start: Time,
    /// End time. Default: the end of the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Time>")]
    pub stop: Option<Time>,
}

/// A direction of a link, whose name goes from its first end to its second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Both directions, independently.
    #[default]
    Both,
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Backward,
}

/// Which frames are corrupted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(tag = "kind")]
pub enum ImpairmentKind {
    /// Frames with at least one bit error. Bit errors are independent, with the same probability for each bit
    /// from the MAC header to the frame check sequence.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "bit-errors"
    /// links = "switches"
    /// rate = "1e-8"
    /// ```
    BitErrors(BitErrors),
    /// Each frame with the same probability, whatever its length, independently.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "frames"
    /// links = "h0-tor"
    /// direction = "forward"
    /// rate = "1/256"
    /// ```
    Frames(Frames),
    /// Bursts of consecutive frames (Gilbert 1960), given by the loss ratio and the mean burst length.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "bursts"
    /// links = "switches"
    /// loss = "1e-3"
    /// length = 3
    /// ```
    Bursts(Bursts),
    /// Frames of a channel with a good and a bad state (Elliott 1963), given by its four probabilities.
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
    /// IPv4 frames whose identification matches a value under a mask. Hosts increment the identification from
    /// frame to frame, so a mask of 0xff selects one frame in 256, and a retransmission has another
    /// identification.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "ip-id"
    /// links = "all"
    /// mask = 0xff
    /// value = 0xff
    /// ```
    IpId(IpId),
    /// Listed frames.
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
    /// Rules can also select frames of a protected link by their link header, and a file can list such
    /// faults: recorded by `wiremend lab wire --record`, or written by hand.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "script"
    /// links = "s0-s1"
    /// rules = [{ link = "data", seq = 5 }, { link = "missing", count = 2 }]
    /// faults = "recorded.faults"
    /// ```
    Script(Script),
    /// Importance sampling for the residual loss of a protected link, where it is too rare to be counted.
    /// Each frame has the same loss probability, as with `frames`. The simulation starts losses on purpose,
    /// loses copies of lost frames more often than `rate`, and weights each such episode by its likelihood
    /// ratio. Only the estimate of the residual loss is valid in such a run, no other counter. It is for one
    /// direction of one protected link.
    ///
    /// ```toml
    /// [[impair]]
    /// kind = "tilted"
    /// links = "s0-s1"
    /// direction = "forward"
    /// rate = "1e-3"
    /// ```
    Tilted(Tilted),
    /// An impairment that a program registered.
    #[schemars(skip)]
    Registered(Registered),
}

/// Parameters of [`ImpairmentKind::Tilted`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tilted {
    /// True probability that a frame is lost.
    pub rate: Probability,
    /// Raised loss probability for copies of lost frames, in most episodes.
    #[serde(default = "raised")]
    pub raised: Probability,
    /// Minimum number of frames between two episodes; the maximum is twice this number.
    #[serde(default = "after")]
    pub after: Within<u64, 1, 1_000_000_000>,
    /// Number of frames without a loss that ends an episode; by then all of its losses must be recovered or
    /// given up.
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

/// Parameters of [`ImpairmentKind::BitErrors`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BitErrors {
    /// Bit error ratio.
    pub rate: Probability,
}

/// Parameters of [`ImpairmentKind::Frames`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// Probability that a frame is corrupted.
    pub rate: Probability,
}

/// Parameters of [`ImpairmentKind::Bursts`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Fraction of all frames that is corrupted.
    pub loss: Probability,
    /// Mean number of consecutive corrupted frames.
    pub length: BurstLength,
}

/// Parameters of [`ImpairmentKind::GilbertElliott`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability of a transition to the bad state after a frame in the good state.
    pub to_bad: Probability,
    /// Probability of a transition to the good state after a frame in the bad state.
    pub to_good: Probability,
    /// Loss probability in the good state.
    #[serde(default)]
    pub loss_good: Probability,
    /// Loss probability in the bad state.
    #[serde(default = "always")]
    pub loss_bad: Probability,
}

fn always() -> Probability {
    Probability::ONE
}

/// Parameters of [`ImpairmentKind::Every`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// One frame in this number is corrupted.
    pub n: Within<u64, 1, 1_000_000_000_000>,
    /// Number of frames to skip: frames `offset + n`, `offset + 2n`, … are corrupted, counted from 1.
    #[serde(default = "nothing")]
    pub offset: Within<u64, 0, 1_000_000_000_000>,
}

fn nothing() -> Within<u64, 0, 1_000_000_000_000> {
    Within::fixed(0)
}

/// Parameters of [`ImpairmentKind::IpId`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IpId {
    /// Mask of the bits that are compared.
    pub mask: Within<u16, 0, 0xffff>,
    /// Value of these bits; no bit outside the mask.
    pub value: Within<u16, 0, 0xffff>,
}

/// Parameters of [`ImpairmentKind::Script`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Rules; a frame is corrupted if any rule selects it. Each rule counts its matches separately for each
    /// link and direction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// File of faults of protected links, one per line: direction (`forward` or `backward`), kind and
    /// number as in a rule's `link` and `seq`, and the transmission of that frame, from 1. `forward
    /// data 5 2` is the first copy of frame 5. `#` starts a comment. A path is relative to the scenario file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub faults: Option<Placed<String>>,
}

/// Selects some of the frames that match, by their order on the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Match frames with this packet sequence number. The first packet of a queue pair has
    /// `transport.first_psn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psn: Option<Within<u32, 0, 0xff_ffff>>,
    /// Match packets of this type.
    #[serde(default)]
    pub packet: PacketKind,
    /// Match frames of this kind on a protected link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkFrame>,
    /// Match frames on a protected link with this sequence number, or that refer to it. The first frame after
    /// the start of protection has number 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Within<u32, 0, 0xf_ffff>>,
    /// Number of the first match that is corrupted, from 1.
    #[serde(default = "once")]
    pub nth: Within<u64, 1, 1_000_000_000_000>,
    /// Number of consecutive matches that are corrupted.
    #[serde(default = "once")]
    pub count: Within<u64, 1, 1_000_000_000_000>,
}

fn once() -> Within<u64, 1, 1_000_000_000_000> {
    Within::fixed(1)
}

/// Type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketKind {
    /// All frames.
    #[default]
    Any,
    /// Packets of a SEND or WRITE.
    Data,
    /// Positive acknowledgements.
    Ack,
    /// Negative acknowledgements, including receiver-not-ready.
    Nak,
    /// Requests of a READ.
    ReadRequest,
    /// Responses to a READ.
    ReadResponse,
}

/// Kind of a frame on a protected link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkFrame {
    /// A frame of the traffic; its number is its sequence number.
    Data,
    /// A dummy, sent when the port becomes idle; its number is that of the next frame.
    Dummy,
    /// A separate acknowledgement; its number is the first one that is not settled.
    Ack,
    /// A loss notification; its number is the first missing one.
    Missing,
    /// Start or end of protection; its number is 0.
    Hello,
}
