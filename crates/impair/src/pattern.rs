//! Losses by rule: periodic ones, and those that a switch can be told to make from a header field.

use crate::{BadImpairment, FrameFacts};

/// Every n-th frame.
#[derive(Clone, Debug)]
pub struct EveryNth {
    n: u64,
    /// Frames to the next hit, which included.
    left: u64,
}

impl EveryNth {
    /// Hits frames `offset + n`, `offset + 2n`, …; the first frame in the window has number 1.
    pub fn new(n: u64, offset: u64) -> Result<Self, BadImpairment> {
        if n == 0 { Err(BadImpairment::EveryZeroth) } else { Ok(Self { n, left: n.saturating_add(offset) }) }
    }

    /// Whether it is this frame's turn.
    #[inline]
    pub fn corrupts(&mut self, _frame: &FrameFacts) -> bool {
        self.left -= 1;
        if self.left > 0 {
            return false;
        }
        self.left = self.n;
        true
    }
}

/// Frames whose IP identification has a given value under a mask: a loss of 2^−bits that needs no random draw and
/// that a P4 switch can make too. Each transmission of a packet takes a fresh identification, so that a repeat has
/// new luck.
#[derive(Clone, Debug)]
pub struct IpId {
    mask: u16,
    value: u16,
}

impl IpId {
    /// Hits `identification & mask == value`.
    pub fn new(mask: u16, value: u16) -> Result<Self, BadImpairment> {
        if value & !mask == 0 {
            Ok(Self { mask, value })
        } else {
            Err(BadImpairment::OutsideMask { mask, value })
        }
    }

    /// Whether this frame has an identification, and one that matches.
    #[inline]
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        frame.ip_id.is_some_and(|id| id & self.mask == self.value)
    }
}
