//! Output queueing, load balancing and the optional features of switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Span;

use crate::balance::Balance;
use crate::buffer::Buffer;
use crate::deadlock::{Demotion, Loops, Probes, Watchdog};
use crate::ecn::Ecn;
use crate::lossless::Lossless;
use crate::quantity::Within;
use crate::trim::Trim;
use crate::value::{self, Placed, SchemaOf};

/// Load balancing over shortest paths, and scheduling of traffic classes at output ports.
///
/// A class without a weight has strict priority: among strict classes with frames, the highest number is
/// served first. Classes without an entry are strict. Classes with a weight share the rest of the link by
/// deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), in proportion to their weights and in bytes on
/// the wire, so that frame sizes do not change the shares. Unused capacity goes to the other classes.
///
/// ```toml
/// [[switch.class]]
/// number = 3
/// weight = 3
///
/// [[switch.class]]
/// number = 0
/// weight = 1
/// ```
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Switch {
    /// Choice among several shortest paths.
    pub balance: Placed<Balance>,
    /// Gap after which packets of a queue pair may take another path. Default: `100us`. Only for `balance =
    /// "flowlet"`.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Span>")]
    pub flowlet_gap: Option<Span>,
    /// Traffic classes, at most one entry each; classes without an entry are strict.
    #[serde(rename = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassWeight>,
    /// Buffer sizes of single switches: see [[[switch.buffer]]](#switchbuffer).
    #[serde(rename = "buffer", skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Placed<Buffer>>,
    /// Priority flow control: see [switch.lossless](#switchlossless).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Placed<Lossless>>,
    /// ECN marking: see [switch.ecn](#switchecn).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Placed<Ecn>>,
    /// Packet trimming: see [switch.trim](#switchtrim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<Placed<Trim>>,
    /// PFC watchdog at each port: see [switch.watchdog](#switchwatchdog).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Placed<Watchdog>>,
    /// Demotion of frames in a loop to a lossy class: see [switch.demotion](#switchdemotion).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demotion: Option<Placed<Demotion>>,
    /// Deadlock detection by probes along pauses: see [switch.probes](#switchprobes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Placed<Probes>>,
    /// Detection of routing loops: see [switch.loops](#switchloops).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<Placed<Loops>>,
}

/// Scheduling of one traffic class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassWeight {
    /// Number of the class.
    pub number: Placed<Within<u8, 0, 7>>,
    /// Weight relative to the other weighted classes. Default: strict priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Within<u32, 1, 1000>>,
}

impl Switch {
    /// Returns the gap that ends a flowlet.
    pub fn flowlet_gap(&self) -> Span {
        self.flowlet_gap.unwrap_or(Span::from_us(100))
    }

    /// Returns the classes that have a weight, each with its weight.
    pub fn weights(&self) -> impl Iterator<Item = (u8, u32)> {
        self.classes.iter().filter_map(|class| Some((class.number.get(), class.weight?.get())))
    }
}
