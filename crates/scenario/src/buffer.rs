//! Switches that have more or less memory than the others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Bytes;

use crate::name::SwitchSet;
use crate::value::{self, Placed, Shown};

/// Memory of some switches, where it is another than that of all: the bytes that each of their output ports has (`topology.buffer`), or with
/// [switch.lossless](#switchlossless) those that all ports of a switch share. Of several entries about a switch, the last counts.
///
/// ```toml
/// [topology]
/// kind = "leaf-spine"
/// leaves = 2
/// spines = 2
/// hosts_per_leaf = 4
/// buffer = "2MB"
///
/// [[switch.buffer]]
/// switches = "core"
/// bytes = "1MB"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Which ones.
    pub switches: Placed<SwitchSet>,
    /// Their memory.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub bytes: Bytes,
}
