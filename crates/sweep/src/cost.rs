//! What the open cells of a sweep will cost, and what is known about it so far.

use crate::plan::Plan;
use crate::record::Results;

/// Predicted cost of cells.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// CPU time of all cells in seconds.
    pub cpu_s: f64,
    /// Memory of the largest cell in bytes.
    pub memory_bytes: u64,
    /// Measured over predicted time of the cells that have run; 1 if none has.
    pub correction: f64,
}

impl Cost {
    /// Predicts the cost of cells, corrected by those that have run.
    pub fn new(plan: &Plan, cells: &[usize], results: &Results) -> Self {
        let correction = correction(plan, results);
        let cpu_s = cells.iter().map(|cell| plan.estimate(*cell).cpu_s).sum::<f64>() * correction;
        let memory_bytes = cells.iter().map(|cell| plan.estimate(*cell).memory_bytes).max().unwrap_or(0);
        Self { cpu_s, memory_bytes, correction }
    }

    /// Time on this number of threads: not less than the longest cell alone.
    pub fn wall_s(&self, threads: usize, cells: usize) -> f64 {
        self.cpu_s / threads.min(cells.max(1)).max(1) as f64
    }
}

fn correction(plan: &Plan, results: &Results) -> f64 {
    let (mut took, mut predicted) = (0.0, 0.0);
    for cell in plan.distinct() {
        if let Some(record) = results.get(&plan.cells()[*cell].name) {
            took += record.took_s;
            predicted += plan.estimate(*cell).cpu_s;
        }
    }
    if took > 0.0 && predicted > 0.0 { took / predicted } else { 1.0 }
}
