//! Where frames stand while they are under way. They stay in one place from sender to receiver; lanes and ports
//! pass handles. The place freed last is used next: it is still in the cache.

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
