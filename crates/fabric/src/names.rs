//! Compact storage of names with lookup.

/// Names in one text: a `String` for each of 100 000 nodes would take more memory than the graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// End of each name; it starts at the end of the previous one.
    ends: Vec<u32>,
    /// Positions in the order of their names.
    sorted: Vec<u32>,
}

impl Names {
    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len() as u32);
    }

    pub(crate) fn append(&mut self, others: &Self) {
        for index in 0..others.len() {
            self.push(others.get(index));
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.text[start..self.ends[index] as usize]
    }

    /// Prepares lookups. Returns a duplicate name, if there is one.
    pub(crate) fn sort(&mut self) -> Option<&str> {
        let mut sorted: Vec<u32> = (0..self.len() as u32).collect();
        sorted.sort_unstable_by_key(|index| self.get(*index as usize));
        self.sorted = sorted;
        let twice =
            self.sorted.windows(2).find(|pair| self.get(pair[0] as usize) == self.get(pair[1] as usize));
        twice.map(|pair| self.get(pair[0] as usize))
    }

    /// Returns the position of a name. Requires [`sort`](Self::sort).
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        let place = self.sorted.binary_search_by_key(&name, |index| self.get(*index as usize)).ok()?;
        Some(self.sorted[place])
    }
}
