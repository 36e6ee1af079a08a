//! How the bytes of a frame end.

use crate::fcs;

/// What follows the padding of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Trailer {
    /// Nothing: as captures and network drivers hand frames over.
    #[default]
    None,
    /// The FCS: as on the wire.
    Fcs,
}

impl Trailer {
    /// Its length.
    pub const fn bytes(self) -> usize {
        match self {
            Self::None => 0,
            Self::Fcs => 4,
        }
    }

    /// Computes the last bytes of a frame that is complete but for them.
    pub(crate) fn seal(self, frame: &mut [u8]) {
        if let Self::Fcs = self {
            let (covered, last) = frame.split_last_chunk_mut().expect("a frame is longer than its FCS");
            *last = fcs(covered).to_le_bytes();
        }
    }
}
