//! Buffer sizes of single switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Bytes;

use crate::name::SwitchSet;
use crate::value::{self, Placed, SchemaOf};

/// Buffer size of some switches, if it differs from the others: bytes per output port (`topology.buffer`), or
/// with [switch.lossless](#switchlossless) bytes shared by all ports of a switch. If several entries match a
/// switch, the last one applies.
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
    /// The switches.
    pub switches: Placed<SwitchSet>,
    /// Their buffer size.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub bytes: Bytes,
}
