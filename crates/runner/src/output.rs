//! Destination of the rows of all runs of a request: files, and the caller's sink.

use std::io;

use wiremend_fabric::Graph;
use wiremend_measure::{FlowRow, FlowSample, LaneRow, SeriesRow};
use wiremend_report::{FlowLanes, LaneNames, RunId, Traffic};
use wiremend_units::LaneId;

use crate::contents::contents;
use crate::error::Error;
use crate::ordered_rows::{IndexedSink, OrderedRows};
use crate::output_dir::{OptionalFiles, OutputDir};
use crate::request::{Request, Run};
use crate::row_sink::RowSink;

/// Destination of rows.
pub(crate) struct Output<'r> {
    /// By run.
    labels: Vec<Label>,
    /// By variant: the names of its network; they do not depend on the seed.
    names: Vec<Option<NetworkNames>>,
    pub(crate) folder: Option<OutputDir>,
    /// By variant: what the page shows; empty without a folder.
    pub(crate) traffic: Vec<Traffic>,
    rows: Option<&'r mut dyn RowSink>,
}

/// The run of a row.
struct Label {
    variant: String,
    /// Index of the variant in the request.
    number: usize,
    seed: u64,
    /// Whether it is the first seed of its variant.
    is_first: bool,
    /// Interval of samples.
    every_ps: u64,
}

/// Names of lanes and of the nodes at their ends.
struct NetworkNames {
    /// By lane: its name, and the indices of its ends.
    lanes: Vec<(String, [u32; 2])>,
    nodes: Vec<String>,
}

pub(crate) enum Row {
    /// A flow, and its path if it is known.
    Flow(FlowRow, Option<Box<RecordedPath>>),
    Sample(SeriesRow),
    FlowSample(FlowSample),
    Lane(Box<LaneRow>),
}

/// The path of a flow.
pub(crate) struct RecordedPath {
    pub(crate) there: Vec<LaneId>,
    pub(crate) back: Vec<LaneId>,
    pub(crate) crossed_corrupting: bool,
    pub(crate) return_crossed_corrupting: bool,
}

impl<'r> Output<'r> {
    /// Creates the output; `None` if rows have no destination.
    pub(crate) fn create(
        request: &Request<'_>,
        runs: &[Run<'_>],
        rows: Option<&'r mut dyn RowSink>,
    ) -> Result<Option<OrderedRows<Self>>, Error> {
        let scenarios = || request.variants.iter().map(|variant| &variant.scenario);
        let wanted = OptionalFiles {
            csv: request.csv,
            series: scenarios().any(|scenario| scenario.series.is_some()),
            flow_series: scenarios()
                .any(|scenario| scenario.series.as_ref().is_some_and(|series| series.flows.is_some())),
            contents: contents(scenarios()),
        };
        let folder = request.folder.as_deref().map(|path| OutputDir::create(path, wanted)).transpose()?;
        if folder.is_none() && rows.is_none() {
            return Ok(None);
        }
        let label = |run: &Run<'_>| Label {
            variant: run.variant.name.clone(),
            number: run.number,
            seed: run.seed,
            is_first: request.is_first(run),
            every_ps: run.variant.scenario.series.as_ref().map_or(0, |series| series.every.as_ps()),
        };
        let names = request.variants.iter().map(|_| None).collect();
        let shown = request.variants.iter().filter(|_| folder.is_some());
        let traffic = shown.map(|variant| Traffic::new(&variant.name)).collect();
        let output = Self { labels: runs.iter().map(label).collect(), names, folder, traffic, rows };
        Ok(Some(OrderedRows::new(output, runs.len())))
    }

    /// Takes the names of a variant's network.
    pub(crate) fn name_lanes(&mut self, variant: usize, graph: &Graph) {
        if self.names[variant].is_some() {
            return;
        }
        if let Some(traffic) = self.traffic.get_mut(variant) {
            traffic.name_lanes(graph.lanes().map(|lane| graph.lane_name(lane)));
        }
        self.names[variant] = Some(NetworkNames {
            lanes: graph
                .lanes()
                .map(|lane| (graph.lane_name(lane), [graph.lane_from(lane).0, graph.lane_to(lane).0]))
                .collect(),
            nodes: graph.nodes().map(|node| graph.name(node).to_owned()).collect(),
        });
    }
}

impl NetworkNames {
    fn lane(&self, lane: u32) -> LaneNames<'_> {
        let (name, [from, to]) = &self.lanes[lane as usize];
        LaneNames { lane: name, from: &self.nodes[*from as usize], to: &self.nodes[*to as usize] }
    }

    fn path(&self, lanes: &[LaneId]) -> Vec<&str> {
        lanes.iter().map(|lane| self.lanes[lane.index()].0.as_str()).collect()
    }
}

impl IndexedSink for Output<'_> {
    type Row = Row;

    fn take(&mut self, run: usize, row: &Row) -> io::Result<()> {
        let Self { labels, names, folder, traffic, rows } = self;
        let Label { variant, number, seed, is_first, every_ps } = &labels[run];
        let mut traffic = traffic.get_mut(*number);
        let mut of_first_seed = traffic.as_mut().filter(|_| *is_first);
        let run_id = RunId { variant, seed: *seed };
        let names = names[*number].as_ref().expect("a run names its lanes before its first row");
        let folder = folder.as_mut().map(|folder| folder as &mut dyn RowSink);
        let rows = rows.as_mut().map(|rows| &mut **rows);
        let mut sinks = folder.into_iter().chain(rows);
        match row {
            Row::Flow(row, path) => {
                let lanes = path.as_ref().map(|path| [names.path(&path.there), names.path(&path.back)]);
                let lanes = path.as_ref().zip(lanes.as_ref()).map(|(path, [there, back])| FlowLanes {
                    path: there,
                    return_path: back,
                    crossed_corrupting: path.crossed_corrupting,
                    return_crossed_corrupting: path.return_crossed_corrupting,
                });
                sinks.try_for_each(|sink| sink.on_flow(run_id, row, lanes.as_ref()))
            }
            Row::Sample(row) => {
                if let Some(traffic) = &mut of_first_seed {
                    traffic.add_sample(row);
                }
                sinks.try_for_each(|sink| sink.on_sample(run_id, names.lane(row.entity).lane, row))
            }
            Row::FlowSample(sample) => {
                if let Some(traffic) = &mut of_first_seed {
                    traffic.add_flow_sample(*every_ps, sample);
                }
                sinks.try_for_each(|sink| sink.on_flow_sample(run_id, sample))
            }
            Row::Lane(row) => {
                if let Some(traffic) = traffic {
                    traffic.add_lane(row);
                }
                sinks.try_for_each(|sink| sink.on_lane(run_id, names.lane(row.lane), row))
            }
        }
    }
}
