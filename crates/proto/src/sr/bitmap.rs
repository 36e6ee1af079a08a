//! A set of numbers that slides: a bit for each number of a window, from its first member on.

use std::collections::VecDeque;

/// Bits in a word.
const WORD: u64 = 64;

/// Numbers at or above a floor that only rises. Everything below the floor is forgotten.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    /// The number of the first bit of `words`, a multiple of [`WORD`].
    base: u64,
    /// Grows as far as the highest member, which whoever inserts bounds.
    words: VecDeque<u64>,
    members: u64,
}

impl Bitmap {
    /// Numbers that it holds.
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

    /// Says whether it is new.
    ///
    /// # Panics
    ///
    /// If the number lies below the floor.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        assert!(number >= self.base, "what was forgotten does not come back");
        let index = number - self.base;
        let place = (index / WORD) as usize;
        if place >= self.words.len() {
            self.words.resize(place + 1, 0);
        }
        let bit = 1 << (index % WORD);
        let new = self.words[place] & bit == 0;
        self.words[place] |= bit;
        self.members += u64::from(new);
        new
    }

    /// The first number at or above `from` that it does not hold.
    pub(crate) fn first_missing(&self, from: u64) -> u64 {
        let Some(index) = from.checked_sub(self.base) else { return from };
        let mut place = (index / WORD) as usize;
        let mut skip = index % WORD;
        while let Some(word) = self.words.get(place) {
            let missing = !word >> skip << skip;
            if missing != 0 {
                return self.base + place as u64 * WORD + u64::from(missing.trailing_zeros());
            }
            place += 1;
            skip = 0;
        }
        from.max(self.base + self.words.len() as u64 * WORD)
    }

    /// Forgets all numbers below `floor`.
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
        /// It does what a set does, while the floor rises.
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((0_u64..300, 0_u64..40), 1..200)) {
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
