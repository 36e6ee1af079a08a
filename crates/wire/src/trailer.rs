//! End of a frame's bytes.

use crate::fcs;

/// Bytes after the padding of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Trailer {
    /// None: as in captures and network drivers.
    #[default]
    None,
    /// The FCS: as on the wire.
    Fcs,
}

impl Trailer {
    /// Length of the trailer.
    pub const fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Fcs => 4,
        }
    }

    /// Computes the FCS of a complete frame.
    pub(crate) fn seal(self, frame: &mut [u8]) {
        if let Self::Fcs = self {
            let (covered, last) = frame.split_last_chunk_mut().expect("a frame is longer than its FCS");
            *last = fcs(covered).to_le_bytes();
        }
    }
}
