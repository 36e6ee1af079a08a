//! The names of nodes: one text for all of them, and an order to find them by.

/// Names by position. At a hundred thousand nodes, a `String` each would cost more than the graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each name ends; it starts where the one before ends.
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

    /// Makes names findable. Returns one that two nodes share, if there is.
    pub(crate) fn sort(&mut self) -> Option<&str> {
        let mut sorted: Vec<u32> = (0..self.len() as u32).collect();
        sorted.sort_unstable_by_key(|index| self.get(*index as usize));
        self.sorted = sorted;
        let twice =
            self.sorted.windows(2).find(|pair| self.get(pair[0] as usize) == self.get(pair[1] as usize));
        twice.map(|pair| self.get(pair[0] as usize))
    }

    /// The position of a name, once sorted.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        let place = self.sorted.binary_search_by_key(&name, |index| self.get(*index as usize)).ok()?;
        Some(self.sorted[place])
    }
}
