//! The queued frames of one class at a port.

use std::collections::VecDeque;

use wiremend_units::Span;

use crate::frame::{FrameId, GAP_BYTES};
use crate::memory::{prefetch, prefetch_address};

/// The queued frames of one class, and their transmission time. The first is stored inline, so that a
/// departure does not wait for memory of the others.
#[repr(align(64))]
pub(super) struct ClassQueue {
    /// May be empty.
    first: QueuedFrame,
    behind: VecDeque<QueuedFrame>,
    pub(super) backlog: Span,
}

/// A queued frame: its length, ingress port and transmission time.
///
/// Two words, as an event in its queue: it moves through registers.
#[derive(Clone, Copy)]
pub(crate) struct QueuedFrame {
    /// From the lowest bit: frame, length, ingress port.
    packed: u64,
    pub(crate) wire_time: Span,
}

const _: () = assert!(size_of::<QueuedFrame>() == 16);

/// Queue entries in one cache line.
const ENTRIES_PER_LINE: usize = 64 / size_of::<QueuedFrame>();

impl ClassQueue {
    pub(super) const fn new() -> Self {
        Self { first: QueuedFrame::NONE, behind: VecDeque::new(), backlog: Span::ZERO }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.frame() == FrameId::NONE
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&QueuedFrame> {
        (!self.is_empty()).then_some(&self.first)
    }

    #[inline]
    pub(super) fn prefetch(&self) {
        if let (Some(front), Some(back)) = (self.behind.front(), self.behind.back()) {
            prefetch(front);
            prefetch_address(std::ptr::from_ref(back).wrapping_add(1));
        }
    }

    #[inline]
    pub(super) fn push(&mut self, waiting: QueuedFrame) {
        self.backlog += waiting.wire_time;
        if self.is_empty() {
            self.first = waiting;
        } else {
            self.behind.push_back(waiting);
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<QueuedFrame> {
        if self.is_empty() {
            return None;
        }
        let first = std::mem::replace(&mut self.first, self.behind.pop_front().unwrap_or(QueuedFrame::NONE));
        self.backlog = self.backlog - first.wire_time;
        if let Some(soon) = self.behind.get(ENTRIES_PER_LINE - 1) {
            prefetch(soon);
        } else if self.behind.is_empty() {
            // The next frames restart at the front, so that a queue that was long once does not cycle through
            // its memory.
            self.behind.clear();
        }
        Some(first)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedFrame> {
        self.front().into_iter().chain(&self.behind)
    }

    pub(super) fn need(&self) -> u32 {
        self.front().map_or(0, QueuedFrame::wire_bytes)
    }
}

impl QueuedFrame {
    const NONE: Self = Self::new(FrameId::NONE, 0, 0, Span::ZERO);

    #[inline]
    pub(crate) const fn new(frame: FrameId, len: u16, ingress: u16, wire_time: Span) -> Self {
        let packed = frame.to_bits() as u64 | (len as u64) << 32 | (ingress as u64) << 48;
        Self { packed, wire_time }
    }

    #[inline]
    pub(crate) const fn frame(&self) -> FrameId {
        FrameId::from_bits(self.packed as u32)
    }

    #[inline]
    pub(crate) const fn len(&self) -> u16 {
        (self.packed >> 32) as u16
    }

    #[inline]
    pub(crate) const fn ingress(&self) -> u16 {
        (self.packed >> 48) as u16
    }

    #[inline]
    const fn wire_bytes(&self) -> u32 {
        self.len() as u32 + GAP_BYTES as u32
    }
}
