//! What a page shows of the links and flows of one variant: totals of all seeds, series of the first.

use std::collections::BTreeMap;

use wiremend_measure::{FlowSample, LaneRow, Metric, SeriesRow};

use crate::plot::{Axis, Curve, Line, Plot, Scale, Unit};
use crate::sketch::{Merge, Sketch};

/// Links and flows of one variant.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Name of the variant.
    pub variant: String,
    /// Payload of completed flows of the first seed: nanoseconds and bytes.
    pub completed: Vec<(f64, f64)>,
    /// Names of lanes.
    lane_names: Vec<String>,
    /// Totals by lane.
    lanes: Vec<LaneRow>,
    /// By lane: queue and throughput of the first seed.
    sampled: BTreeMap<u32, SampledLane>,
    /// By flow: samples of the first seed.
    flows: BTreeMap<u64, SampledFlow>,
    /// Time of the first sample, which is the interval of all.
    interval_ps: u64,
}

#[derive(Clone, Debug)]
struct SampledLane {
    queue_bytes: Sketch,
    tx_bytes: Sketch,
}

#[derive(Clone, Debug)]
struct SampledFlow {
    sent_bytes: Sketch,
    /// Points in nanoseconds, at most [`POINTS_MAX`].
    rate_bps: Vec<(f64, f64)>,
    window_bytes: Vec<(f64, f64)>,
    /// Samples for each point.
    step: u64,
    samples: u64,
}

/// Most lanes whose series are kept for the page; the tables have all.
const SAMPLED_LANES_MAX: usize = 4_096;
/// Most flows whose series are kept.
const SAMPLED_FLOWS_MAX: usize = 64;
/// Most points of a rate or a window.
const POINTS_MAX: usize = 512;
/// Curves of a drawing.
const CURVES: usize = 6;

impl Traffic {
    /// Creates the traffic of a variant.
    pub fn new(variant: &str) -> Self {
        Self { variant: variant.to_owned(), ..Self::default() }
    }

    /// Sets the names of all lanes.
    pub fn name_lanes(&mut self, names: impl Iterator<Item = String>) {
        self.lane_names = names.collect();
    }

    /// Adds the totals of a lane in one run.
    pub fn add_lane(&mut self, row: &LaneRow) {
        match self.lanes.get_mut(row.lane as usize) {
            Some(sum) => *sum += *row,
            None => self.lanes.push(*row),
        }
    }

    /// Adds a sample of the first seed.
    pub fn add_sample(&mut self, row: &SeriesRow) {
        if !matches!(row.metric, Metric::QueueBytes | Metric::TxBytes) {
            return;
        }
        if self.interval_ps == 0 {
            self.interval_ps = row.time_ps;
        }
        if self.sampled.len() >= SAMPLED_LANES_MAX && !self.sampled.contains_key(&row.entity) {
            return;
        }
        let interval = self.interval_ps;
        let lane = self.sampled.entry(row.entity).or_insert_with(|| SampledLane {
            queue_bytes: Sketch::new(interval, Merge::Max),
            tx_bytes: Sketch::new(interval, Merge::Sum),
        });
        let sketch =
            if row.metric == Metric::QueueBytes { &mut lane.queue_bytes } else { &mut lane.tx_bytes };
        sketch.add(row.time_ps, row.value);
    }

    /// Adds a sample of a flow of the first seed; `every_ps` is the interval of samples.
    pub fn add_flow_sample(&mut self, every_ps: u64, sample: &FlowSample) {
        if self.flows.len() >= SAMPLED_FLOWS_MAX && !self.flows.contains_key(&sample.flow) {
            return;
        }
        let flow = self.flows.entry(sample.flow).or_insert_with(|| SampledFlow {
            sent_bytes: Sketch::new(every_ps, Merge::Sum),
            rate_bps: Vec::new(),
            window_bytes: Vec::new(),
            step: 1,
            samples: 0,
        });
        flow.sent_bytes.add(sample.time_ps, sample.sent_bytes);
        flow.add_state(sample);
    }

    /// The lanes with their names, those that cost most first.
    pub(crate) fn costliest(&self) -> Vec<(&str, &LaneRow)> {
        let mut lanes: Vec<&LaneRow> = self.lanes.iter().filter(|lane| cost(lane) > (0, 0, 0)).collect();
        lanes.sort_by_key(|lane| (std::cmp::Reverse(cost(lane)), lane.lane));
        lanes.into_iter().map(|lane| (self.lane_names[lane.lane as usize].as_str(), lane)).collect()
    }

    /// Number of lanes.
    pub(crate) fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    /// Drawings of series: queues and links, then flows.
    pub(crate) fn plots(&self) -> Vec<Plot> {
        let mut plots = Vec::new();
        let name = |lane: &u32| self.lane_names[*lane as usize].clone();
        let lanes = |value: fn(&SampledLane) -> u64, points: fn(&SampledLane) -> Vec<(f64, f64)>| {
            let all =
                self.sampled.iter().map(|(lane, sampled)| (name(lane), value(sampled), points(sampled)));
            most(all)
        };
        let queues = lanes(|lane| lane.queue_bytes.peak(), |lane| lane.queue_bytes.points());
        let links = lanes(|lane| lane.tx_bytes.sum(), |lane| lane.tx_bytes.rates());
        let flows = |value: fn(&SampledFlow) -> u64, points: fn(&SampledFlow) -> Vec<(f64, f64)>| {
            let all = self.flows.iter();
            most(all.map(|(flow, sampled)| (format!("flow {flow}"), value(sampled), points(sampled))))
        };
        let sent: fn(&SampledFlow) -> u64 = |flow| flow.sent_bytes.sum();
        let throughput = flows(sent, |flow| flow.sent_bytes.rates());
        let rates = flows(sent, |flow| flow.rate_bps.clone());
        let windows = flows(sent, |flow| flow.window_bytes.clone());
        for (title, what, unit, line, curves) in [
            ("Longest queues", "largest queue", Unit::Bytes, Line::StepAfter, queues),
            ("Busiest links", "throughput", Unit::RateBps, Line::StepAfter, links),
            ("Throughput of flows", "new payload sent", Unit::RateBps, Line::StepAfter, throughput),
            ("Rate of flows", "rate of congestion control", Unit::RateBps, Line::Straight, rates),
            ("Window of flows", "window", Unit::Bytes, Line::Straight, windows),
        ] {
            if curves.iter().any(|curve| !curve.points.is_empty()) {
                plots.push(over_time(&format!("{title}, {}", self.variant), what, unit, line, curves));
            }
        }
        plots
    }
}

impl SampledFlow {
    /// Keeps one sample of each step; the step doubles when there are too many points.
    fn add_state(&mut self, sample: &FlowSample) {
        let ns = sample.time_ps as f64 / 1e3;
        if self.samples.is_multiple_of(self.step) {
            self.rate_bps.extend(sample.rate_bps.map(|rate| (ns, rate as f64)));
            self.window_bytes.extend(sample.window_bytes.map(|window| (ns, window as f64)));
        }
        self.samples += 1;
        if self.rate_bps.len().max(self.window_bytes.len()) > POINTS_MAX {
            for points in [&mut self.rate_bps, &mut self.window_bytes] {
                *points = points.iter().copied().step_by(2).collect();
            }
            self.step *= 2;
        }
    }
}

/// What a lane cost: time of flows, frames, time of ports.
fn cost(lane: &LaneRow) -> (u64, u64, u64) {
    let frames = lane.corrupted_frames + lane.failed_frames + lane.dropped_frames + lane.trimmed_packets;
    (lane.flows.map_or(0, |flows| flows.lost_ps), frames, lane.paused_ps)
}

/// The curves with the largest values.
fn most(all: impl Iterator<Item = (String, u64, Vec<(f64, f64)>)>) -> Vec<Curve> {
    let mut all: Vec<_> = all.filter(|(_, value, _)| *value > 0).collect();
    // Stable: equal ones stay in the order of their numbers.
    all.sort_by_key(|(_, value, _)| std::cmp::Reverse(*value));
    let curve = |(name, _, points)| Curve { name, points, line: Line::StepAfter };
    all.into_iter().take(CURVES).map(curve).collect()
}

/// A plot over simulated time; `what` is the label of the vertical axis.
pub(crate) fn over_time(title: &str, what: &str, unit: Unit, line: Line, curves: Vec<Curve>) -> Plot {
    Plot {
        title: title.to_owned(),
        description: format!("{what} over simulated time."),
        x: Axis::new("simulated time", Scale::Linear, Unit::TimeNs),
        y: Axis::new(what, Scale::Linear, unit),
        curves: curves.into_iter().map(|curve| Curve { line, ..curve }).collect(),
    }
}
