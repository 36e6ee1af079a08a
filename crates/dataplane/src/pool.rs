//! Memory for frames: all of it is there from the start, in slots of one size.

/// A slot of the pool. It is free again when all who hold it have let go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(u32);

/// Frames in memory, known by their slots.
pub struct Pool {
    bytes: Vec<u8>,
    slot_bytes: usize,
    lens: Vec<u32>,
    holders: Vec<u8>,
    /// The one that was used last comes first: it may still be in a cache.
    free: Vec<u32>,
}

impl Pool {
    /// So many slots for frames of up to `frame_bytes`. Memory that is never used is never touched.
    pub fn new(slots: u32, frame_bytes: usize) -> Self {
        let slot_bytes = frame_bytes.next_multiple_of(64);
        Self {
            bytes: vec![0; slots as usize * slot_bytes],
            slot_bytes,
            lens: vec![0; slots as usize],
            holders: vec![0; slots as usize],
            free: (0..slots).rev().collect(),
        }
    }

    /// A slot with nothing in it, held once. None: all are taken.
    #[inline]
    pub fn reserve(&mut self) -> Option<Slot> {
        let slot = self.free.pop()?;
        (self.lens[slot as usize], self.holders[slot as usize]) = (0, 1);
        Some(Slot(slot))
    }

    /// Puts a frame, which comes in pieces, into a slot that is held. False: it is longer than a slot, which stays empty. A part of a
    /// frame would pass for another one.
    #[inline]
    #[must_use]
    pub fn fill(&mut self, slot: Slot, pieces: [&[u8]; 3]) -> bool {
        debug_assert!(self.is_held(slot));
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

    /// The frame in a slot.
    #[inline]
    pub fn frame(&self, slot: Slot) -> &[u8] {
        let start = slot.0 as usize * self.slot_bytes;
        &self.bytes[start..start + self.lens[slot.0 as usize] as usize]
    }

    /// One more holds it.
    #[inline]
    pub fn hold(&mut self, slot: Slot) {
        debug_assert!(self.is_held(slot));
        self.holders[slot.0 as usize] += 1;
    }

    /// One of those who hold it lets go.
    #[inline]
    pub fn let_go(&mut self, slot: Slot) {
        let holders = &mut self.holders[slot.0 as usize];
        assert!(*holders > 0, "nobody holds it");
        *holders -= 1;
        if *holders == 0 {
            self.free.push(slot.0);
        }
    }

    /// Whether somebody holds it.
    #[inline]
    pub fn is_held(&self, slot: Slot) -> bool {
        self.holders[slot.0 as usize] > 0
    }

    /// Slots in use.
    pub fn used(&self) -> usize {
        self.lens.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_when_all_have_let_go() {
        let mut pool = Pool::new(2, 100);
        let slot = pool.reserve().unwrap();
        assert!(pool.fill(slot, [b"ab", b"", b"cde"]));
        pool.hold(slot);
        pool.let_go(slot);
        assert_eq!(pool.frame(slot), b"abcde");
        pool.let_go(slot);
        assert_eq!((pool.used(), pool.is_held(slot)), (0, false));
        let both = [pool.reserve(), pool.reserve(), pool.reserve()];
        assert!(both[1].is_some() && both[2].is_none());
    }

    #[test]
    fn a_frame_is_kept_whole_or_not_at_all() {
        let mut pool = Pool::new(1, 64);
        let slot = pool.reserve().unwrap();
        assert!(pool.fill(slot, [&[1; 12], &[2; 4], &[3; 48]]));
        assert_eq!(pool.frame(slot).len(), 64);
        assert!(!pool.fill(slot, [&[1; 12], &[2; 4], &[3; 49]]));
        assert!(pool.frame(slot).is_empty());
    }
}
