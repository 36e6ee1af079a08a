//! The measurement window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Time;

use crate::value::{self, SchemaOf};

/// The time over which goodput is measured. Without this table: from the delivery of the first tenth of the payload to
/// that of the last, so that neither the start nor a few late flows count. Completion times are of all flows.
///
/// The payload of a flow counts evenly from its post to its delivery.
///
/// ```toml
/// [measure]
/// from = "2ms"
/// until = "10ms"
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Start of the window.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub from: Time,
    /// End of the window.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Time>")]
    pub until: Time,
}
