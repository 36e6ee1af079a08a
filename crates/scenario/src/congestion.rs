//! Congestion control of queue pairs.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wiremend_units::{Bytes, Rate, Span};

use crate::quantity::{Limit, Probability, Within};
use crate::registered::Registered;
use crate::value::{self, SchemaOf};

/// Congestion control of all queue pairs. A program can register others with `wiremend-runner`; a scenario
/// refers to them by name or by a table: `congestion = { kind = "mine", gain = 0.5 }`.
#[derive(Clone, Debug, PartialEq, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// No congestion control: each queue pair sends according to `rate` and `window`.
    #[default]
    None,
    /// DCQCN with the parameters of its paper (Zhu et al., SIGCOMM 2015); needs [switch.ecn](#switchecn).
    DcqcnPaper,
    /// DCQCN with the parameters of the simulator published with HPCC (Li et al., SIGCOMM 2019), which many
    /// later papers use; needs [switch.ecn](#switchecn).
    HpccLineage,
    /// A window that follows the measured delay, after Swift (Kumar et al., SIGCOMM 2020).
    Swift,
    /// An algorithm that a program registered.
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

    /// Returns the error if the name is neither built in nor registered.
    pub(crate) fn unknown(&self, names: &[String]) -> Option<String> {
        let Self::Registered(registered) = self else { return None };
        registered.unknown(&Self::KNOWN.map(|(name, _)| name), names)
    }

    /// Returns whether a built-in algorithm reacts to ECN marks.
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

/// Parameters of DCQCN that override those of `transport.congestion`. Defaults are given for `dcqcn-paper`
/// and `hpcc-lineage`, in this order.
///
/// A receiver of a marked packet sends a congestion notification packet (CNP, 78 B) to the sender, at most
/// one per `cnp_interval` and queue pair. A CNP multiplies the sender's rate by 1 − α/2, where α estimates
/// congestion: it starts at 1, rises towards 1 with CNPs, and falls by the fraction `gain` in each
/// `alpha_timer` without one. After a decrease the rate recovers in stages, one for each `increase_timer` and
/// each `byte_counter`. Each stage halves the distance to the target rate, which is the rate before the
/// decrease. From stage `fast_recovery` on, the target grows by `additive_increase` per stage, and by
/// `hyper_increase` once both timer and counter are beyond `fast_recovery`. A queue pair starts at the rate
/// of its link.
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
    /// Minimum time between two CNPs for a queue pair: `50us` or `4us`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub cnp_interval: Option<Span>,
    /// Weight of the newest sample in α: `1/256` in both. Above 0, rounded to 1/65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Probability>,
    /// Time after which α falls: `55us` or `1us`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub alpha_timer: Option<Span>,
    /// `0ns`: each CNP takes effect on arrival and raises α. Otherwise the sender checks for CNPs once in
    /// this time, and α rises and falls with its timer: `0ns` or `4us`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub decrease_interval: Option<Span>,
    /// Whether a decrease sets the target to the current rate even if the rate has not increased since the
    /// last decrease: `true` or `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamp_target: Option<bool>,
    /// Whether each NAK, and each copy of it, reduces the rate as a CNP does: `false` in both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nak_decreases: Option<bool>,
    /// Time after which the rate rises: `55us` or `900us`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub increase_timer: Option<Span>,
    /// Bytes on the wire after which the rate rises too: `10MB` or `unlimited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<Limit<Bytes>>,
    /// Stage from which the target grows: `5`, or `2` in this counting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_recovery: Option<Within<u32, 1, 1_000>>,
    /// Increase of the target per stage: `40Mbps` or `50Mbps`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub additive_increase: Option<Rate>,
    /// Increase of the target per stage once timer and counter are beyond `fast_recovery`: `400Mbps` or
    /// `100Mbps`.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub hyper_increase: Option<Rate>,
    /// Minimum rate of a queue pair: `100Mbps` in both.
    #[serde(with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Rate>")]
    pub min_rate: Option<Rate>,
}

/// Parameters of `transport.congestion = "swift"`.
///
/// The sender measures the delay of one packet per round trip. Below the target delay the window grows by
/// `additive_increase` packets per round trip. Above it the window shrinks by `beta` times the relative
/// excess, at most by `decrease_max`, and at most once per round trip. The target is `base_target` plus
/// `hop_target` for each switch on the path plus up to `scaling_range` for windows below 100 packets, with
/// the full range at a tenth of a packet (§3.5 of the paper). A loss shrinks the window by `decrease_max`. A
/// window below one packet becomes a gap between packets.
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
    /// Base of the target delay, from the transmission of a packet to the arrival of its acknowledgement;
    /// above that of an empty network.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Span>")]
    pub base_target: Span,
    /// Addition to the target for each switch on the path.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub hop_target: Span,
    /// Largest addition to the target for a small window.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    pub scaling_range: Span,
    /// Increase of the window per round trip, in packets.
    pub additive_increase: Within<u32, 1, 1_000>,
    /// Fraction of the relative excess by which the window shrinks.
    pub beta: Probability,
    /// Largest relative decrease of the window.
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
