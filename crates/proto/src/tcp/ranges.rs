//! Sets of numbers, stored as runs.

/// Numbers from `start` to `end - 1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Run {
    pub(super) const fn contains(&self, number: u64) -> bool {
        self.start <= number && number < self.end
    }
}

/// Disjoint runs in ascending order. Their number is that of the holes, so a plain list is fastest.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    runs: Vec<Run>,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn first(&self) -> Option<Run> {
        self.runs.first().copied()
    }

    pub(super) fn find(&self, number: u64) -> Option<Run> {
        let place = self.runs.partition_point(|run| run.end <= number);
        self.runs.get(place).copied().filter(|run| run.contains(number))
    }

    /// Adds a run and calls `fresh` with each part that was not contained before.
    pub(super) fn insert(&mut self, run: Run, mut fresh: impl FnMut(Run)) {
        if run.start >= run.end {
            return;
        }
        let first = self.runs.partition_point(|held| held.end < run.start);
        let (mut whole, mut from, mut last) = (run, run.start, first);
        while let Some(held) = self.runs.get(last).copied().filter(|held| held.start <= run.end) {
            if from < held.start {
                fresh(Run { start: from, end: held.start });
            }
            from = from.max(held.end);
            whole = Run { start: whole.start.min(held.start), end: whole.end.max(held.end) };
            last += 1;
        }
        if from < run.end {
            fresh(Run { start: from, end: run.end });
        }
        if last == first {
            self.runs.insert(first, whole);
        } else {
            self.runs[first] = whole;
            self.runs.drain(first + 1..last);
        }
    }

    /// Returns the `nth` largest number.
    pub(super) fn nth_last(&self, nth: u64) -> Option<u64> {
        let mut left = nth;
        for run in self.runs.iter().rev() {
            let len = run.end - run.start;
            if left <= len {
                return Some(run.end - left);
            }
            left -= len;
        }
        None
    }

    pub(super) fn forget_below(&mut self, bound: u64) {
        let over = self.runs.partition_point(|run| run.end <= bound);
        if over > 0 {
            self.runs.drain(..over);
        }
        if let Some(first) = self.runs.first_mut() {
            first.start = first.start.max(bound);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_contain_the_inserted_numbers(steps in prop::collection::vec((0_u64..60, 0_u64..12, any::<bool>()), 1..60)) {
            let (mut ranges, mut plain) = (Ranges::default(), std::collections::BTreeSet::new());
            let mut bound = 0;
            for (start, len, forget) in steps {
                if forget && start < 20 {
                    bound = bound.max(start);
                    ranges.forget_below(bound);
                    plain.retain(|number| *number >= bound);
                } else {
                    let run = Run { start: start.max(bound), end: (start + len).max(bound) };
                    let mut fresh = Vec::new();
                    ranges.insert(run, |part| fresh.extend(part.start..part.end));
                    let expected: Vec<_> = (run.start..run.end).filter(|number| plain.insert(*number)).collect();
                    prop_assert_eq!(fresh, expected);
                }
                for number in 0..80 {
                    prop_assert_eq!(ranges.find(number).is_some(), plain.contains(&number));
                }
                for nth in 1..4 {
                    prop_assert_eq!(ranges.nth_last(nth), plain.iter().rev().nth(nth as usize - 1).copied());
                }
                for pair in ranges.runs.windows(2) {
                    prop_assert!(pair[0].end < pair[1].start);
                }
            }
        }
    }
}
