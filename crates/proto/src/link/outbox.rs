//! Output of both halves of an end: disposals and counters.

use std::collections::VecDeque;

use super::{Counters, Disposal, RecoveryDelays};

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Outbox<F> {
    disposals: VecDeque<Disposal<F>>,
    pub(super) counters: Counters,
    pub(super) delays: RecoveryDelays,
}

impl<F> Outbox<F> {
    /// All but the histogram, which is long.
    pub(super) const HOT_BYTES: usize = std::mem::offset_of!(Self, delays);

    pub(super) fn new() -> Self {
        Self { counters: Counters::default(), delays: RecoveryDelays::default(), disposals: VecDeque::new() }
    }

    #[inline]
    pub(super) fn push(&mut self, disposal: Disposal<F>) {
        self.disposals.push_back(disposal);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.disposals.is_empty()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Disposal<F>> {
        self.disposals.pop_front()
    }
}
