//! Switches that trim packets to their headers instead of dropping them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Bytes;

use crate::pattern::CheckError;
use crate::quantity::{Probability, Within};
use crate::scenario::Scenario;
use crate::value::{self, Place, Placed, Refusal, Scalar, SchemaOf, Value, as_value};

/// Packet trimming: above a queue length, switches remove the payload of packets and forward the headers in a
/// separate class, so that the receiver learns at once which packets were lost (NDP, SIGCOMM 2017; DCP,
/// SIGCOMM 2025). Without this table nothing is trimmed.
///
/// The switch decides when a packet arrives at an output port, by the queued bytes of its class there,
/// including preambles and gaps. Above `threshold`, a data packet of a transport that supports trimming
/// becomes a header-only packet: 58 bytes of headers, a frame of 64. Header-only packets always join the
/// control class. Above the threshold the switch drops acknowledgements, unless `acks` says otherwise, and
/// frames that cannot be trimmed: those of other transports, and open-loop loads that are not `trimmable`.
/// `topology.buffer` is for the other classes; header-only packets have their own memory `headers`.
///
/// The control class shares the link with all others by weight. Let r be the ratio of the sizes of data and
/// header-only packets on the wire (13.2 at an MTU of 1024 bytes, 49.7 at 4096), and let N inputs send data
/// at line rate to one port. With weight w for the control class and 1 for data, it loses nothing if w ≥ (N −
/// 1)/(r − N), which needs N < r. A run prints a note if a port has more inputs than its weight allows: larger incasts
/// depend on congestion control and on the memory of the control queue.
///
/// ```toml
/// [switch.trim]
/// threshold = "100kB"
/// weight = "fan-in"
/// fan_in = 8
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Trim {
    /// Queued bytes of a class at a port above which packets are trimmed. Default: one bandwidth-delay
    /// product, as UEC recommends for ports inside a fabric: the port's rate times the longest base
    /// round-trip time between two hosts, for a full packet and its acknowledgement.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub threshold: Option<Bytes>,
    /// The control class. It has no other packets and no entry in `[[switch.class]]`.
    pub class: Placed<Within<u8, 0, 7>>,
    /// Weight of the control class relative to all other weighted classes. Classes of workloads without a
    /// weight in `[[switch.class]]` have weight 1.
    pub weight: Placed<TrimWeight>,
    /// Number of inputs that may send at line rate to one port. Default: all other ports of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_in: Option<Within<u32, 1, 65_535>>,
    /// Memory of each port's control queue; header-only packets that do not fit are lost.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub headers: Bytes,
    /// Fraction of data packets that each port trims at random, whatever the queue length: losses at a known
    /// ratio, as in testbeds. Frames that cannot be trimmed are not affected; `[[impair]]` corrupts those
    /// too.
    pub share: Probability,
    /// Treatment of acknowledgements and notifications of a transport that supports trimming.
    pub acks: TrimAcks,
}

impl Default for Trim {
    fn default() -> Self {
        Self {
            threshold: None,
            class: Placed::without_place(Within::fixed(7)),
            weight: Placed::without_place(TrimWeight::FanIn),
            fan_in: None,
            headers: Bytes::new(1_000_000),
            share: Probability::ZERO,
            acks: TrimAcks::Drop,
        }
    }
}

impl Trim {
    /// Checks that the table fits the rest of the scenario.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), CheckError> {
        if scenario.switch.lossless.is_some() {
            let why = "a lossless switch pauses its neighbours before it trims; remove [switch.trim] or [switch.lossless]";
            return Err((Place(None), why.to_owned()));
        }
        if let (Some(threshold), Some(buffer)) = (self.threshold, scenario.topology.buffer.max())
            && threshold > buffer
        {
            let why = format!(
                "a `threshold` of {threshold} is above the `topology.buffer` of {buffer}, so packets would be dropped before they \
                 are trimmed; set at most that"
            );
            return Err((Place(None), why));
        }
        let class = self.class.get();
        let taken = |by: &str| {
            let why = format!(
                "class {class} is {by}, and header-only packets need their own class; choose another"
            );
            Err((self.class.place, why))
        };
        if scenario.switch.classes.iter().any(|entry| entry.number.get() == class) {
            return taken("in [[switch.class]]");
        }
        if scenario.workloads.iter().any(|workload| workload.class_in(&scenario.transport) == class) {
            return taken("that of a workload");
        }
        if scenario.transport.cnp_class.is_some_and(|cnps| cnps.get() == class) {
            return taken("that of congestion notifications");
        }
        Ok(())
    }
}

/// Treatment of acknowledgements by trimming switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrimAcks {
    /// Drop them above the threshold, as in DCP, whose acknowledgements are cumulative.
    #[default]
    Drop,
    /// Queue them with data as long as the buffer has room.
    Keep,
    /// Forward them in the control class, as in NDP.
    Control,
}

/// Weight of the control class, relative to 1 for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimWeight {
    /// In hundredths.
    Fixed(u32),
    /// The smallest weight that loses no header-only packet: (N − 1)/(r − N).
    FanIn,
    /// The rule of a published re-implementation: N/r rounded up, at least 1.
    Ratio,
}

impl TrimWeight {
    /// The largest weight, in hundredths.
    pub const MAX: u32 = 100_000;
}

impl Value for TrimWeight {
    fn expected() -> String {
        "a number from 0.01 to 1000, \"fan-in\" or \"ratio\"".to_owned()
    }

    fn types() -> &'static [&'static str] {
        &["number", "string"]
    }

    fn names() -> &'static [&'static str] {
        &["fan-in", "ratio"]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        let number = match scalar {
            Scalar::Text(text) if text == "fan-in" => return Ok(Self::FanIn),
            Scalar::Text(text) if text == "ratio" => return Ok(Self::Ratio),
            Scalar::Integer(number) => *number as f64,
            Scalar::Float(number) => *number,
            _ => return Err(Refusal::Type),
        };
        let hundredths = (number * 100.0).round();
        if hundredths < 1.0 || hundredths > f64::from(Self::MAX) || hundredths.is_nan() {
            let why = format!("a weight of {number} is out of range; expected {}", Self::expected());
            return Err(why.into());
        }
        Ok(Self::Fixed(hundredths as u32))
    }

    fn write(&self) -> Scalar {
        match self {
            Self::Fixed(hundredths) if hundredths % 100 == 0 => Scalar::Integer((hundredths / 100).into()),
            Self::Fixed(hundredths) => Scalar::Float(f64::from(*hundredths) / 100.0),
            Self::FanIn => Scalar::Text("fan-in".to_owned()),
            Self::Ratio => Scalar::Text("ratio".to_owned()),
        }
    }
}

as_value!(TrimWeight);
