//! Memory for frames, allocated at the start in slots of equal size.

/// Handle of a slot. Slots are reference-counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(u32);

/// A pool of reference-counted slots, each with one frame.
pub struct Pool {
    bytes: Vec<u8>,
    slot_bytes: usize,
    lens: Vec<u32>,
    references: Vec<u8>,
    /// A stack: the slot used last may still be in the cache.
    free: Vec<u32>,
}

impl Pool {
    /// Creates `slots` slots for frames of up to `frame_bytes`. Unused slots take no physical memory.
    pub fn new(slots: u32, frame_bytes: usize) -> Self {
        let slot_bytes = frame_bytes.next_multiple_of(64);
        Self {
            bytes: vec![0; slots as usize * slot_bytes],
            slot_bytes,
            lens: vec![0; slots as usize],
            references: vec![0; slots as usize],
            free: (0..slots).rev().collect(),
        }
    }

    /// Memory in bytes if all slots are used.
    pub fn bytes_max(&self) -> usize {
        self.bytes.len() + self.lens.len() * (size_of::<u32>() * 2 + size_of::<u8>())
    }

    /// Takes an empty slot with one reference. Returns `None` if all slots are in use.
    #[inline]
    pub fn allocate(&mut self) -> Option<Slot> {
        let slot = self.free.pop()?;
        (self.lens[slot as usize], self.references[slot as usize]) = (0, 1);
        Some(Slot(slot))
    }

    /// Writes a frame, given in pieces, into a slot. Returns false and leaves the slot empty if the frame
    /// does not fit: a truncated frame would look like a valid one.
    #[inline]
    #[must_use]
    pub fn fill(&mut self, slot: Slot, pieces: [&[u8]; 3]) -> bool {
        debug_assert!(self.is_in_use(slot));
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        if len > self.slot_bytes {
            self.lens[slot.0 as usize] = 0;
            return false;
        }
        let mut at = slot.0 as usize * self.slot_bytes;
        for piece in pieces {
            self.bytes[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        self.lens[slot.0 as usize] = len as u32;
        true
    }

    /// Returns the frame in a slot.
    #[inline]
    pub fn frame(&self, slot: Slot) -> &[u8] {
        let start = slot.0 as usize * self.slot_bytes;
        &self.bytes[start..start + self.lens[slot.0 as usize] as usize]
    }

    /// Adds a reference to a slot.
    #[inline]
    pub fn retain(&mut self, slot: Slot) {
        debug_assert!(self.is_in_use(slot));
        self.references[slot.0 as usize] += 1;
    }

    /// Drops a reference to a slot. The last one frees the slot.
    #[inline]
    pub fn release(&mut self, slot: Slot) {
        let references = &mut self.references[slot.0 as usize];
        assert!(*references > 0, "slot released too often");
        *references -= 1;
        if *references == 0 {
            self.free.push(slot.0);
        }
    }

    /// Returns whether a slot has a reference.
    #[inline]
    pub fn is_in_use(&self, slot: Slot) -> bool {
        self.references[slot.0 as usize] > 0
    }

    /// Number of slots in use.
    pub fn used(&self) -> usize {
        self.lens.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_release_frees_a_slot() {
        let mut pool = Pool::new(2, 100);
        let slot = pool.allocate().unwrap();
        assert!(pool.fill(slot, [b"ab", b"", b"cde"]));
        pool.retain(slot);
        pool.release(slot);
        assert_eq!(pool.frame(slot), b"abcde");
        pool.release(slot);
        assert_eq!((pool.used(), pool.is_in_use(slot)), (0, false));
        let both = [pool.allocate(), pool.allocate(), pool.allocate()];
        assert!(both[1].is_some() && both[2].is_none());
    }

    #[test]
    fn frame_that_does_not_fit_is_not_stored() {
        let mut pool = Pool::new(1, 64);
        let slot = pool.allocate().unwrap();
        assert!(pool.fill(slot, [&[1; 12], &[2; 4], &[3; 48]]));
        assert_eq!(pool.frame(slot).len(), 64);
        assert!(!pool.fill(slot, [&[1; 12], &[2; 4], &[3; 49]]));
        assert!(pool.frame(slot).is_empty());
    }
}
