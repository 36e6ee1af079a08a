//! Switches that cut packets to their headers instead of dropping them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Bytes;

use crate::pattern::Misfit;
use crate::quantity::{Probability, Within};
use crate::scenario::Scenario;
use crate::value::{self, Place, Placed, Refusal, Scalar, Shown, Value, as_value};

/// Switches that cut a packet to its headers when too much waits before it, and hand the headers on in a class of their own, so that the
/// receiver learns at once what was lost (NDP, SIGCOMM 2017; DCP, SIGCOMM 2025). Without this table nothing is trimmed.
///
/// A packet is judged when it comes to an output port, by the bytes of its class that wait there, preambles and gaps included. Above
/// `threshold` a data packet of a transport that can be trimmed loses its payload and becomes a header-only packet: 58 bytes of headers, a frame of
/// 64. Header-only packets always go to the control class, whatever waits. Acknowledgements above the threshold are dropped unless `acks` says
/// otherwise, and so is what cannot be trimmed: frames of transports that do not know trimming, and open-loop loads that
/// are not `trimmable`. `topology.buffer` is for the other classes; header-only packets have `headers` to themselves.
///
/// The control class shares the link with all others by weight. Let data and header-only packets have sizes on the wire in the ratio r (13.2 at an MTU of
/// 1024 bytes, 49.7 at 4096), and let N inputs send data at line rate to one port. With w parts for the control class to one for data, it loses nothing
/// if w ≥ (N − 1)/(r − N), which needs N < r. Where more inputs can meet at a port, a run says so: larger incasts rely on
/// congestion control and on the memory of the control queue.
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
    /// Bytes of a class at a port above which its packets are trimmed. If left out, one bandwidth-delay product, as UEC recommends for ports inside a
    /// fabric: the port's rate times the longest base round trip between two hosts, that of a full packet and its acknowledgement.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub threshold: Option<Bytes>,
    /// The control class: no other packets are in it, and `[[switch.class]]` says nothing about it.
    pub class: Placed<Within<u8, 0, 7>>,
    /// The share of the control class to one part for all other classes that have a weight. Those of workloads without one
    /// in `[[switch.class]]` have 1 each.
    pub weight: Placed<TrimWeight>,
    /// Inputs that may send at line rate to one port. If left out, all other ports of the switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_in: Option<Within<u32, 1, 65_535>>,
    /// Memory of each port's control queue; a header-only packet that finds no room is lost.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub headers: Bytes,
    /// The share of data packets that each port cuts by chance, whatever waits there: losses of a known rate, as testbeds make them. What
    /// cannot be trimmed is not hit; a link that loses as much is an `[[impair]]`.
    pub share: Probability,
    /// What becomes of acknowledgements and notifications of a transport that can be trimmed.
    pub acks: TrimAcks,
}

impl Default for Trim {
    fn default() -> Self {
        Self {
            threshold: None,
            class: Placed::nowhere(Within::fixed(7)),
            weight: Placed::nowhere(TrimWeight::FanIn),
            fan_in: None,
            headers: Bytes::new(1_000_000),
            share: Probability::ZERO,
            acks: TrimAcks::Drop,
        }
    }
}

impl Trim {
    /// Whether it fits the rest of the scenario.
    pub(crate) fn check(&self, scenario: &Scenario) -> Result<(), Misfit> {
        if scenario.switch.lossless.is_some() {
            let why = "a lossless switch stops its neighbours before anything is trimmed; leave out [switch.trim], or [switch.lossless]";
            return Err((Place(None), why.to_owned()));
        }
        if let (Some(threshold), Some(buffer)) = (self.threshold, scenario.topology.buffer.max())
            && threshold > buffer
        {
            let why = format!(
                "a `threshold` of {threshold} is above the `topology.buffer` of {buffer}, so that packets would be dropped before \
                 they are trimmed; give at most that"
            );
            return Err((Place(None), why));
        }
        let class = self.class.get();
        let taken = |by: &str| {
            let why = format!(
                "class {class} is {by}, and header-only packets have a class of their own; choose another"
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

/// What trimming switches do with acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrimAcks {
    /// Above the threshold they are dropped, as DCP has it: its acknowledgements are cumulative.
    #[default]
    Drop,
    /// They wait with the data as long as the buffer has room.
    Keep,
    /// They travel in the control class, as NDP has it.
    Control,
}

/// The weight of the control class, to one part for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimWeight {
    /// In hundredths.
    Fixed(u32),
    /// The smallest that loses no header-only packet: (N − 1)/(r − N).
    FanIn,
    /// The cruder rule of a published re-implementation: N/r rounded up, at least 1.
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
            let why = format!(
                "a weight of {number} lets no header-only packet pass, or nothing else; expected {}",
                Self::expected()
            );
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
