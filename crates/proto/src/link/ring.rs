//! A ring of slots for consecutive positions.

use std::ops::{Index, IndexMut};

/// As many slots as positions are in use at once, rounded up to a power of two. It grows until it holds the
/// data in flight of the link; small rings stay in a cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    slots: Vec<T>,
}

impl<T: Copy + Default> Ring<T> {
    const SLOTS_MIN: usize = 64;

    /// Makes room for the positions from `first` to `end - 1`. Those before `used` may be in use.
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
        for position in first..used.min(first + old.len() as u64) {
            self[position] = old[position as usize & (old.len() - 1)];
        }
    }
}

impl<T> Ring<T> {
    /// The slot of a position, if the ring has slots.
    #[inline]
    pub(super) fn get(&self, position: u64) -> Option<&T> {
        self.slots.get(position as usize & self.slots.len().saturating_sub(1))
    }
}

impl<T> Index<u64> for Ring<T> {
    type Output = T;
    #[inline]
    fn index(&self, position: u64) -> &T {
        &self.slots[position as usize & (self.slots.len() - 1)]
    }
}

impl<T> IndexMut<u64> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, position: u64) -> &mut T {
        let mask = self.slots.len() - 1;
        &mut self.slots[position as usize & mask]
    }
}
