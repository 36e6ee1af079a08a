//! Sets of numbers, stored as ranges.

/// Numbers from `start` to `end - 1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SeqRange {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl SeqRange {
    pub(super) const fn contains(&self, number: u64) -> bool {
        self.start <= number && number < self.end
    }
}

/// Disjoint ranges in ascending order. Their number is that of the holes, so a plain list is fastest.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    ranges: Vec<SeqRange>,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn first(&self) -> Option<SeqRange> {
        self.ranges.first().copied()
    }

    pub(super) fn find(&self, number: u64) -> Option<SeqRange> {
        let place = self.ranges.partition_point(|range| range.end <= number);
        self.ranges.get(place).copied().filter(|range| range.contains(number))
    }

    /// Adds a range and calls `fresh` with each part that was not contained before.
    pub(super) fn insert(&mut self, range: SeqRange, mut fresh: impl FnMut(SeqRange)) {
        if range.start >= range.end {
            return;
        }
        let first = self.ranges.partition_point(|held| held.end < range.start);
        let (mut whole, mut from, mut last) = (range, range.start, first);
        while let Some(held) = self.ranges.get(last).copied().filter(|held| held.start <= range.end) {
            if from < held.start {
                fresh(SeqRange { start: from, end: held.start });
            }
            from = from.max(held.end);
            whole = SeqRange { start: whole.start.min(held.start), end: whole.end.max(held.end) };
            last += 1;
        }
        if from < range.end {
            fresh(SeqRange { start: from, end: range.end });
        }
        if last == first {
            self.ranges.insert(first, whole);
        } else {
            self.ranges[first] = whole;
            self.ranges.drain(first + 1..last);
        }
    }

    /// Returns the `nth` largest number.
    pub(super) fn nth_last(&self, nth: u64) -> Option<u64> {
        let mut left = nth;
        for range in self.ranges.iter().rev() {
            let len = range.end - range.start;
            if left <= len {
                return Some(range.end - left);
            }
            left -= len;
        }
        None
    }

    pub(super) fn forget_below(&mut self, bound: u64) {
        let over = self.ranges.partition_point(|range| range.end <= bound);
        if over > 0 {
            self.ranges.drain(..over);
        }
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(bound);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_contain_the_inserted_numbers(steps in prop::collection::vec((0_u64..60, 0_u64..12, any::<bool>()), 1..60)) {
            let (mut ranges, mut plain) = (Ranges::default(), std::collections::BTreeSet::new());
            let mut bound = 0;
            for (start, len, forget) in steps {
                if forget && start < 20 {
                    bound = bound.max(start);
                    ranges.forget_below(bound);
                    plain.retain(|number| *number >= bound);
                } else {
                    let range = SeqRange { start: start.max(bound), end: (start + len).max(bound) };
                    let mut fresh = Vec::new();
                    ranges.insert(range, |part| fresh.extend(part.start..part.end));
                    let expected: Vec<_> = (range.start..range.end).filter(|number| plain.insert(*number)).collect();
                    prop_assert_eq!(fresh, expected);
                }
                for number in 0..80 {
                    prop_assert_eq!(ranges.find(number).is_some(), plain.contains(&number));
                }
                for nth in 1..4 {
                    prop_assert_eq!(ranges.nth_last(nth), plain.iter().rev().nth(nth as usize - 1).copied());
                }
                for pair in ranges.ranges.windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
            }
        }
    }
}
