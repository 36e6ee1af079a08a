//! Losses by rule: periodic ones, and those selected by a header field, as a switch can do.

use crate::{BadImpairment, FrameFacts};

/// Every n-th frame.
#[derive(Clone, Debug)]
pub struct EveryNth {
    n: u64,
    /// Frames until the next hit, including the hit frame.
    left: u64,
}

impl EveryNth {
    /// Corrupts frames `offset + n`, `offset + 2n`, …; the first frame in the window has number 1.
    pub fn new(n: u64, offset: u64) -> Result<Self, BadImpairment> {
        if n == 0 { Err(BadImpairment::EveryZeroth) } else { Ok(Self { n, left: n.saturating_add(offset) }) }
    }

    /// Whether this frame is corrupted.
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

/// Corrupts frames whose IP identification has a given value under a mask: a loss of 2^−bits without random
/// draws, which a P4 switch can reproduce. Each transmission of a packet has a new identification, so that a
/// retransmission has an independent fate.
#[derive(Clone, Debug)]
pub struct IpId {
    mask: u16,
    value: u16,
}

impl IpId {
    /// Corrupts frames with `identification & mask == value`.
    pub fn new(mask: u16, value: u16) -> Result<Self, BadImpairment> {
        if value & !mask == 0 {
            Ok(Self { mask, value })
        } else {
            Err(BadImpairment::OutsideMask { mask, value })
        }
    }

    /// Whether this frame has a matching identification.
    #[inline]
    pub fn corrupts(&mut self, frame: &FrameFacts) -> bool {
        frame.ip_id.is_some_and(|id| id & self.mask == self.value)
    }
}
