//! Buffers of the prototype: in the loopback port, or in memory.
//!
//! Frames in memory are checked when the state changes on which they wait. So there is no delay of a loop, no
//! shared loopback port and no pipeline load. The registers, slots, single notification and thresholds of the
//! prototype stay the same.

use std::cmp::Ordering;
use std::collections::VecDeque;

use wiremend_units::{Span, SwitchId};

use super::end_context::Shared;
use super::loopback::{BufferedFrame, Side};

/// Where a port of the prototype buffers frames.
pub(crate) enum BufferLocation {
    Loopback(SwitchId),
    Memory(Box<FrameMemory>),
}

/// Buffered frames, lowest number first.
#[derive(Default)]
pub(crate) struct FrameMemory {
    tx: VecDeque<BufferedFrame>,
    rx: VecDeque<BufferedFrame>,
}

impl BufferLocation {
    pub(crate) fn memory() -> Self {
        Self::Memory(Box::default())
    }

    /// Returns the time from the check of a requested copy to the queue of retransmissions.
    pub(super) fn resend_latency(&self, shared: &Shared) -> Span {
        match self {
            Self::Loopback(switch) => shared.loopbacks[switch.index()].timing.resend,
            Self::Memory(_) => Span::ZERO,
        }
    }

    /// Returns the frame that is checked next, if frames are in memory.
    pub(super) fn first(&self, side: Side) -> Option<BufferedFrame> {
        match self {
            Self::Memory(memory) => memory.first(side),
            Self::Loopback(_) => None,
        }
    }

    /// Removes that frame.
    pub(super) fn remove_first(&mut self, side: Side) {
        if let Self::Memory(memory) = self {
            memory.side(side).pop_front();
        }
    }
}

impl FrameMemory {
    /// Inserts a frame in the order of numbers. Most arrive in order; retransmissions do not. Of equal
    /// numbers, the first stays first.
    pub(super) fn insert(&mut self, buffered: BufferedFrame) {
        let buffer = self.side(buffered.side);
        let later = |kept: &&BufferedFrame| kept.number.compare(buffered.number) == Ordering::Greater;
        let behind = buffer.iter().rev().take_while(later).count();
        buffer.insert(buffer.len() - behind, buffered);
    }

    fn first(&self, side: Side) -> Option<BufferedFrame> {
        if side == Side::Tx { self.tx.front() } else { self.rx.front() }.copied()
    }

    fn side(&mut self, side: Side) -> &mut VecDeque<BufferedFrame> {
        if side == Side::Tx { &mut self.tx } else { &mut self.rx }
    }
}
