//! A sliding bitmap: one bit for each number of a window.

use std::collections::VecDeque;

/// Bits in a word.
const WORD: u64 = 64;

/// A set of numbers at or above a floor that only rises. Numbers below the floor are discarded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    /// The number of the first bit of `words`, a multiple of [`WORD`].
    base: u64,
    /// Extends to the highest member; the caller limits that number.
    words: VecDeque<u64>,
    members: u64,
}

impl Bitmap {
    /// Number of members.
    #[inline]
    pub(crate) const fn len(&self) -> u64 {
        self.members
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.members == 0
    }

    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        let Some(index) = number.checked_sub(self.base) else { return false };
        self.words.get((index / WORD) as usize).is_some_and(|word| word >> (index % WORD) & 1 != 0)
    }

    /// Inserts a number. Returns whether it is new.
    ///
    /// # Panics
    ///
    /// If the number is below the floor.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        assert!(number >= self.base, "the number is below the floor");
        let index = number - self.base;
        let word_index = (index / WORD) as usize;
        if word_index >= self.words.len() {
            self.words.resize(word_index + 1, 0);
        }
        let bit = 1 << (index % WORD);
        let new = self.words[word_index] & bit == 0;
        self.words[word_index] |= bit;
        self.members += u64::from(new);
        new
    }

    /// Returns the first number at or above `from` that is not a member.
    pub(crate) fn first_missing(&self, from: u64) -> u64 {
        let Some(index) = from.checked_sub(self.base) else { return from };
        let mut word_index = (index / WORD) as usize;
        let mut skip = index % WORD;
        while let Some(word) = self.words.get(word_index) {
            let missing = !word >> skip << skip;
            if missing != 0 {
                return self.base + word_index as u64 * WORD + u64::from(missing.trailing_zeros());
            }
            word_index += 1;
            skip = 0;
        }
        from.max(self.base + self.words.len() as u64 * WORD)
    }

    /// Raises the floor: removes all numbers below it.
    pub(crate) fn release(&mut self, floor: u64) {
        if self.members == 0 {
            self.words.clear();
            self.base = floor / WORD * WORD;
            return;
        }
        while self.base + WORD <= floor {
            let Some(word) = self.words.pop_front() else { break };
            self.members -= u64::from(word.count_ones());
            self.base += WORD;
        }
        if self.words.is_empty() {
            self.base = floor / WORD * WORD;
        } else if floor > self.base {
            let below = (1 << (floor - self.base)) - 1;
            self.members -= u64::from((self.words[0] & below).count_ones());
            self.words[0] &= !below;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compares the bitmap with a `BTreeSet` while the floor rises.
        #[test]
        fn bitmap_behaves_as_a_set(steps in prop::collection::vec((0_u64..300, 0_u64..40), 1..200)) {
            let (mut bitmap, mut set, mut floor) = (Bitmap::default(), BTreeSet::new(), 0);
            for (ahead, rise) in steps {
                let number = floor + ahead;
                prop_assert_eq!(bitmap.insert(number), set.insert(number));
                if rise < 10 {
                    floor += rise * rise * rise / 4;
                    bitmap.release(floor);
                    set = set.split_off(&floor);
                }
                prop_assert_eq!(bitmap.len(), set.len() as u64);
                prop_assert!((floor..floor + 400).all(|n| bitmap.contains(n) == set.contains(&n)));
                for from in [floor, number] {
                    let missing = (from..from + 1000).find(|n| !set.contains(n)).unwrap();
                    prop_assert_eq!(bitmap.first_missing(from), missing);
                }
            }
        }
    }
}
