//! How queue pairs answer congestion.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wiremend_units::{Bytes, Rate, Span};

use crate::quantity::{Limit, Probability, Within};
use crate::registered::Registered;
use crate::value::{self, Shown};

/// The algorithm that every queue pair follows. A program can register others with `wiremend-runner`; a scenario names them here, or
/// gives a table: `congestion = { kind = "mine", gain = 0.5 }`.
#[derive(Clone, Debug, PartialEq, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// None: each queue pair sends as `rate` and `window` say.
    #[default]
    None,
    /// DCQCN with the parameters of its paper (Zhu et al., SIGCOMM 2015); needs [switch.ecn](#switchecn).
    DcqcnPaper,
    /// DCQCN with the parameters of the simulator that came with HPCC (Li et al., SIGCOMM 2019), which many later
    /// papers use; needs [switch.ecn](#switchecn).
    HpccLineage,
    /// A window that follows the measured delay, after Swift (Kumar et al., SIGCOMM 2020).
    Swift,
    /// One that a program has registered.
    #[schemars(skip)]
    Registered(Registered),
}

impl Congestion {
    const KNOWN: [(&str, Self); 4] = [
        ("none", Self::None),
        ("dcqcn-paper", Self::DcqcnPaper),
        ("hpcc-lineage", Self::HpccLineage),
        ("swift", Self::Swift),
    ];

    /// Why nobody knows it, if nobody does.
    pub(crate) fn unknown(&self, names: &[String]) -> Option<String> {
        let Self::Registered(registered) = self else { return None };
        registered.unknown(&Self::KNOWN.map(|(name, _)| name), names)
    }

    /// Whether it acts on marks, as far as this library knows.
    pub fn needs_marks(&self) -> bool {
        matches!(self, Self::DcqcnPaper | Self::HpccLineage)
    }
}

impl Serialize for Congestion {
    fn serialize<S: Serializer>(&self, sink: S) -> Result<S::Ok, S::Error> {
        if let Self::Registered(registered) = self {
            return registered.serialize(sink);
        }
        Self::KNOWN.iter().find(|(_, known)| known == self).map(|(name, _)| name).serialize(sink)
    }
}

impl<'de> Deserialize<'de> for Congestion {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Registered::deserialize(source)?.or_known(&Self::KNOWN, Self::Registered)
    }
}

/// Parameters of DCQCN in the place of those of the set that `transport.congestion` names: `dcqcn-paper` or `hpcc-lineage`, in
/// this order below. What is left out is as the set says.
///
/// A receiver that gets a marked packet sends the sender a congestion notification (CNP, a packet of 78 B), at most one in `cnp_interval`
/// for each queue pair. A notification multiplies the sender's rate by 1 − α/2, where α estimates congestion: it starts as 1, rises towards 1
/// with notifications and falls by the share `gain` in each `alpha_timer` without one. After a decrease the rate recovers in stages, one for each
/// `increase_timer` and each `byte_counter`: in stages below `fast_recovery` half of the way to the rate before; then that target grows by
/// `additive_increase`, and by `hyper_increase` once timer and counter both are beyond `fast_recovery`. A queue pair starts at the rate of its link.
///
/// ```toml
/// [transport]
/// congestion = "dcqcn-paper"
///
/// [transport.dcqcn]
/// additive_increase = "100Mbps"
///
/// [switch.ecn]
/// kmin = "20kB"
/// kmax = "200kB"
/// pmax = 0.05
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Dcqcn {
    /// The least time between two notifications for one queue pair: `50us` or `4us`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub cnp_interval: Option<Span>,
    /// The weight of the newest sign in α: `1/256` in both. Above 0; counted in parts of 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Probability>,
    /// The time after which α falls: `55us` or `1us`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub alpha_timer: Option<Span>,
    /// `0ns`: each notification acts when it comes, and raises α. Else the sender looks for notifications once in this time,
    /// and α rises and falls with its timer: `0ns` or `4us`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub decrease_interval: Option<Span>,
    /// Whether the rate before a decrease becomes the target even if there was no increase since the last decrease: `true` or `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamp_target: Option<bool>,
    /// The time after which the rate rises: `55us` or `900us`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub increase_timer: Option<Span>,
    /// Bytes on the wire after which it rises too: `10MB` or `unlimited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<Limit<Bytes>>,
    /// The stage from which on the target grows: `5`, or `2` in this counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_recovery: Option<Within<u32, 1, 1_000>>,
    /// What the target gains in a stage: `40Mbps` or `50Mbps`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Rate>")]
    pub additive_increase: Option<Rate>,
    /// What it gains when timer and counter are beyond `fast_recovery`: `400Mbps` or `100Mbps`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Rate>")]
    pub hyper_increase: Option<Rate>,
    /// The least rate of a queue pair: `100Mbps` in both.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Rate>")]
    pub min_rate: Option<Rate>,
}

/// Parameters of `transport.congestion = "swift"`.
///
/// Once a round trip the sender times a packet. While its delay is below the target, the window grows by `additive_increase` packets a round trip; above it the window
/// shrinks by `beta` times the excess over the delay, at most by `decrease_max`, and at most once a round trip. The target is `base_target`, and `hop_target` for each switch
/// on the way, and up to `scaling_range` more for windows below 100 packets, all of it at a tenth of a packet (§3.5 of the paper). A loss takes off `decrease_max`.
/// A window of less than a packet is a pause between packets.
///
/// ```toml
/// [transport]
/// congestion = "swift"
///
/// [transport.swift]
/// base_target = "20us"
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Swift {
    /// The delay that is wanted, from a packet's leaving to its acknowledgement's coming, but for the rest; above that of an empty network.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Span>")]
    pub base_target: Span,
    /// What each switch on the way adds to it.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub hop_target: Span,
    /// What a small window adds to it at most.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Span>")]
    pub scaling_range: Span,
    /// What the window gains in a round trip, in packets.
    pub additive_increase: Within<u32, 1, 1_000>,
    /// How much of the excess is taken off.
    pub beta: Probability,
    /// The most that one decrease takes off.
    pub decrease_max: Probability,
}

impl Default for Swift {
    fn default() -> Self {
        Self {
            base_target: Span::from_us(25),
            hop_target: Span::from_us(1),
            scaling_range: Span::from_us(75),
            additive_increase: Within::fixed(1),
            beta: Probability::fixed(0.8),
            decrease_max: Probability::fixed(0.5),
        }
    }
}
