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
