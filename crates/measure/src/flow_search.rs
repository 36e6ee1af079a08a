//! Finds the flow to trace among the rows of a run.

use crate::FlowRow;

/// Looks for one flow, or for the slowest one.
#[derive(Clone, Default, Debug)]
pub struct FlowSearch {
    wanted: Option<u64>,
    has_ended: bool,
    slowest: Option<((bool, u64), u64)>,
    flows: u64,
    numbers: Option<(u64, u64)>,
}

impl FlowSearch {
    /// Looks for a flow by its number; `None`: only for the slowest one.
    pub fn new(wanted: Option<u64>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Notes a flow that ended.
    pub fn add(&mut self, row: &FlowRow) {
        self.flows += 1;
        let (first, last) = self.numbers.unwrap_or((row.flow, row.flow));
        self.numbers = Some((first.min(row.flow), last.max(row.flow)));
        let took = ((!row.outcome.is_finished(), row.fct().as_ps()), row.flow);
        // The first of several equally slow flows.
        if self.slowest.is_none_or(|slowest| took.0 > slowest.0) {
            self.slowest = Some(took);
        }
        self.has_ended |= self.wanted == Some(row.flow);
    }

    /// Whether the wanted flow has ended; the run may then stop.
    pub const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The slowest flow; a flow that did not finish is slower than any other. `None` if no flow ended.
    pub fn slowest(&self) -> Option<u64> {
        self.slowest.map(|(_, flow)| flow)
    }

    /// Which flows the run has, for a reader who asked for another.
    pub fn known_flows(&self) -> String {
        match self.numbers {
            None => "this run has no flows".to_owned(),
            Some((first, last)) => {
                format!("this run has {}, numbered from {first} to {last}; see flows.csv", self.flows)
            }
        }
    }
}
