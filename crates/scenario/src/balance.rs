//! Load balancing over equal-cost paths.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Choice among several shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// All packets of a queue pair take the same path, by a hash of addresses and ports.
    #[default]
    Ecmp,
    /// Each packet takes a random path.
    Spray,
    /// Each packet takes the port with the fewest queued bytes of its class, including the frame in
    /// transmission; ties are broken at random.
    Adaptive,
    /// A flowlet (packets of a queue pair with gaps below `flowlet_gap`) takes one random path; the next
    /// flowlet draws again (`LetFlow`, NSDI 2017). A switch has 16 384 flowlet entries, indexed by a hash, so
    /// some flowlets share an entry.
    Flowlet,
}

impl Balance {
    /// Returns whether packets of a queue pair may overtake each other.
    pub fn reorders(self) -> bool {
        self != Self::Ecmp
    }
}
