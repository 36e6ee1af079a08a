//! Slots for places in a row, which follow each other round in memory.

use std::ops::{Index, IndexMut};

/// As many slots as places are in use at once, rounded up to a power of two. It grows while a link finds out how much
/// is under way, and then no more; small rings stay in a cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    slots: Vec<T>,
}

impl<T: Copy + Default> Ring<T> {
    const SLOTS_MIN: usize = 64;

    /// Has room for the places from `first` up to `end`, of which those before `used` may hold something.
    #[inline]
    pub(super) fn make_room(&mut self, first: u64, used: u64, end: u64) {
        if end - first > self.slots.len() as u64 {
            self.grow(first, used, end);
        }
    }

    #[cold]
    fn grow(&mut self, first: u64, used: u64, end: u64) {
        let len = ((end - first) as usize).next_power_of_two().max(Self::SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![T::default(); len]);
        for place in first..used.min(first + old.len() as u64) {
            self[place] = old[place as usize & (old.len() - 1)];
        }
    }
}

impl<T> Index<u64> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, place: u64) -> &T {
        &self.slots[place as usize & (self.slots.len() - 1)]
    }
}

impl<T> IndexMut<u64> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, place: u64) -> &mut T {
        let mask = self.slots.len() - 1;
        &mut self.slots[place as usize & mask]
    }
}
