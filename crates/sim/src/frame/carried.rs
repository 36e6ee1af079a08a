//! What lanes carry: frames of the store, and frames of protected links that have no content but their header.

use super::{FrameId, PackedHeader};

/// A frame on a lane: the id of a stored frame, or the header of a control frame of a protected link. Most
/// frames of such links need no place in memory but this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried(u64);

/// What a lane carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Stored(FrameId),
    /// A control frame of a protected link.
    Control(PackedHeader),
}

const IS_CONTROL: u64 = 1 << 63;

impl Carried {
    #[inline]
    pub(crate) const fn stored(frame: FrameId) -> Self {
        Self(frame.0 as u64)
    }

    /// Returns a control frame with this header.
    #[inline]
    pub(crate) const fn control(header: PackedHeader) -> Self {
        Self(IS_CONTROL | header.0)
    }

    /// Returns the id of a frame that is known to be stored.
    #[inline]
    pub(crate) const fn stored_id(self) -> FrameId {
        FrameId(self.0 as u32)
    }

    /// Returns the content.
    #[inline]
    pub(crate) const fn content(self) -> Content {
        if self.0 & IS_CONTROL == 0 {
            Content::Stored(FrameId(self.0 as u32))
        } else {
            Content::Control(PackedHeader(self.0 & !IS_CONTROL))
        }
    }
}
