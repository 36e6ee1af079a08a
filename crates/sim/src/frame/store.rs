//! Where frames stand while they are under way. They stay in one place from sender to receiver; lanes and ports
//! pass handles. The place freed last is used next: it is still in the cache.

use wiremend_proto::cc::Feedback;

use super::Frame;
use crate::memory::{pages, prefetch};

/// The place of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameId(u32);

impl FrameId {
    /// No frame at all.
    pub(crate) const NONE: Self = Self(u32::MAX);
}

#[derive(Default)]
pub(crate) struct Store {
    places: Vec<Place>,
    free: Vec<u32>,
    /// What frames bring to their senders' congestion control, by place; as long as it has to be, which is empty where nobody asks for it.
    feedback: Vec<Option<Box<Feedback>>>,
}

/// One cache line each.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Place(Frame);

const _: () = assert!(size_of::<Place>() == 64);

impl Store {
    #[inline]
    pub(crate) fn insert(&mut self, frame: Frame) -> FrameId {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = Place(frame);
            FrameId(place)
        } else {
            let place = u32::try_from(self.places.len()).expect("fewer than 2^32 frames are under way");
            if self.places.len() == self.places.capacity() {
                pages::reserve(&mut self.places, 1);
            }
            self.places.push(Place(frame));
            FrameId(place)
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: FrameId) -> Frame {
        self.free.push(id.0);
        if !self.feedback.is_empty() {
            self.detach(id);
        }
        self.places[id.0 as usize].0
    }

    #[inline]
    pub(crate) fn get(&self, id: FrameId) -> &Frame {
        &self.places[id.0 as usize].0
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: FrameId) -> &mut Frame {
        &mut self.places[id.0 as usize].0
    }

    /// Gives a frame what it is to bring.
    pub(crate) fn attach(&mut self, id: FrameId, feedback: Box<Feedback>) {
        let place = id.0 as usize;
        if self.feedback.len() <= place {
            self.feedback.resize(place + 1, None);
        }
        self.feedback[place] = Some(feedback);
    }

    /// What a frame has brought, which it has no longer.
    pub(crate) fn detach(&mut self, id: FrameId) -> Option<Box<Feedback>> {
        self.feedback.get_mut(id.0 as usize)?.take()
    }

    /// What a frame brings.
    pub(crate) fn feedback_mut(&mut self, id: FrameId) -> Option<&mut Feedback> {
        self.feedback.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// A copy of a frame, with what it brings.
    pub(crate) fn duplicate(&mut self, id: FrameId) -> FrameId {
        let copy = self.insert(*self.get(id));
        if let Some(feedback) = self.feedback.get(id.0 as usize).cloned().flatten() {
            self.attach(copy, feedback);
        }
        copy
    }

    /// Frames that stand here.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// The frame is needed soon.
    #[inline]
    pub(crate) fn prefetch(&self, id: FrameId) {
        prefetch(&self.places[id.0 as usize]);
    }
}
