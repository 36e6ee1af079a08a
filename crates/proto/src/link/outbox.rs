//! Output of both halves of an end: disposals and counters.

use super::{Counters, Disposal, RecoveryDelays};

#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Outbox<F> {
    /// Those before `next` were returned.
    disposals: Vec<Disposal<F>>,
    next: usize,
    pub(super) counters: Counters,
    pub(super) delays: RecoveryDelays,
}

impl<F: Copy> Outbox<F> {
    /// All but the histogram, which is long.
    pub(super) const HOT_BYTES: usize = std::mem::offset_of!(Self, delays);

    pub(super) fn new() -> Self {
        Self {
            disposals: Vec::new(),
            next: 0,
            counters: Counters::default(),
            delays: RecoveryDelays::default(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, disposal: Disposal<F>) {
        self.disposals.push(disposal);
    }

    /// Releases a copy, if there is one.
    #[inline]
    pub(super) fn release(&mut self, copy: Option<F>) {
        if let Some(copy) = copy {
            self.push(Disposal::Release(copy));
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.disposals.is_empty()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Disposal<F>> {
        let disposal = self.disposals.get(self.next).copied();
        if disposal.is_some() {
            self.next += 1;
        } else {
            self.disposals.clear();
            self.next = 0;
        }
        disposal
    }
}
