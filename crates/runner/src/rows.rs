//! Rows of several runs, for those who read them while runs go on.

use std::io;

use wiremend_measure::{FlowRow, SeriesRow};
use wiremend_report::Origin;

/// Takes rows while runs go on. They come in the order of the runs, and within a run in the order of simulated time, whatever the number
/// of threads.
pub trait Rows: Send {
    /// A flow ended.
    fn on_flow(&mut self, origin: Origin<'_>, row: &FlowRow) -> io::Result<()>;

    /// A sample of one direction of a link, such as `h0>tor`, if the scenario asks for a series.
    fn on_sample(&mut self, origin: Origin<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        let _ = (origin, lane, row);
        Ok(())
    }
}

/// A closure takes flows.
impl<F: FnMut(Origin<'_>, &FlowRow) -> io::Result<()> + Send> Rows for F {
    fn on_flow(&mut self, origin: Origin<'_>, row: &FlowRow) -> io::Result<()> {
        self(origin, row)
    }
}
