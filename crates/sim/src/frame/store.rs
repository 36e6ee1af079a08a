//! The store of frames in flight. A frame stays in its slot from sender to receiver; lanes and ports pass its
//! id. The slot freed last is reused first, because it is still in the cache.

use wiremend_proto::cc::Feedback;

use super::Frame;
use crate::memory::{pages, prefetch};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameId(pub(super) u32);

impl FrameId {
    /// No frame.
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

#[derive(Default)]
pub(crate) struct FrameStore {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Feedback that frames carry for congestion control, by slot. Empty if no congestion control needs it,
    /// and only as long as needed.
    feedback: Vec<Option<Box<Feedback>>>,
}

/// One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot(Frame);

const _: () = assert!(size_of::<Slot>() == 64);

impl FrameStore {
    #[inline]
    pub(crate) fn insert(&mut self, frame: Frame) -> FrameId {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Slot(frame);
            FrameId(slot)
        } else {
            let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 frames are in flight");
            if self.slots.len() == self.slots.capacity() {
                pages::reserve(&mut self.slots, 1);
            }
            self.slots.push(Slot(frame));
            FrameId(slot)
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: FrameId) -> Frame {
        self.free.push(id.0);
        if !self.feedback.is_empty() {
            self.detach(id);
        }
        self.slots[id.0 as usize].0
    }

    #[inline]
    pub(crate) fn get(&self, id: FrameId) -> &Frame {
        &self.slots[id.0 as usize].0
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.slots[id.0 as usize].0
    }

    pub(crate) fn attach(&mut self, id: FrameId, feedback: Box<Feedback>) {
        let slot = id.0 as usize;
        if self.feedback.len() <= slot {
            self.feedback.resize(slot + 1, None);
        }
        self.feedback[slot] = Some(feedback);
    }

    pub(crate) fn detach(&mut self, id: FrameId) -> Option<Box<Feedback>> {
        self.feedback.get_mut(id.0 as usize)?.take()
    }

    pub(crate) fn feedback_mut(&mut self, id: FrameId) -> Option<&mut Feedback> {
        self.feedback.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// Inserts a copy of a frame, with its feedback.
    pub(crate) fn duplicate(&mut self, id: FrameId) -> FrameId {
        let copy = self.insert(*self.get(id));
        // The next copy follows soon, and its slot may have been idle for long.
        if let Some(next) = self.free.last() {
            prefetch(&self.slots[*next as usize]);
        }
        if let Some(feedback) = self.feedback.get(id.0 as usize).cloned().flatten() {
            self.attach(copy, feedback);
        }
        copy
    }

    /// Returns the slot that is used again after `ahead` others.
    #[inline]
    pub(crate) fn free_slot(&self, ahead: usize) -> Option<FrameId> {
        self.free.get(self.free.len().checked_sub(ahead + 1)?).map(|slot| FrameId(*slot))
    }

    /// Returns the number of stored frames.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[inline]
    pub(crate) fn prefetch(&self, id: FrameId) {
        prefetch(&self.slots[id.0 as usize]);
    }
}
