//! Protection of links between switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span, Time, canonical_name};

use crate::impair::Direction;
use crate::name::LinkSet;
use crate::quantity::{Probability, Within};
use crate::value::{self, Placed, Refusal, Scalar, SchemaOf, Value, as_value};

/// Protection of links between switches against corruption: losses are recovered on the link itself. Without
/// this table no link is protected. A link belongs to at most one table.
///
/// `linkguardian` (Joshi et al., SIGCOMM 2023) retransmits lost frames over the link. All times and
/// thresholds follow from the rate of the link and its round-trip time, which the two ends measure when they
/// start.
///
/// ```toml
/// [[protect]]
/// links = "switches"
/// by = "linkguardian"
/// target = "1e-8"
/// ```
///
/// `fec(k,h)` (Wharf, Giesen et al., 2018) sends h parities after every k frames. The receiver restores lost
/// frames from any k of the k + h frames. Recovery costs no round trip, but parities always take h/(k+h) of
/// the link. Of the other fields it accepts only `links`, `direction`, `flush`, `give_up`, and those about
/// its start and end.
///
/// ```toml
/// [[protect]]
/// links = "switches"
/// by = "fec(25,1)"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Protect {
    /// The links. A link is named by its two ends: `"leaf0-spine1"`.
    pub links: Placed<LinkSet>,
    /// The direction in which frames are protected. The other direction carries acknowledgements, if there
    /// are any.
    #[serde(default)]
    pub direction: Direction,
    /// Protocol. `"linkguardian"`: link-local retransmission; frames stay in order. `"linkguardian-nb"`:
    /// link-local retransmission; retransmitted frames arrive late, and no frame waits for them.
    /// `"fec(k,h)"`: h parities after every k frames; frames stay in order. `"fec-nb(k,h)"`: the same, but
    /// restored frames arrive late, and no frame waits for them.
    pub by: Scheme,
    /// Version of the protocol. Default: `"hardened"`. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub profile: Option<Profile>,
    /// Kind of switch. Default: `"tofino"` for the `"prototype"` profile, otherwise `"ideal"`. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub switch: Option<SwitchKind>,
    /// Traffic classes whose frames never wait for others, whatever `by` says. Not for FEC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-advanced" = true))]
    pub unordered: Vec<Within<u8, 0, 7>>,
    /// Loss ratio that may remain. Default: 1e-8. Not for FEC, where it follows from k, h and the loss of the
    /// link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Probability>,
    /// Expected loss ratio of the link, which the ends use until they have measured it. Default: 1e-4. Not
    /// for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Probability>,
    /// Copies of each retransmitted frame. Default: as many as bring the measured loss below the target. Not
    /// for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Within<u8, 1, 4>>,
    /// Number of dummies when a port becomes idle; each reveals missing frames before it. Default: 3. At
    /// least 1 for the hardened profile. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub dummies: Option<Within<u8, 0, 16>>,
    /// Number of transmissions of each loss notification, pause and resume; more than one where the reverse
    /// direction corrupts too. Default: 1. Not for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub control_copies: Option<Within<u8, 1, 8>>,
    /// Buffer for sent frames that are not yet acknowledged. Default: 200 kB. Not for FEC, where a sender
    /// stores one block.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub tx_buffer: Option<Bytes>,
    /// Buffer for frames that wait for an earlier one. Default: 200 kB. Not for FEC, where at most one block
    /// waits.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub rx_buffer: Option<Bytes>,
    /// Bytes in the receive buffer at which the sender is paused. Default: follows from the link. Not for
    /// FEC.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub pause_at: Option<Bytes>,
    /// Bytes in the receive buffer at which the sender resumes. Default: follows from the link. Not for FEC.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub resume_at: Option<Bytes>,
    /// Whether the receiver pauses the sender. Without it the receive buffer may overflow. Default: true. Not
    /// for FEC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    #[schemars(extend("x-advanced" = true))]
    pub backpressure: Option<bool>,
    /// Whether the receiver also sends acknowledgements in frames of their own when no other frame leaves.
    /// Without it they wait for frames of the other direction. Default: true. Only for the prototype profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    #[schemars(extend("x-advanced" = true))]
    pub ack_queue: Option<bool>,
    /// Lower bound of the round-trip time that the ends use, as for relays, whose processes answer late.
    /// Default: the measured time. Only for the hardened profile.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub rtt_min: Option<Span>,
    /// Time after which the receiver stops waiting for a missing frame. Default: follows from the link; with
    /// FEC, twice `flush`, or more if parities may take longer.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub give_up: Option<Span>,
    /// Time after which the parities of an incomplete block are sent. Default: the transmission time of k + 1
    /// frames of maximum length. Only for FEC.
    #[serde(default, with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub flush: Option<Span>,
    /// Start time; with `start_at_loss`, the time from which losses count.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub start: Time,
    /// Start when this fraction of the last `sample_frames` frames was corrupted, according to the receiver's frame
    /// check. Each direction starts by its own losses. Default: start without a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_loss: Option<Probability>,
    /// Number of frames over which the loss is measured. Default: the number with ten losses at
    /// `start_at_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-advanced" = true))]
    pub sample_frames: Option<Within<u64, 1, SAMPLE_MAX>>,
    /// Delay of the control plane from the detection of the loss to the start of the sending end, in addition
    /// to the delay of the link. Default: 0.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub start_delay: Option<Span>,
    /// End time. Default: the end of the run.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Time>")]
    pub stop: Option<Time>,
}

impl Protect {
    /// Returns the version of the protocol.
    pub fn profile(&self) -> Profile {
        self.profile.unwrap_or_default()
    }

    /// Returns the kind of switch.
    pub fn switch(&self) -> SwitchKind {
        self.switch.unwrap_or(match self.profile() {
            Profile::Prototype => SwitchKind::Tofino,
            Profile::Hardened => SwitchKind::Ideal,
        })
    }

    /// Returns the loss ratio that may remain.
    pub fn target(&self) -> f64 {
        self.target.map_or(1e-8, Probability::get)
    }

    /// Returns the expected loss ratio of the link.
    pub fn loss(&self) -> f64 {
        self.loss.map_or(1e-4, Probability::get)
    }

    /// Returns the number of dummies when a port becomes idle.
    pub fn dummies(&self) -> u8 {
        self.dummies.map_or(3, Within::get)
    }

    /// Returns the number of transmissions of each control frame.
    pub fn control_copies(&self) -> u8 {
        self.control_copies.map_or(1, Within::get)
    }

    /// Returns the size of the transmit buffer.
    pub fn tx_buffer(&self) -> Bytes {
        self.tx_buffer.unwrap_or(BUFFER)
    }

    /// Returns the size of the receive buffer.
    pub fn rx_buffer(&self) -> Bytes {
        self.rx_buffer.unwrap_or(BUFFER)
    }

    /// Returns whether the receiver pauses the sender.
    pub fn backpressure(&self) -> bool {
        self.backpressure.unwrap_or(true)
    }

    /// Returns the number of frames over which the loss is measured and the corrupted frames among them that
    /// start protection; `None` if it starts without a loss.
    pub fn sample(&self) -> Option<LossSample> {
        let loss = self.start_at_loss?.get();
        let usual = || ((SAMPLE_LOSSES / loss).ceil() as u64).min(SAMPLE_MAX);
        let frames = self.sample_frames.map_or_else(usual, Within::get);
        // A product that is whole but for rounding stays so.
        let corrupted = (loss * frames as f64 * (1.0 - 1e-12)).ceil() as u64;
        Some(LossSample { frames, corrupted })
    }

    /// Returns a field that is given without the `start_at_loss` that it belongs to.
    pub(crate) fn field_without_start_at_loss(&self) -> Option<&'static str> {
        let given =
            [("sample_frames", self.sample_frames.is_some()), ("start_delay", self.start_delay.is_some())];
        let is_measured = self.start_at_loss.is_some();
        given.iter().find(|(_, is_given)| *is_given && !is_measured).map(|(field, _)| *field)
    }

    /// Returns a field that is given and has no effect with this protocol.
    pub(crate) fn field_without_effect(&self) -> Option<&'static str> {
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
            ("ack_queue", self.ack_queue.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(field, _)| *field)
    }
}

/// A number of frames and the corrupted ones among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossSample {
    /// All frames.
    pub frames: u64,
    /// Corrupted frames.
    pub corrupted: u64,
}

const BUFFER: Bytes = Bytes::new(200_000);
/// Expected losses in a sample: the daemon published with the prototype measures 1e-6 over ten million frames.
const SAMPLE_LOSSES: f64 = 10.0;
/// Maximum number of frames over which a loss is measured.
const SAMPLE_MAX: u64 = 1_000_000_000_000_000;

/// Version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Our version: it removes limitations of the prototype and stores frames in memory.
    #[default]
    Hardened,
    /// The published prototype, register by register. It was built for links of 10, 25 and 100 Gb/s, has one
    /// order for all classes, and both ends start at once. Defaults of `give_up`, `pause_at` and `resume_at`
    /// are the published ones, and `control_copies` is 1.
    Prototype,
}

/// Where the ends of a protected link store frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchKind {
    /// In a loop, as in the prototype's switch: frames circulate through a loopback port of 100 Gb/s that all
    /// protected ports of a switch share. Each turn examines a frame once, and pause thresholds are checked
    /// when a frame leaves for its next turn. Only for the `"prototype"` profile.
    Tofino,
    /// In memory: a frame leaves as soon as its condition is met, and only the wire takes time. With the
    /// `"prototype"` profile links may have any rate; for rates that the prototype does not support, set
    /// `give_up`, `pause_at` and `resume_at`.
    Ideal,
}

/// Protocol of a protected link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Link-local retransmission; frames stay in order.
    Linkguardian,
    /// Link-local retransmission; retransmitted frames arrive late, and no frame waits for them.
    LinkguardianNb,
    /// Forward error correction over frames.
    Fec {
        /// k: frames per block, at least 1.
        data: u8,
        /// h: parities per block, at least 1 and at most 255 − k.
        parities: u8,
        /// Whether frames stay in order; otherwise restored frames arrive late.
        ordered: bool,
    },
}

const LINKGUARDIAN: &str = "linkguardian";
const LINKGUARDIAN_NB: &str = "linkguardian-nb";
const FEC: &str = "fec";
const FEC_NB: &str = "fec-nb";
/// Maximum number of frames per block, including parities.
const BLOCK_MAX: u16 = 255;

impl Value for Scheme {
    fn expected() -> String {
        format!(
            "\"{LINKGUARDIAN}\", \"{LINKGUARDIAN_NB}\", or \"{FEC}(k,h)\" or \"{FEC_NB}(k,h)\" with k and h at least 1 and \
             k + h at most {BLOCK_MAX}, such as \"{FEC}(25,1)\""
        )
    }

    fn names() -> &'static [&'static str] {
        &[LINKGUARDIAN, LINKGUARDIAN_NB]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let text = scalar.text()?;
        let refusal = || Refusal::from(format!("unknown protection `{text}`; expected {}", Self::expected()));
        match text {
            LINKGUARDIAN => return Ok(Self::Linkguardian),
            LINKGUARDIAN_NB => return Ok(Self::LinkguardianNb),
            _ => {}
        }
        let (name, shape) = text.split_once('(').ok_or_else(refusal)?;
        let (data, parities) =
            shape.strip_suffix(')').and_then(|shape| shape.split_once(',')).ok_or_else(refusal)?;
        let ordered = match canonical_name(name, &[FEC, FEC_NB]) {
            Some(FEC) => true,
            Some(_) => false,
            None => return Err(refusal()),
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
