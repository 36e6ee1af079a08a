//! Receives rows while runs are in progress.

use std::io;

use wiremend_measure::{FlowRow, FlowSample, LaneRow, SeriesRow};
use wiremend_report::{FlowLanes, LaneNames, RunId};

/// Receives rows while runs are in progress, in the order of the runs and of simulated time, independent of
/// the number of threads.
pub trait RowSink: Send {
    /// A flow ended; `lanes` if its packets took one path.
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow, lanes: Option<&FlowLanes<'_>>) -> io::Result<()>;

    /// A sample of one link direction, such as `h0>tor`, if the scenario has a `[series]`.
    fn on_sample(&mut self, run_id: RunId<'_>, lane: &str, row: &SeriesRow) -> io::Result<()> {
        let _ = (run_id, lane, row);
        Ok(())
    }

    /// A sample of a flow, if `[series]` names flows.
    fn on_flow_sample(&mut self, run_id: RunId<'_>, sample: &FlowSample) -> io::Result<()> {
        let _ = (run_id, sample);
        Ok(())
    }

    /// A run ended: the totals of one of its lanes.
    fn on_lane(&mut self, run_id: RunId<'_>, names: LaneNames<'_>, row: &LaneRow) -> io::Result<()> {
        let _ = (run_id, names, row);
        Ok(())
    }
}

/// A closure that receives flows.
impl<F: FnMut(RunId<'_>, &FlowRow) -> io::Result<()> + Send> RowSink for F {
    fn on_flow(&mut self, run_id: RunId<'_>, row: &FlowRow, _: Option<&FlowLanes<'_>>) -> io::Result<()> {
        self(run_id, row)
    }
}
