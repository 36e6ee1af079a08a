//! Priority flow control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span};

use crate::quantity::{Alpha, Within};
use crate::value::{self, Placed, SchemaOf};

/// Priority flow control (PFC, IEEE 802.1Qbb), which keeps switches from dropping frames of some classes.
/// Without this table there is no PFC.
///
/// All ports of a switch share one buffer. Frames are counted by ingress port and class, from arrival until
/// their transmission starts; a frame whose output port is free is not counted. Each port and lossless class
/// owns `reserve` bytes. Beyond these it may use up to `alpha` times the free bytes of the shared pool, which
/// is `buffer` without all reserves and headrooms. A frame above this threshold is stored in the headroom of
/// its port and class, and the switch sends a PFC frame that pauses the class at the neighbour. The neighbour
/// resumes when the headroom is empty and the bytes are `resume_offset` below the threshold, which may have
/// changed meanwhile. The switch refreshes the pause after half of the `quanta`; a pause that is not
/// refreshed expires.
///
/// PFC frames have 64 bytes, are sent before all other frames, take time on the wire, and may be corrupted.
/// Switches and hosts pause after the frame in transmission. With the default headroom no frame of a
/// lossless class is dropped on clean links, except that copies made by switches (`[mend]`) may exceed it.
/// Other classes have neither reserve nor headroom; the switch drops their frames above the threshold.
///
/// ```toml
/// [switch.lossless]
/// classes = [3]
/// buffer = "12MB"
/// alpha = "1/8"
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossless {
    /// The lossless traffic classes: one to eight, each once.
    pub classes: Placed<Vec<Within<u8, 0, 7>>>,
    /// Buffer size of each switch.
    #[serde(default = "buffer", with = "value::positive")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub buffer: Bytes,
    /// Factor of the free shared bytes that one port and class may use.
    #[serde(default)]
    pub alpha: Alpha,
    /// Reserved bytes of each port and lossless class.
    #[serde(default = "reserve", with = "value")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub reserve: Bytes,
    /// Headroom of each port and lossless class. Default: the bytes that can arrive before the neighbour has
    /// stopped, computed from the port's rate, cable and latencies, the largest frame, and `reaction`.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SchemaOf<Bytes>")]
    pub headroom: Option<Bytes>,
    /// Distance below the threshold at which the neighbour resumes.
    #[serde(default = "resume_offset", with = "value")]
    #[schemars(with = "SchemaOf<Bytes>")]
    #[schemars(extend("x-advanced" = true))]
    pub resume_offset: Bytes,
    /// Duration of a pause, in units of 512 bit times of the link.
    #[serde(default = "quanta")]
    #[schemars(extend("x-advanced" = true))]
    pub quanta: Within<u16, 1, 65_535>,
    /// Number of transmissions of each PFC frame, back to back. The standard sends 1. On links that corrupt, a
    /// lost PFC frame costs all frames that arrive until the pause is refreshed.
    #[serde(default = "copies")]
    pub copies: Within<u8, 1, 8>,
    /// Delay of ports from the reception of a PFC frame to its effect.
    #[serde(default, with = "value")]
    #[schemars(with = "SchemaOf<Span>")]
    #[schemars(extend("x-advanced" = true))]
    pub reaction: Span,
}

fn buffer() -> Bytes {
    Bytes::new(12_000_000)
}

fn reserve() -> Bytes {
    Bytes::new(4_000)
}

fn resume_offset() -> Bytes {
    Bytes::new(3_000)
}

fn quanta() -> Within<u16, 1, 65_535> {
    Within::fixed(u16::MAX)
}

fn copies() -> Within<u8, 1, 8> {
    Within::fixed(1)
}

impl Lossless {
    /// Returns the lossless classes as a bit mask.
    pub fn mask(&self) -> u8 {
        self.classes.iter().fold(0, |mask, class| mask | 1 << class.get())
    }
}
