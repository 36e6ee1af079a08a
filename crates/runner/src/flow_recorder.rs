//! Passes the rows of one run on, and finds the paths of its flows.

use std::io;

use wiremend_measure::{FlowRow, FlowSample, LaneFlows, SeriesRow};
use wiremend_sim::{FlowPaths, Results};
use wiremend_units::LaneId;

use crate::ordered_rows::RowFeed;
use crate::output::{Output, RecordedPath, Row};

/// Records the flows, samples and totals of one run.
pub(crate) struct FlowRecorder<'a, 'r> {
    feed: RowFeed<'a, Output<'r>>,
    paths: FlowPaths,
    /// By lane: the flows that crossed it. Empty as long as no path was known.
    crossed: Vec<LaneFlows>,
}

impl<'a, 'r> FlowRecorder<'a, 'r> {
    pub(crate) fn new(feed: RowFeed<'a, Output<'r>>, paths: FlowPaths) -> Self {
        Self { feed, paths, crossed: Vec::new() }
    }

    pub(crate) fn on_flow(&mut self, row: &FlowRow) -> io::Result<()> {
        let path = self.paths.path(row).map(|path| {
            self.crossed.resize(self.paths.graph().lane_count() as usize, LaneFlows::default());
            for lane in path.there.iter().chain(&path.back) {
                self.crossed[lane.index()].add(row);
            }
            let corrupts = |lanes: &[LaneId]| lanes.iter().any(|lane| self.paths.is_corrupting(*lane));
            Box::new(RecordedPath {
                crossed_corrupting: corrupts(&path.there),
                return_crossed_corrupting: corrupts(&path.back),
                there: path.there,
                back: path.back,
            })
        });
        self.feed.push(Row::Flow(*row, path))
    }

    pub(crate) fn on_sample(&mut self, sample: &SeriesRow) -> io::Result<()> {
        self.feed.push(Row::Sample(*sample))
    }

    pub(crate) fn on_flow_sample(&mut self, sample: &FlowSample) -> io::Result<()> {
        self.feed.push(Row::FlowSample(*sample))
    }

    /// Adds the totals of all lanes and ends the run.
    pub(crate) fn end(self, results: &Results) -> io::Result<()> {
        let Self { mut feed, paths, crossed } = self;
        let crossed = (!crossed.is_empty()).then_some(&crossed[..]);
        for row in results.lane_rows(&paths, crossed) {
            feed.push(Row::Lane(Box::new(row)))?;
        }
        feed.end()
    }
}
