//! The frames of one class that wait at a port.

use std::collections::VecDeque;

use wiremend_units::Span;

use crate::frame::{FrameId, GAP_BYTES};
use crate::memory::prefetch;

/// The frames of one class that wait, and the time that they will take. The first lies here, so that a departure does
/// not wait for memory of the others.
pub(super) struct ClassQueue {
    /// Or none.
    first: Waiting,
    behind: VecDeque<Waiting>,
    pub(super) backlog: Span,
}

/// A frame at a port: its bytes, where it came in, and the time it needs of the wire.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) frame: FrameId,
    pub(crate) len: u16,
    pub(crate) ingress: u16,
    pub(crate) cost: Span,
}

const _: () = assert!(size_of::<Waiting>() == 16);

/// Frames that wait behind the first, in one line of the cache.
const ENTRIES_A_LINE: usize = 64 / size_of::<Waiting>();

impl ClassQueue {
    pub(super) const fn new() -> Self {
        Self { first: Waiting::NONE, behind: VecDeque::new(), backlog: Span::ZERO }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first.frame == FrameId::NONE
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Waiting> {
        (!self.is_empty()).then_some(&self.first)
    }

    #[inline]
    pub(super) fn push(&mut self, waiting: Waiting) {
        self.backlog += waiting.cost;
        if self.is_empty() {
            self.first = waiting;
        } else {
            self.behind.push_back(waiting);
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        if self.is_empty() {
            return None;
        }
        let first = std::mem::replace(&mut self.first, self.behind.pop_front().unwrap_or(Waiting::NONE));
        self.backlog = self.backlog - first.cost;
        if let Some(soon) = self.behind.get(ENTRIES_A_LINE - 1) {
            prefetch(soon);
        } else if self.behind.is_empty() {
            // The next ones start at the front again: a queue that was long once does not go round its memory for ever.
            self.behind.clear();
        }
        Some(first)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.front().into_iter().chain(&self.behind)
    }

    /// Bytes of the wire that the first frame takes.
    pub(super) fn need(&self) -> u32 {
        self.front().map_or(0, Waiting::wire_bytes)
    }
}

impl Waiting {
    const NONE: Self = Self { frame: FrameId::NONE, len: 0, ingress: 0, cost: Span::ZERO };

    fn wire_bytes(&self) -> u32 {
        u32::from(self.len) + GAP_BYTES as u32
    }
}
