//! Sets of indices in a block.

/// A set of frame indices of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexSet {
    bits: [u64; 4],
}

impl IndexSet {
    /// All indices below `end`.
    pub fn below(end: u8) -> Self {
        let bits = std::array::from_fn(|word| {
            let ones = usize::from(end).saturating_sub(word * 64).min(64);
            if ones == 64 { u64::MAX } else { (1 << ones) - 1 }
        });
        Self { bits }
    }

    /// Adds an index. Returns whether it was absent.
    pub fn insert(&mut self, index: u8) -> bool {
        let fresh = !self.contains(index);
        self.bits[usize::from(index / 64)] |= 1 << (index % 64);
        fresh
    }

    /// Whether an index is in the set.
    pub fn contains(&self, index: u8) -> bool {
        self.bits[usize::from(index / 64)] >> (index % 64) & 1 == 1
    }

    /// Indices that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self { bits: std::array::from_fn(|word| self.bits[word] & !other.bits[word]) }
    }

    /// Number of indices.
    pub fn len(&self) -> u16 {
        self.bits.iter().map(|word| word.count_ones() as u16).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.bits == [0; 4]
    }

    /// All indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let set = *self;
        (0..=u8::MAX).filter(move |index| set.contains(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_stored_and_iterated_in_order() {
        for end in [0, 1, 63, 64, 65, 128, 255] {
            let mut set = IndexSet::default();
            assert!((0..end).rev().all(|index| set.insert(index)));
            assert_eq!(set, IndexSet::below(end));
            assert!(set.iter().eq(0..end));
            assert_eq!((set.len(), set.is_empty()), (u16::from(end), end == 0));
        }
        let mut odd = IndexSet::default();
        assert!(odd.insert(70) && !odd.insert(70));
        assert!(IndexSet::below(72).without(&odd).iter().eq((0..70).chain([71])));
    }
}
