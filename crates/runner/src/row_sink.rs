//! Receives rows while runs are in progress.

use std::io;

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_report::RunId;

/// Receives rows while runs are in progress, in the order of the runs and of simulated time, independent of
/// the number of threads.
pub trait RowSink: Send {
    /// A flow ended.
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow) -> io::Result<()>;

    /// A sample of one link direction, such as `h0>tor`, if the scenario has a `[series]`.
    fn on_sample(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        let _ = (run_id, lane, row);
        Ok(())
    }
}

/// A closure that receives flows.
impl<F: FnMut(RunId<'_>, &FlowRow) -> io::Result<()> + Send> RowSink for F {
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow) -> io::Result<()> {
        self(run_id, row)
    }
}
