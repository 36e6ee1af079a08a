//! Switches that stop their neighbours before they run out of memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wiremend_units::{Bytes, Span};

use crate::quantity::{Alpha, Within};
use crate::value::{self, Placed, Shown};

/// Switches that lose nothing for want of room, by priority flow control (IEEE 802.1Qbb); without this table there is none.
///
/// All ports of a switch share one buffer. Frames are counted by the port that they came in by and by their class, from their
/// arrival until they begin to leave. A frame for which its port is free never lies in the buffer. Of each port and
/// lossless class the first `reserve` bytes have a place of their own. Beyond it, at most `alpha` times the shared bytes that are free
/// lie in the shared part, which is what `buffer` leaves after all reserves and headrooms. A frame above that threshold lies in the headroom
/// of its port and class, and the neighbour is sent a PFC frame that stops the class; it goes on when the headroom is empty and the
/// bytes are `resume_offset` below the threshold, which by then may have risen or fallen. While it must wait it is told again
/// after half of the `quanta`, and if that is lost, a pause ends by itself.
///
/// PFC frames are frames of 64 bytes that leave a port before all others, take their time on the wire, and may be corrupted. Ports of
/// switches and hosts obey them after the frame that is leaving. With headroom as computed, no frame of a lossless class is dropped
/// on clean links. Copies that switches make (`[mend]`) come on top and may overrun it. Classes that are not lossless
/// have neither reserve nor headroom, and what is above their threshold is dropped.
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
    /// The memory of each switch.
    #[serde(default = "buffer", with = "value::positive")]
    #[schemars(with = "Shown<Bytes>")]
    pub buffer: Bytes,
    /// The share of the free shared bytes that one port and class may have.
    #[serde(default)]
    pub alpha: Alpha,
    /// Bytes that each port has to itself for each lossless class.
    #[serde(default = "reserve", with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub reserve: Bytes,
    /// Bytes above the threshold that each port may take in for each lossless class. If left out, as many as can come before the
    /// neighbour has stopped: by the port's rate, cable and latencies, the largest frame, and `reaction`.
    #[serde(default, with = "value", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shown<Bytes>")]
    pub headroom: Option<Bytes>,
    /// How far below its threshold a port must be for its neighbour to go on.
    #[serde(default = "resume_offset", with = "value")]
    #[schemars(with = "Shown<Bytes>")]
    pub resume_offset: Bytes,
    /// How long a neighbour is told to stop, in units of 512 bit times of its link.
    #[serde(default = "quanta")]
    pub quanta: Within<u16, 1, 65_535>,
    /// How often each PFC frame is sent, one right after the other. The standard says once; where links corrupt, a pause that is lost
    /// costs all that comes until it is said again.
    #[serde(default = "copies")]
    pub copies: Within<u8, 1, 8>,
    /// How long ports take from reading a PFC frame to obeying it.
    #[serde(default, with = "value")]
    #[schemars(with = "Shown<Span>")]
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
    /// The lossless classes, a bit each.
    pub fn mask(&self) -> u8 {
        self.classes.iter().fold(0, |mask, class| mask | 1 << class.get())
    }
}
