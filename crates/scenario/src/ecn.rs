//! Switches that mark what waits too long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::Bytes;

use crate::quantity::Probability;
use crate::value::{self, Shown};

/// Switches that mark frames when their queue is long (ECN, RFC 3168), by the curve of RED: no frame while at most `kmin` bytes of
/// its class wait at its port, all frames above `kmax`, and between them with a probability that rises from 0 to `pmax`. Without this
/// table no frame is marked.
///
/// The queue is that of the instant, without the frame itself, as DCQCN has it (Zhu et al., SIGCOMM 2015). It is counted in bytes on the wire,
/// preambles and gaps included, with what is left of the frame that is just leaving. A frame is judged when it comes to the port. Data and open-loop loads can be marked;
/// acknowledgements and congestion notifications are not. With and without [switch.lossless](#switchlossless).
///
/// The paper's curve, for 40 Gb/s:
///
/// ```toml
/// [switch.ecn]
/// kmin = "5kB"
/// kmax = "200kB"
/// pmax = 0.01
/// ```
///
/// That of HPCC's simulator and its descendants, for 100 Gb/s (a quarter of the sizes for 25 Gb/s):
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
    /// Up to so many bytes nothing is marked.
    #[serde(with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub kmin: Bytes,
    /// Above so many bytes everything is; not below `kmin`.
    #[serde(with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub kmax: Bytes,
    /// The probability of a mark at `kmax`; above 0.
    pub pmax: Probability,
}
