//! What switches do with frames that wait.

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
use crate::value::{self, Placed, Shown};

/// How switches choose between ways of the same length, and how their output ports divide a link among traffic classes.
///
/// A class without a weight is strict: of the strict classes that have frames, the one with the highest number goes, and
/// all classes are strict if nothing is said. The classes with a weight share what the strict ones leave, in proportion
/// to their weights and counted in bytes on the wire, so that unequal frames do not change the shares (deficit round
/// robin, Shreedhar and Varghese, SIGCOMM 1995). What a class does not use goes to the others.
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
    /// Which of several shortest ways a packet takes.
    pub balance: Placed<Balance>,
    /// The silence after which packets of a queue pair may take another way; `100us` if left out. For `balance = "flowlet"` only.
    #[serde(with = "value::positive_if_given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Span>")]
    pub flowlet_gap: Option<Span>,
    /// Traffic classes, each at most once; those that are left out are strict.
    #[serde(rename = "class", skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Switches with memory unlike the others': see [[[switch.buffer]]](#switchbuffer).
    #[serde(rename = "buffer", skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Placed<Buffer>>,
    /// Switches that stop their neighbours before they run out of memory: see [switch.lossless](#switchlossless).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<Placed<Lossless>>,
    /// Switches that mark frames when queues are long: see [switch.ecn](#switchecn).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<Placed<Ecn>>,
    /// Switches that cut packets to their headers when queues are long: see [switch.trim](#switchtrim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<Placed<Trim>>,
    /// A watchdog at each port: see [switch.watchdog](#switchwatchdog).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<Placed<Watchdog>>,
    /// Frames that go round lose their lossless class: see [switch.demotion](#switchdemotion).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demotion: Option<Placed<Demotion>>,
    /// Ports that ask along pauses whether they wait for themselves: see [switch.probes](#switchprobes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Placed<Probes>>,
    /// Switches that know frames which they have seen before: see [switch.loops](#switchloops).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loops: Option<Placed<Loops>>,
}

/// How ports treat one traffic class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// The class.
    pub number: Placed<Within<u8, 0, 7>>,
    /// Its share, in proportion to the weights of the other classes; if left out, it is strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Within<u32, 1, 1000>>,
}

impl Switch {
    /// The silence that ends a flowlet.
    pub fn flowlet_gap(&self) -> Span {
        self.flowlet_gap.unwrap_or(Span::from_us(100))
    }

    /// The classes that share by weight, each with its weight.
    pub fn weights(&self) -> impl Iterator<Item = (u8, u32)> {
        self.classes.iter().filter_map(|class| Some((class.number.get(), class.weight?.get())))
    }
}
