//! The layout of a run: partitions, kinds of ports, and limits.

use std::collections::BTreeSet;
use std::sync::Arc;

use wiremend_fabric::Graph;
use wiremend_scenario::{Ports, Scenario};
use wiremend_units::{Bytes, LaneId, Time};

use super::validate::{ValidScenario, validate};
use super::{BuildError, Files, Options, deadlock, workload};
use crate::engine::Limits;
use crate::network::Network;
use crate::port::{Egress, Schedule};

/// A validated scenario with its layout, before the simulation is made.
pub struct SimulationPlan<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) options: &'a Options,
    pub(super) valid: ValidScenario,
    pub(super) node_partitions: Arc<[u16]>,
    pub(super) partitions: usize,
    pub(super) ports: PortKinds,
    /// Whether all frames have one class and ports may compute departures lazily.
    pub(super) lazy: bool,
    /// Whether events are handled in order of time, and not node by node.
    pub(super) time_order: bool,
}

/// Least number of lanes per thread, unless all threads are to be used.
const LANES_PER_THREAD_MIN: u32 = 32;

pub(super) struct PortKinds {
    schedule: Schedule,
    scheduled: bool,
    /// Ports that are scheduled in any case.
    scheduled_lanes: BTreeSet<LaneId>,
}

impl<'a> SimulationPlan<'a> {
    /// Validates a scenario and lays it out.
    pub fn new(scenario: &'a Scenario, files: &dyn Files, options: &'a Options) -> Result<Self, BuildError> {
        let valid = validate(scenario, files, options)?;
        // Importance weights need both ends of a link in one partition, and a trace needs all events in
        // order.
        let is_sequential = valid.tilted.is_some() || options.trace.is_some();
        let node_partitions =
            assign(&valid.net, if is_sequential { 1 } else { useful_threads(options, &valid.net) });
        let partitions = node_partitions.iter().max().map_or(1, |last| usize::from(*last) + 1);
        let classes = workload::classes(scenario, valid.net.transport.needs).len();
        let ports = PortKinds::new(scenario, options, &valid, classes);
        let lazy = !options.scheduled_ports && classes == 1;
        let time_order = is_sequential || options.time_order;
        Ok(Self { scenario, options, valid, node_partitions, partitions, ports, lazy, time_order })
    }

    /// Returns the topology graph.
    pub fn graph(&self) -> &Graph {
        &self.valid.net.graph
    }

    /// Returns remarks about the scenario for readers of the results, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.valid.notes
    }

    pub(super) fn recorded_lanes(&self) -> Vec<LaneId> {
        recorded_lanes(self.options, &self.valid.net)
    }

    /// Returns the partition of the sender over a lane.
    pub(super) fn owner(&self, lane: LaneId) -> usize {
        usize::from(self.node_partitions[self.valid.net.graph.lane_from(lane).index()])
    }

    /// Returns the queues of a switch port; `None`: a plain port.
    pub(super) fn egress(&self, lane: LaneId) -> Option<Egress> {
        if self.ports.scheduled || self.ports.scheduled_lanes.contains(&lane) {
            return Some(self.scheduled_egress(lane));
        }
        self.buffer_bytes_max(lane).map(Egress::fifo)
    }

    /// Returns the queues of a port that fixes departures when transmission starts.
    pub(super) fn scheduled_egress(&self, lane: LaneId) -> Egress {
        let bytes_max = self.buffer_bytes_max(lane);
        match &self.valid.trim {
            Some(trim) => trim.egress(lane, bytes_max),
            None => Egress::scheduled(self.ports.schedule.clone(), bytes_max),
        }
    }

    /// Returns the buffer limit of a port; ports of lossless switches have none of their own.
    fn buffer_bytes_max(&self, lane: LaneId) -> Option<u64> {
        let switch = self.valid.net.switch_at(lane.reverse())?;
        self.valid.buffer_sizes[switch.index()]
            .filter(|_| self.scenario.switch.lossless.is_none())
            .map(Bytes::get)
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            jobs: self.valid.jobs.clone(),
            stop_at: Time::ZERO + self.scenario.stop.after,
            lookahead: self.valid.net.plan.lookahead,
            sample_every: self.scenario.series.as_ref().map(|series| series.every),
            deadlock: deadlock::check(self.scenario),
            memory: self.valid.memory,
            fast_forward_events: self.options.fast_forward_events,
            thread_choice_events: self.options.thread_choice_events,
        }
    }
}

impl PortKinds {
    fn new(scenario: &Scenario, options: &Options, valid: &ValidScenario, classes: usize) -> Self {
        let scheduled = options.scheduled_ports
            || valid.trim.is_some()
            || scenario.engine.ports == Ports::Scheduled
            || classes > 1
            || scenario.switch.weights().next().is_some()
            || scenario.switch.lossless.is_some();
        // A recorded port fixes departures when transmission starts, so that frames are recorded in order of
        // time and only if they leave before the end of the run.
        let scheduled_lanes =
            valid.pauses.iter().map(|pause| pause.lane).chain(recorded_lanes(options, &valid.net));
        Self {
            schedule: Schedule::weighted(&scenario.switch.weights().collect::<Vec<_>>()),
            scheduled,
            scheduled_lanes: scheduled_lanes.collect(),
        }
    }
}

/// Returns the number of threads that a network may keep busy. Partitions of a few links cost more than they save,
/// even on one thread.
fn useful_threads(options: &Options, net: &Network) -> usize {
    let useful = (net.graph.lane_count() / LANES_PER_THREAD_MIN).max(1) as usize;
    if options.thread_choice_events.is_some() { options.threads.min(useful) } else { options.threads }
}

fn recorded_lanes(options: &Options, net: &Network) -> Vec<LaneId> {
    if options.trace.is_some() {
        return net.graph.lanes().collect();
    }
    options.captures.iter().flat_map(|link| [link.forward(), link.backward()]).collect()
}

fn assign(net: &Network, threads: usize) -> Arc<[u16]> {
    let partitions = threads.clamp(1, net.plan.components.max(1) as usize).min(usize::from(u16::MAX));
    net.plan.assign(&net.graph, partitions).into_iter().map(|partition| partition as u16).collect()
}
