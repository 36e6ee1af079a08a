//! ECN marking at switches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Bytes;

use crate::quantity::Probability;
use crate::value::{self, SchemaOf};

/// ECN marking by queue length (RFC 3168) with the RED curve: no mark up to `kmin` bytes of the frame's class
/// at its port, a probability that rises from 0 to `pmax` between `kmin` and `kmax`, and a mark on every
/// frame above `kmax`. Without this table, switches do not mark.
///
/// The queue length is the instantaneous one, without the frame itself, as in DCQCN (Zhu et al., SIGCOMM
/// 2015). It counts bytes on the wire including preambles and gaps, and the rest of the frame in
/// transmission. The decision is made when a frame arrives at the port. Data and open-loop frames can be
/// marked; acknowledgements and congestion notifications cannot. Works with and without
/// [switch.lossless](#switchlossless).
///
/// Parameters of the paper, for 40 Gb/s:
///
/// ```toml
/// [switch.ecn]
/// kmin = "5kB"
/// kmax = "200kB"
/// pmax = 0.01
/// ```
///
/// Parameters of HPCC's simulator and its descendants, for 100 Gb/s (a quarter of the sizes for 25 Gb/s):
///
/// ```toml
/// [switch.ecn]
/// kmin = "400kB"
/// kmax = "1600kB"
/// pmax = 0.2
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecn {
    /// Queue length up to which no frame is marked.
    #[serde(with = "value")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub kmin: Bytes,
    /// Queue length above which every frame is marked; at least `kmin`.
    #[serde(with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub kmax: Bytes,
    /// Marking probability at `kmax`; above 0.
    pub pmax: Probability,
}
