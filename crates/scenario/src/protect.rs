//! Links that mend their own losses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span, Time};

use crate::impair::Direction;
use crate::name::LinkSet;
use crate::quantity::{Probability, Within};
use crate::value::{self, Placed, Refusal, Scalar, Shown, Value, as_value};

/// Links between switches that mend what they corrupt, before anyone else notices. Without this table, none does. A link belongs
/// to one such table at most.
///
/// With `linkguardian` (Joshi et al., SIGCOMM 2023) the two ends send again what was lost. All times and thresholds follow from the
/// rate of the link and its round trip, which its ends measure when they start.
///
/// ```toml
/// [[protect]]
/// links = "switches"
/// by = "linkguardian"
/// target = "1e-8"
/// ```
///
/// With `fec(k,h)` (Wharf, Giesen et al., 2018) every k frames are followed by h parities, and from any k of the k + h the rest is
/// restored: no loss costs a round trip, and h/(k+h) of the link is spent on parities whether frames are lost or not. Of the
/// other fields only `links`, `direction`, `flush`, `give_up`, and those about its start and end mean anything to it; the rest is refused.
///
/// ```toml
/// [[protect]]
/// links = "switches"
/// by = "fec(25,1)"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protect {
    /// Which links. A link is called by its two ends: `"leaf0-spine1"`.
    pub links: Placed<LinkSet>,
    /// In which direction frames are protected. The other carries acknowledgements, if there are any.
    #[serde(default)]
    pub direction: Direction,
    /// By what. `"linkguardian"`: retransmission over the link; frames keep their order. `"linkguardian-nb"`: retransmission over the link; what is
    /// sent again comes late, and nothing waits for it. `"fec(k,h)"`: h parities behind every k frames; frames keep their order.
    /// `"fec-nb(k,h)"`: the same; what is restored comes late, and nothing waits for it.
    pub by: Scheme,
    /// Whose protocol; `"hardened"` if left out. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// In what kind of switch; `"tofino"` for the `"paper"` profile if left out, and `"ideal"` for all else. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<SwitchKind>,
    /// Traffic classes that need not keep their order, whatever `by` says: their frames never wait for others. Not for FEC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unordered: Vec<Within<u8, 0, 7>>,
    /// The loss that may remain; 1e-8 if left out. Not for FEC: what remains follows from k, h and the loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Probability>,
    /// The loss of the link as far as it is known, 1e-4 if left out; the ends go by it until they have measured it. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Copies of a frame that is sent again. If left out, as many as bring the measured loss below the target. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Within<u8, 1, 4>>,
    /// Dummies when a port falls idle, 3 if left out. Each shows that frames before it are missing. At least 1 for the
    /// hardened profile. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dummies: Option<Within<u8, 0, 16>>,
    /// How often a notification, a pause or its end is sent, once if left out: more than once where the way back corrupts too. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_copies: Option<Within<u8, 1, 8>>,
    /// Room for frames that are sent and not yet acknowledged; 200 kB if left out. Not for FEC: a sender keeps a block.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub tx_buffer: Option<Bytes>,
    /// Room for frames that wait for an earlier one; 200 kB if left out. Not for FEC: no more than a block waits.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub rx_buffer: Option<Bytes>,
    /// The sender is asked to pause when so much waits for an earlier frame. If left out, it follows from the link. Not for FEC.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub pause_at: Option<Bytes>,
    /// The sender is asked to go on when so little waits. If left out, it follows from the link. Not for FEC.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub resume_at: Option<Bytes>,
    /// Whether the sender is asked to pause at all, as it is if this is left out. Without it the buffer overflows. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub backpressure: Option<bool>,
    /// The ends take the round trip to be at least this, however short they measure it: as relays do, whose answers come from a process. If
    /// left out, it is what they measure. Only for the hardened profile.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub rtt_min: Option<Span>,
    /// How long a missing frame is waited for. If left out, it follows from the link; with FEC, twice `flush`, or longer if the parities
    /// may take longer.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub give_up: Option<Span>,
    /// How long a block waits for its k frames before its parities are sent. If left out, as long as k + 1 of the longest frames take on
    /// the link. Only for FEC.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub flush: Option<Span>,
    /// From when on; with `start_at_loss`, from when on losses count.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Time>")]
    pub start: Time,
    /// The two ends stay dormant until the receiver's frame check has seen this share of the last `over` frames corrupted; a direction
    /// starts by its own losses. If left out, they start without a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_loss: Option<Probability>,
    /// Frames over which a loss is measured, as many as have ten losses at `start_at_loss` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Within<u64, 1, SAMPLE_MAX>>,
    /// What the control plane takes from a loss that is found to the start of the sending end, beside the delay of the link; none if left out.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub delay: Option<Span>,
    /// Until when; if left out, without end.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Time>")]
    pub stop: Option<Time>,
}

impl Protect {
    /// Whose protocol.
    pub fn profile(&self) -> Profile {
        self.profile.unwrap_or_default()
    }

    /// In what kind of switch.
    pub fn switch(&self) -> SwitchKind {
        self.switch.unwrap_or(match self.profile() {
            Profile::Paper => SwitchKind::Tofino,
            Profile::Hardened => SwitchKind::Ideal,
        })
    }

    /// The loss that may remain.
    pub fn target(&self) -> f64 {
        self.target.map_or(1e-8, Probability::get)
    }

    /// The loss of the link as far as it is known.
    pub fn loss(&self) -> f64 {
        self.loss.map_or(1e-4, Probability::get)
    }

    /// Dummies when a port falls idle.
    pub fn dummies(&self) -> u8 {
        self.dummies.map_or(3, Within::get)
    }

    /// How often a notification, a pause or its end is sent.
    pub fn control_copies(&self) -> u8 {
        self.control_copies.map_or(1, Within::get)
    }

    /// Room for frames that are sent and not yet acknowledged.
    pub fn tx_buffer(&self) -> Bytes {
        self.tx_buffer.unwrap_or(BUFFER)
    }

    /// Room for frames that wait for an earlier one.
    pub fn rx_buffer(&self) -> Bytes {
        self.rx_buffer.unwrap_or(BUFFER)
    }

    /// Whether the sender is asked to pause at all.
    pub fn backpressure(&self) -> bool {
        self.backpressure.unwrap_or(true)
    }

    /// Frames over which the loss is measured that starts protection, and how many of them are corrupted when it does; nothing if
    /// it starts without a reason.
    pub fn sample(&self) -> Option<Sample> {
        let loss = self.start_at_loss?.get();
        let usual = || ((SAMPLE_LOSSES / loss).ceil() as u64).min(SAMPLE_MAX);
        let over = self.over.map_or_else(usual, Within::get);
        // A product that is whole but for rounding stays so.
        let corrupted = (loss * over as f64 * (1.0 - 1e-12)).ceil() as u64;
        Some(Sample { over, corrupted })
    }

    /// What belongs to `start_at_loss` and is given without it.
    pub(crate) fn unmeasured(&self) -> Option<&'static str> {
        let given = [("over", self.over.is_some()), ("delay", self.delay.is_some())];
        let is_measured = self.start_at_loss.is_some();
        given.iter().find(|(_, is_given)| *is_given && !is_measured).map(|(field, _)| *field)
    }

    /// A field that is given and means nothing to what mends the link.
    pub(crate) fn pointless(&self) -> Option<&'static str> {
        let Scheme::Fec { .. } = self.by else { return self.flush.is_some().then_some("flush") };
        let given = [
            ("profile", self.profile.is_some()),
            ("switch", self.switch.is_some()),
            ("unordered", !self.unordered.is_empty()),
            ("target", self.target.is_some()),
            ("loss", self.loss.is_some()),
            ("copies", self.copies.is_some()),
            ("dummies", self.dummies.is_some()),
            ("control_copies", self.control_copies.is_some()),
            ("rtt_min", self.rtt_min.is_some()),
            ("tx_buffer", self.tx_buffer.is_some()),
            ("rx_buffer", self.rx_buffer.is_some()),
            ("pause_at", self.pause_at.is_some()),
            ("resume_at", self.resume_at.is_some()),
            ("backpressure", self.backpressure.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(field, _)| *field)
    }
}

/// So many of so many frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// All of them.
    pub over: u64,
    /// Those that are corrupted.
    pub corrupted: u64,
}

const BUFFER: Bytes = Bytes::new(200_000);
/// The daemon published with the prototype judges 1e-6 over ten million frames.
const SAMPLE_LOSSES: f64 = 10.0;
/// The most frames over which a loss is measured.
const SAMPLE_MAX: u64 = 1_000_000_000_000_000;

/// Whose protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Ours: what the prototype cannot do, and ends that keep frames in memory.
    #[default]
    Hardened,
    /// The published prototype, register by register. It was built for links of 10, 25 and 100 Gb/s, knows one order for all classes,
    /// and both ends start at once; `give_up`, `pause_at` and `resume_at` are the published ones if left out, and
    /// `control_copies` is 1.
    Paper,
}

/// Where the ends of a protected link keep frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchKind {
    /// In a loop, as the prototype's switch: buffers turn through a loopback port of 100 Gb/s that the protected ports of a switch
    /// share, a frame is examined once a turn, and a pause is judged when one leaves for the next. Only for the `"paper"` profile.
    Tofino,
    /// In memory: a frame goes as soon as what it waits for is there, and only the wire takes time. With the `"paper"` profile, links
    /// of any rate can be had; for those that it was not built for, give `give_up`, `pause_at` and `resume_at`.
    Ideal,
}

/// What mends a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Retransmission over the link; frames keep their order.
    Linkguardian,
    /// Retransmission over the link; what is sent again comes late, and nothing waits for it.
    LinkguardianNb,
    /// Forward error correction over frames.
    Fec {
        /// k: frames in a block, at least 1.
        data: u8,
        /// h: parities behind it, at least 1 and at most 255 − k.
        parities: u8,
        /// Whether frames keep their order; if not, those that are restored come late.
        ordered: bool,
    },
}

const LINKGUARDIAN: &str = "linkguardian";
const LINKGUARDIAN_NB: &str = "linkguardian-nb";
const FEC: &str = "fec";
const FEC_NB: &str = "fec-nb";
/// The most frames of a block, parities included.
const BLOCK_MAX: u16 = 255;

impl Value for Scheme {
    fn expected() -> String {
        format!(
            "\"{LINKGUARDIAN}\", \"{LINKGUARDIAN_NB}\", or \"{FEC}(k,h)\" or \"{FEC_NB}(k,h)\" with k and h at least 1 and \
             k + h at most {BLOCK_MAX}, such as \"{FEC}(25,1)\""
        )
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = scalar.text()?;
        let refusal =
            || Refusal::from(format!("nothing mends a link by `{text}`; expected {}", Self::expected()));
        match text {
            LINKGUARDIAN => return Ok(Self::Linkguardian),
            LINKGUARDIAN_NB => return Ok(Self::LinkguardianNb),
            _ => {}
        }
        let (name, shape) = text.split_once('(').ok_or_else(refusal)?;
        let (data, parities) =
            shape.strip_suffix(')').and_then(|shape| shape.split_once(',')).ok_or_else(refusal)?;
        let ordered = match name {
            FEC => true,
            FEC_NB => false,
            _ => return Err(refusal()),
        };
        let count =
            |text: &str| text.trim().parse::<u8>().ok().filter(|count| *count > 0).ok_or_else(refusal);
        let (data, parities) = (count(data)?, count(parities)?);
        if u16::from(data) + u16::from(parities) > BLOCK_MAX {
            return Err(refusal());
        }
        Ok(Self::Fec { data, parities, ordered })
    }

    fn write(&self) -> Scalar {
        Scalar::Text(match self {
            Self::Linkguardian => LINKGUARDIAN.to_owned(),
            Self::LinkguardianNb => LINKGUARDIAN_NB.to_owned(),
            Self::Fec { data, parities, ordered } => {
                format!("{}({data},{parities})", if *ordered { FEC } else { FEC_NB })
            }
        })
    }
}

as_value!(Scheme);
