//! What goes where: the parts of a network, the kinds of its ports, and what a run is limited by.

use std::collections::BTreeSet;
use std::sync::Arc;

use wiremend_fabric::Graph;
use wiremend_scenario::{Ports, Scenario};
use wiremend_units::{Bytes, LaneId, Time};

use super::validate::{Valid, validate};
use super::{BuildError, Files, Options, remedy, workload};
use crate::engine::Limits;
use crate::network::Network;
use crate::port::{Egress, Schedule};

/// A scenario that was judged and laid out, before anything is made that moves.
pub struct Plan<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) options: &'a Options,
    pub(super) valid: Valid,
    /// Which part each node belongs to.
    pub(super) owner_of_node: Arc<[u16]>,
    pub(super) parts: usize,
    pub(super) ports: PortKinds,
    /// All frames of the network are of one class, and ports may make use of it.
    pub(super) lazy: bool,
}

/// What the ports of switches are.
pub(super) struct PortKinds {
    schedule: Schedule,
    /// Whether all are scheduled.
    scheduled: bool,
    /// Those that are scheduled anyway.
    settling: BTreeSet<LaneId>,
}

impl<'a> Plan<'a> {
    /// Judges a scenario and lays it out.
    pub fn new(scenario: &'a Scenario, files: &dyn Files, options: &'a Options) -> Result<Self, BuildError> {
        let valid = validate(scenario, files, options)?;
        // Weights need both ends of a link at once, and a trace all steps in order.
        let is_one = valid.tilted.is_some() || options.trace.is_some();
        let owner_of_node = assign(&valid.net, if is_one { 1 } else { options.threads });
        let parts = owner_of_node.iter().max().map_or(1, |last| usize::from(*last) + 1);
        let classes = workload::classes(scenario, valid.net.transport.needs).len();
        let ports = PortKinds::new(scenario, options, &valid, classes);
        let lazy = !options.scheduled && classes == 1;
        Ok(Self { scenario, options, valid, owner_of_node, parts, ports, lazy })
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.valid.net.graph
    }

    /// What a reader of the results should know of the scenario, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.valid.notes
    }

    /// The lanes that somebody wants to see.
    pub(super) fn watched(&self) -> Vec<LaneId> {
        watched(self.options, &self.valid.net)
    }

    /// The part that the sender over a lane belongs to.
    pub(super) fn owner(&self, lane: LaneId) -> usize {
        usize::from(self.owner_of_node[self.valid.net.graph.lane_from(lane).index()])
    }

    /// The queues of a switch's port; `None`: a plain one.
    pub(super) fn egress(&self, lane: LaneId) -> Option<Egress> {
        if self.ports.scheduled || self.ports.settling.contains(&lane) {
            return Some(self.settling_egress(lane));
        }
        self.buffer_bytes_max(lane).map(Egress::fifo)
    }

    /// Queues of a port that settles a departure when it happens.
    pub(super) fn settling_egress(&self, lane: LaneId) -> Egress {
        let bytes_max = self.buffer_bytes_max(lane);
        match &self.valid.trim {
            Some(trim) => trim.egress(lane, bytes_max),
            None => Egress::scheduled(self.ports.schedule.clone(), bytes_max),
        }
    }

    /// What may wait and leave at a port; that of a lossless switch has no limit of its own.
    fn buffer_bytes_max(&self, lane: LaneId) -> Option<u64> {
        let switch = self.valid.net.switch_at(lane.reverse())?;
        self.valid.memories[switch.index()]
            .filter(|_| self.scenario.switch.lossless.is_none())
            .map(Bytes::get)
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            jobs: self.valid.jobs.clone(),
            stop_at: Time::ZERO + self.scenario.stop.after,
            lookahead: self.valid.net.plan.lookahead,
            sample_every: self.scenario.series.as_ref().map(|series| series.every),
            deadlock: remedy::observer(self.scenario),
            memory: self.valid.memory,
        }
    }
}

impl PortKinds {
    fn new(scenario: &Scenario, options: &Options, valid: &Valid, classes: usize) -> Self {
        let scheduled = options.scheduled
            || valid.trim.is_some()
            || scenario.engine.ports == Ports::Scheduled
            || classes > 1
            || scenario.switch.weights().next().is_some()
            || scenario.switch.lossless.is_some();
        // A port that is watched settles a departure when it happens, so that what is seen comes in the order of time and nothing is
        // seen that the end of the run forestalls.
        let settling = valid.pauses.iter().map(|pause| pause.lane).chain(watched(options, &valid.net));
        Self {
            schedule: Schedule::weighted(&scenario.switch.weights().collect::<Vec<_>>()),
            scheduled,
            settling: settling.collect(),
        }
    }
}

fn watched(options: &Options, net: &Network) -> Vec<LaneId> {
    if options.trace.is_some() {
        return net.graph.lanes().collect();
    }
    options.captures.iter().flat_map(|link| [link.forward(), link.backward()]).collect()
}

fn assign(net: &Network, threads: usize) -> Arc<[u16]> {
    let parts = threads.clamp(1, net.plan.components.max(1) as usize).min(usize::from(u16::MAX));
    net.plan.assign(&net.graph, parts).into_iter().map(|part| part as u16).collect()
}
