//! Minimum of many values that change one at a time.

/// A tournament tree: every inner node holds the minimum of its two children.
pub(crate) struct MinTree {
    leaves: usize,
    tree: Vec<u64>,
}

impl MinTree {
    pub(crate) fn new(values: &[u64]) -> Self {
        let leaves = values.len().next_power_of_two().max(1);
        let mut tree = vec![u64::MAX; 2 * leaves];
        tree[leaves..leaves + values.len()].copy_from_slice(values);
        for place in (1..leaves).rev() {
            tree[place] = tree[2 * place].min(tree[2 * place + 1]);
        }
        Self { leaves, tree }
    }

    pub(crate) fn get(&self, index: usize) -> u64 {
        self.tree[self.leaves + index]
    }

    pub(crate) fn set(&mut self, index: usize, value: u64) {
        let mut place = self.leaves + index;
        self.tree[place] = value;
        while place > 1 {
            place /= 2;
            let least = self.tree[2 * place].min(self.tree[2 * place + 1]);
            if self.tree[place] == least {
                return;
            }
            self.tree[place] = least;
        }
    }

    pub(crate) fn least(&self) -> u64 {
        self.tree[1]
    }
}

/// Minimum of the values of each part of a fabric. A value has a part and a place in it.
pub(crate) struct PartMinimums(Vec<MinTree>);

/// Part and place of a value.
#[derive(Clone, Copy, Default)]
pub(crate) struct PartPlace {
    part: u32,
    place: u32,
}

impl PartMinimums {
    /// All values start at `value`. `parts`: the part of each value. Returns the places of the values too.
    pub(crate) fn new(
        value: u64,
        parts: impl Iterator<Item = usize>,
        part_count: usize,
    ) -> (Self, Vec<PartPlace>) {
        let mut counts = vec![0_u32; part_count];
        let place = |part: usize| {
            counts[part] += 1;
            PartPlace { part: part as u32, place: counts[part] - 1 }
        };
        let places = parts.map(place).collect();
        let trees = counts.into_iter().map(|count| MinTree::new(&vec![value; count as usize]));
        (Self(trees.collect()), places)
    }

    pub(crate) fn get(&self, at: PartPlace) -> u64 {
        self.0[at.part as usize].get(at.place as usize)
    }

    pub(crate) fn set(&mut self, at: PartPlace, value: u64) {
        self.0[at.part as usize].set(at.place as usize, value);
    }

    /// Returns the minimum of a part; `u64::MAX` if it has no values.
    pub(crate) fn least(&self, part: usize) -> u64 {
        self.0[part].least()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_root_is_the_minimum(
            mut values in proptest::collection::vec(0_u64..50, 1..40),
            changes in proptest::collection::vec((any::<u8>(), 0_u64..50), 0..60),
        ) {
            let mut min_tree = MinTree::new(&values);
            for (at, value) in changes {
                let at = usize::from(at) % values.len();
                values[at] = value;
                min_tree.set(at, value);
                prop_assert_eq!(min_tree.least(), *values.iter().min().unwrap());
                prop_assert_eq!(min_tree.get(at), value);
            }
        }
    }
}
