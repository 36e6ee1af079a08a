//! A simulation that is ready to run, and the results of a run.

use std::io;
use std::sync::Arc;

use wiremend_fabric::Graph;
use wiremend_measure::rare::Episodes;
use wiremend_measure::{
    Collector, Counters, DeadlockCounts, DeadlockReport, ExtraFrames, Failures, FlowTrace, Terms,
    TimeoutCounts, Trims, VariantSummary,
};
use wiremend_scenario::Scenario;
use wiremend_units::{HostId, LaneId, NodeId, Span, Time};

use crate::build::{AssembledRun, BuildError, Files, Options, SimulationPlan};
use crate::engine::{EndReason, Limits, Observer, Partition, RunOutcome, run};
use crate::host::HostCounters;
use crate::link::{KeptCounters, LaneCounters};
use crate::network::{FlowPaths, Network};
use crate::protect::{self, LinkEndCounters};
use crate::switch::deadlock::{Deadlock, PauseInterval};
use crate::switch::{PauseCounters, SwitchCounters, lossless};

/// A run that is ready to start.
pub struct Simulation {
    partitions: Vec<Partition>,
    limits: Limits,
    net: Arc<Network>,
    notes: Vec<String>,
    terms: Terms,
}

/// Results of a run.
pub struct Results {
    /// Why the run ended.
    pub end_reason: EndReason,
    /// Simulated time at the end.
    pub end: Time,
    /// Flow statistics and the digest.
    pub collector: Collector,
    /// Sums over all hosts and links.
    pub counters: Counters,
    /// Counters of each host.
    pub hosts: Vec<HostCounters>,
    /// Copies that each switch added.
    pub switches: Vec<ExtraFrames>,
    /// Counters of each lane.
    pub lanes: Vec<LaneCounters>,
    /// Counters of both ends of every protected link.
    pub link_ends: Vec<LinkEndCounters>,
    /// Buffer counters of every lossless switch.
    pub lossless_switches: Vec<SwitchCounters>,
    /// PFC counters of every port to which a PFC frame was sent.
    pub port_pauses: Vec<PauseCounters>,
    /// Deadlocks, in the order of detection.
    pub deadlocks: Vec<Deadlock>,
    /// The first deadlock, with the names of its lanes.
    pub deadlock: Option<DeadlockReport>,
    /// Pause intervals of ports, if [`Options::log_pauses`] is set.
    pub pause_log: Vec<PauseInterval>,
    /// Loss episodes of the lane with `tilted` losses (importance sampling).
    pub episodes: Episodes,
    /// Trace of the traced flow.
    pub trace: FlowTrace,
    /// Frames on links or in queues when the run ended.
    pub in_flight: u64,
    /// Why the run could not skip time in which the network only repeats a pattern, if so.
    pub fast_forward_obstacle: Option<&'static str>,
    /// Remarks about the scenario for readers of the results.
    pub notes: Vec<String>,
    /// What the scenario has beside its recovery scheme.
    pub terms: Terms,
}

impl Simulation {
    /// Builds the network of a scenario and places its applications on the hosts.
    pub fn build(scenario: &Scenario, files: &dyn Files, options: &Options) -> Result<Self, BuildError> {
        Ok(Self::new(SimulationPlan::new(scenario, files, options)?))
    }

    /// Builds the simulation of a plan.
    pub fn new(plan: SimulationPlan<'_>) -> Self {
        let AssembledRun { partitions, limits, net, notes, terms } = plan.assemble();
        Self { partitions, limits, net, notes, terms }
    }

    /// Returns the topology graph.
    pub fn graph(&self) -> &Graph {
        &self.net.graph
    }

    /// Returns the longest time from a timeout until its cause is known.
    pub fn cause_delay(&self) -> Span {
        self.net.notice_delay_max()
    }

    /// Returns what finds the paths of flows.
    pub fn flow_paths(&self) -> FlowPaths {
        let graph = &self.net.graph;
        let may_corrupt = |lane: LaneId| {
            let impairments = &self.partition(graph.lane_from(lane)).lanes.impairments;
            impairments[lane.index()].as_ref().is_some_and(|impairments| impairments.may_corrupt())
        };
        FlowPaths {
            net: Arc::clone(&self.net),
            corrupting: graph.lanes().map(may_corrupt).collect(),
            has_detours: self.partitions[0].detours.is_some() || self.partitions[0].net.failures.is_some(),
        }
    }

    /// Returns remarks about the scenario for readers of the results, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the number of threads of the run.
    pub fn threads(&self) -> usize {
        self.partitions.len()
    }

    /// Runs to the end. An error comes from the observer.
    pub fn run(mut self, observer: &mut dyn Observer) -> io::Result<Results> {
        let ran = run::run(&mut self.partitions, &self.limits, observer)?;
        Ok(self.results(ran))
    }

    fn results(mut self, ran: RunOutcome) -> Results {
        let RunOutcome { mut collector, failed_connections, deadlocks, end, end_reason, skipped, obstacle } =
            ran;
        let (hosts, lanes) = (self.host_counters(), self.lane_counters());
        let mut counters = sum(&hosts, &lanes);
        counters.events = self.partitions.iter().map(Partition::events).sum();
        counters.dropped_frames.ttl =
            self.partitions.iter().map(|partition| partition.tally.dropped_ttl).sum();
        counters.dropped_frames.no_route =
            self.partitions.iter().map(|partition| partition.tally.no_route).sum();
        counters.failures = self.failures(end, &lanes, failed_connections);
        counters.simulated_ps = end.as_ps();
        counters.skipped = skipped;
        add_to_digest(&mut collector, &hosts, &lanes);
        let switches = self.added(&mut counters, &mut collector);
        let link_ends = self.protection(&mut counters, &mut collector);
        let (lossless_switches, port_pauses) = self.flow_control(end, &mut counters, &mut collector);
        counters.deadlocks = self.remedies(&deadlocks);
        counters.dropped_frames.remedy = counters.deadlocks.dropped_frames();
        if self.limits.deadlock.is_some() || counters.deadlocks != DeadlockCounts::default() {
            for (name, value) in counters.deadlocks.named() {
                collector.add_counter(name, 0, value);
            }
        }
        let deadlock =
            deadlocks.first().map(|first| first.named(&self.net.graph, end_reason == EndReason::Deadlock));
        let pause_log = self.pause_log(end);
        let in_flight = self.partitions.iter().map(|partition| partition.lanes.in_flight()).sum::<u64>();
        let kept = self.kept(|kept| kept.kept) - self.kept(|kept| kept.discarded);
        // Of a kept frame and its original only one is in flight.
        let in_flight = in_flight - kept;
        let tracked = self.partitions.iter().find_map(|partition| partition.ports.loss_episodes());
        let episodes = tracked.map_or(Episodes::default(), |tracked| tracked.episodes);
        let trace = self.partitions[0].lanes.recorder.take_trace();
        Results {
            end_reason,
            end,
            collector,
            counters,
            hosts,
            switches,
            lanes,
            link_ends,
            lossless_switches,
            port_pauses,
            deadlocks,
            deadlock,
            pause_log,
            episodes,
            trace,
            in_flight,
            fast_forward_obstacle: obstacle,
            notes: self.notes,
            terms: self.terms,
        }
    }

    fn failures(&self, end: Time, lanes: &[LaneCounters], connections: u64) -> Failures {
        let Some(failures) = &self.net.failures else { return Failures::default() };
        let (links, failures) = failures.counts(end);
        let lost_frames = lanes.iter().map(|lane| lane.failed).sum();
        let rerouted = self.kept(|kept| kept.sent);
        Failures { links, failures, lost_frames, connections, rerouted }
    }

    fn kept(&self, of: fn(KeptCounters) -> u64) -> u64 {
        self.partitions.iter().map(|partition| of(partition.lanes.kept_counters())).sum()
    }

    fn partition(&self, node: NodeId) -> &Partition {
        &self.partitions[usize::from(self.partitions[0].node_partitions[node.index()])]
    }

    fn host_counters(&self) -> Vec<HostCounters> {
        let graph = &self.net.graph;
        let counters =
            |host: HostId| self.partition(graph.host_node(host)).hosts[host.index()].counters.clone();
        graph.hosts().map(counters).collect()
    }

    /// Transmitted frames are counted at the receiving end of a lane; drops, marks and trims at the sending
    /// end.
    fn lane_counters(&self) -> Vec<LaneCounters> {
        let graph = &self.net.graph;
        let counters = |lane| {
            let LaneCounters { dropped, marked, trims, .. } =
                self.partition(graph.lane_from(lane)).counters(lane);
            LaneCounters { dropped, marked, trims, ..self.partition(graph.lane_to(lane)).counters(lane) }
        };
        graph.lanes().map(counters).collect()
    }

    /// Returns the copies that each switch added, and adds them to the sums and the digest.
    fn added(&self, counters: &mut Counters, collector: &mut Collector) -> Vec<ExtraFrames> {
        let graph = &self.net.graph;
        let by_switch = |switch| {
            let repeaters = self.partition(graph.switch_node(switch)).repeaters.as_ref();
            repeaters.map_or(ExtraFrames::default(), |repeaters| repeaters.added(switch))
        };
        let switches: Vec<_> = graph.switches().map(by_switch).collect();
        for (number, added) in switches.iter().enumerate() {
            counters.extra_frames += *added;
            counters.extra_bytes += added.bytes();
            for (name, value) in added.named() {
                collector.add_counter(name, number as u64, value);
            }
        }
        switches
    }

    /// Returns the counters of both ends of every protected link, and adds them to the sums and the digest.
    fn protection(&self, counters: &mut Counters, collector: &mut Collector) -> Vec<LinkEndCounters> {
        let graph = &self.net.graph;
        let summary = |lane| Some(self.partition(graph.lane_from(lane)).ports.link_end(lane)?.summary());
        let link_ends: Vec<_> = graph.lanes().filter_map(summary).collect();
        for end in &link_ends {
            counters.protection += end.sum;
            counters.extra_bytes += end.sum.bytes();
            for (name, value) in protect::named(end) {
                collector.add_counter(name, u64::from(end.lane.0), value);
            }
        }
        link_ends
    }

    /// Returns the PFC counters of switches and ports, and adds them to the sums and the digest.
    fn flow_control(
        &self,
        end: Time,
        counters: &mut Counters,
        collector: &mut Collector,
    ) -> (Vec<SwitchCounters>, Vec<PauseCounters>) {
        let graph = &self.net.graph;
        let lossless_ports = |node| self.partition(node).ports.as_lossless();
        let lossless_switches: Vec<_> = graph
            .switches()
            .filter_map(|switch| lossless_ports(graph.switch_node(switch))?.switch_counters(switch))
            .collect();
        let port_pauses: Vec<_> = graph
            .lanes()
            .filter_map(|lane| lossless_ports(graph.lane_from(lane))?.pause_counters(lane, end))
            .collect();
        counters.flow_control = lossless::sum(graph, &lossless_switches, &port_pauses);
        for switch in &lossless_switches {
            for (name, value) in switch.counts.named() {
                collector.add_counter(name, u64::from(switch.switch.0), value);
            }
        }
        for port in &port_pauses {
            for (name, value) in port.named() {
                collector.add_counter(name, u64::from(port.lane.0), value);
            }
        }
        (lossless_switches, port_pauses)
    }

    /// Sums the counters of deadlocks and remedies. Counts the storms and proofs that no deadlock caused.
    fn remedies(&self, deadlocks: &[Deadlock]) -> DeadlockCounts {
        let mut sum = DeadlockCounts {
            found: deadlocks.len() as u64,
            resolved: deadlocks.iter().filter(|deadlock| deadlock.resolved).count() as u64,
            closed_ns: deadlocks.first().map(|first| first.closed.as_ns()),
            duration_ns: deadlocks.iter().map(|deadlock| deadlock.seen.since(deadlock.closed).as_ns()).sum(),
            ..DeadlockCounts::default()
        };
        let every = self.limits.deadlock.map_or(Span::ZERO, |check| check.every);
        // A deadlock that was gone at the next check may have lasted until that check.
        let stood = |deadlock: &Deadlock, at: Time| deadlock.closed <= at && at <= deadlock.seen + every;
        let is_false = |at: &&Time| !deadlocks.iter().any(|deadlock| stood(deadlock, **at));
        for partition in &self.partitions {
            if let Some(lossless) = partition.ports.as_lossless() {
                let remedies = &lossless.remedies;
                sum += remedies.counts;
                sum.false_storms += remedies.storms.iter().filter(is_false).count() as u64;
                sum.false_probe_detections +=
                    remedies.probe_detections.iter().filter(is_false).count() as u64;
            }
            if let Some(transit) = &partition.transit {
                sum += transit.counts;
            }
        }
        sum
    }

    fn pause_log(&self, end: Time) -> Vec<PauseInterval> {
        let graph = &self.net.graph;
        let lossless_ports = |lane| self.partition(graph.lane_from(lane)).ports.as_lossless();
        graph
            .lanes()
            .flat_map(|lane| lossless_ports(lane).map_or(Vec::new(), |ports| ports.pause_log(lane, end)))
            .collect()
    }
}

impl Results {
    /// Returns the summary for tables and `summary.json`.
    pub fn summary(&self, name: &str) -> VariantSummary {
        VariantSummary {
            first_deadlock: self.deadlock.clone(),
            notes: self.notes.clone(),
            terms: self.terms.clone(),
            ..self.collector.summary(name, &self.counters)
        }
    }
}

fn sum(hosts: &[HostCounters], lanes: &[LaneCounters]) -> Counters {
    let mut sum = Counters::default();
    let mut timeouts = TimeoutCounts::default();
    for host in hosts {
        timeouts += host.timeouts;
        sum.packets_sent += host.tx_frames;
        sum.extra_bytes += host.extra_bytes;
        sum.extra_frames += host.extra_frames;
        sum.naks += host.naks;
        sum.nak_copies += host.nak_copies;
        sum.retransmitted_packets += host.retransmitted_packets;
        sum.retransmitted_bytes += host.retransmitted_bytes;
        sum.dropped_frames.no_connection += host.late_frames;
        sum.congestion.cnps_sent += host.cnps_sent;
        sum.congestion.cnps_received += host.cnps_received;
    }
    for lane in lanes {
        sum.packet_hops += lane.tx_frames;
        sum.corrupted_frames += lane.corrupted;
        sum.dropped_frames.buffer += lane.dropped;
        sum.congestion.marked += lane.marked;
        sum.trims += lane.trims;
    }
    sum.timeouts = timeouts;
    sum
}

fn add_to_digest(collector: &mut Collector, hosts: &[HostCounters], lanes: &[LaneCounters]) {
    for (number, host) in hosts.iter().enumerate() {
        for (name, value) in host.named() {
            collector.add_counter(name, number as u64, value);
        }
    }
    for (number, lane) in lanes.iter().enumerate() {
        let named = [
            ("lane.tx_frames", lane.tx_frames),
            ("lane.tx_bytes", lane.tx_bytes),
            ("lane.corrupted", lane.corrupted),
            ("lane.dropped", lane.dropped),
        ];
        for (name, value) in named {
            collector.add_counter(name, number as u64, value);
        }
        if lane.failed > 0 {
            collector.add_counter("lane.failed", number as u64, lane.failed);
        }
        if lane.marked > 0 {
            collector.add_counter("lane.marked", number as u64, lane.marked);
        }
        if lane.trims != Trims::default() {
            for (name, value) in lane.trims.named() {
                collector.add_counter(name, number as u64, value);
            }
        }
    }
}
