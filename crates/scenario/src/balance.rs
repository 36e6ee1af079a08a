//! How switches spread packets over ways of the same length.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of several shortest ways a switch sends a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Balance {
    /// All packets of a queue pair the same way, by a hash of its addresses and ports.
    #[default]
    Ecmp,
    /// Each packet a random way.
    Spray,
    /// Each packet the way whose port has the fewest bytes of its class, what is just leaving included; of several such, a random one.
    Adaptive,
    /// A random way for all packets of a queue pair that follow each other within `flowlet_gap`, and a new one after a
    /// longer silence (`LetFlow`, NSDI 2017). A switch remembers 16 384 of them by a hash, so that some share a way.
    Flowlet,
}

impl Balance {
    /// Whether packets of a queue pair may overtake each other.
    pub fn reorders(self) -> bool {
        self != Self::Ecmp
    }
}
