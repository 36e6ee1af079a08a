//! A scenario made ready to run, and what came out of it.

use std::io;
use std::sync::Arc;

use wiremend_fabric::Graph;
use wiremend_measure::rare::Episodes;
use wiremend_measure::{
    Added, Collector, Counters, DeadlockFound, Deadlocks, TimeoutCounts, TraceRecord, Trims, VariantSummary,
};
use wiremend_scenario::Scenario;
use wiremend_units::{HostId, NodeId, Span, Time};

use crate::build::{BuildError, Built, Files, Options, Plan};
use crate::engine::{Ending, Limits, Observer, Part, Ran, run};
use crate::host::HostCounters;
use crate::link::LaneCounters;
use crate::network::Network;
use crate::protect::{self, EndCounters};
use crate::switch::deadlock::{Deadlock, PauseInterval};
use crate::switch::{PauseCounters, SwitchCounters, lossless};

/// A run that is ready to start.
pub struct Simulation {
    parts: Vec<Part>,
    limits: Limits,
    net: Arc<Network>,
    notes: Vec<String>,
}

/// What came out of a run.
pub struct Results {
    /// Why it ended.
    pub ending: Ending,
    /// Simulated time at the end.
    pub end: Time,
    /// Flows, their times and the digest.
    pub collector: Collector,
    /// Sums over all hosts and links.
    pub counters: Counters,
    /// By host.
    pub hosts: Vec<HostCounters>,
    /// What each switch added.
    pub switches: Vec<Added>,
    /// By lane.
    pub lanes: Vec<LaneCounters>,
    /// Both ends of every protected link.
    pub guards: Vec<EndCounters>,
    /// Every lossless switch.
    pub buffers: Vec<SwitchCounters>,
    /// Every port that PFC frames reached, or were sent to in vain.
    pub pauses: Vec<PauseCounters>,
    /// Deadlocks, in the order in which they were found.
    pub deadlocks: Vec<Deadlock>,
    /// The first of them by name.
    pub deadlock: Option<DeadlockFound>,
    /// When ports had to hold, if that was asked for.
    pub pause_log: Vec<PauseInterval>,
    /// Of a link whose rare losses are made frequent.
    pub episodes: Episodes,
    /// The steps of the traced flow.
    pub trace: Vec<TraceRecord>,
    /// Further steps of it that were too many to keep.
    pub trace_left_out: u64,
    /// Frames that were on a link when the run ended, or waited for one.
    pub in_flight: u64,
    /// What a reader of all this should know of the scenario.
    pub notes: Vec<String>,
}

impl Simulation {
    /// Builds the network of a scenario and puts its applications on the hosts.
    pub fn build(scenario: &Scenario, files: &dyn Files, options: &Options) -> Result<Self, BuildError> {
        Ok(Self::new(Plan::new(scenario, files, options)?))
    }

    /// Makes what was planned.
    pub fn new(plan: Plan<'_>) -> Self {
        let Built { parts, limits, net, notes } = plan.assemble();
        Self { parts, limits, net, notes }
    }

    /// The network.
    pub fn graph(&self) -> &Graph {
        &self.net.graph
    }

    /// What a reader of the results should know of the scenario, a sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Threads that it will run on.
    pub fn threads(&self) -> usize {
        self.parts.len()
    }

    /// Runs to the end. The error is the observer's.
    pub fn run(mut self, observer: &mut dyn Observer) -> io::Result<Results> {
        let ran = run::run(&mut self.parts, &self.limits, observer)?;
        Ok(self.results(ran))
    }

    fn results(mut self, ran: Ran) -> Results {
        let Ran { mut collector, deadlocks, end, ending } = ran;
        let (hosts, lanes) = (self.host_counters(), self.lane_counters());
        let mut counters = sum(&hosts, &lanes);
        counters.events = self.parts.iter().map(|part| part.events).sum();
        counters.dropped_frames.ttl = self.parts.iter().map(|part| part.tally.dropped_ttl).sum();
        counters.simulated_ps = end.as_ps();
        add_to_digest(&mut collector, &hosts, &lanes);
        let switches = self.added(&mut counters, &mut collector);
        let guards = self.protection(&mut counters, &mut collector);
        let (buffers, pauses) = self.flow_control(end, &mut counters, &mut collector);
        counters.deadlocks = self.remedies(&deadlocks);
        counters.dropped_frames.remedy = counters.deadlocks.dropped_frames();
        if self.limits.deadlock.is_some() || counters.deadlocks != Deadlocks::default() {
            for (name, value) in counters.deadlocks.named() {
                collector.add_counter(name, 0, value);
            }
        }
        let deadlock =
            deadlocks.first().map(|first| first.named(&self.net.graph, ending == Ending::Deadlock));
        let pause_log = self.pause_log(end);
        let in_flight = self.parts.iter().map(|part| part.lanes.under_way()).sum();
        let rare = self.parts.iter().find_map(|part| part.ports.rare());
        let episodes = rare.map_or(Episodes::default(), |rare| rare.episodes);
        let (trace, trace_left_out) = self.parts[0].lanes.watch.take_trace();
        Results {
            ending,
            end,
            collector,
            counters,
            hosts,
            switches,
            lanes,
            guards,
            buffers,
            pauses,
            deadlocks,
            deadlock,
            pause_log,
            episodes,
            trace,
            trace_left_out,
            in_flight,
            notes: self.notes,
        }
    }

    /// The part that a node belongs to.
    fn part(&self, node: NodeId) -> &Part {
        &self.parts[usize::from(self.parts[0].owner_of_node[node.index()])]
    }

    fn host_counters(&self) -> Vec<HostCounters> {
        let graph = &self.net.graph;
        let counters = |host: HostId| self.part(graph.host_node(host)).hosts[host.index()].counters.clone();
        graph.hosts().map(counters).collect()
    }

    /// What a lane carries is counted where it ends; what is done before it, where it begins.
    fn lane_counters(&self) -> Vec<LaneCounters> {
        let graph = &self.net.graph;
        let counters = |lane| {
            let LaneCounters { dropped, marked, trims, .. } = self.part(graph.lane_from(lane)).counters(lane);
            LaneCounters { dropped, marked, trims, ..self.part(graph.lane_to(lane)).counters(lane) }
        };
        graph.lanes().map(counters).collect()
    }

    /// What each switch added.
    fn added(&self, counters: &mut Counters, collector: &mut Collector) -> Vec<Added> {
        let graph = &self.net.graph;
        let by_switch = |switch| {
            let repeaters = self.part(graph.switch_node(switch)).repeaters.as_ref();
            repeaters.map_or(Added::default(), |repeaters| repeaters.added(switch))
        };
        let switches: Vec<_> = graph.switches().map(by_switch).collect();
        for (number, added) in switches.iter().enumerate() {
            counters.added += *added;
            counters.extra_bytes += added.bytes();
            for (name, value) in added.named() {
                collector.add_counter(name, number as u64, value);
            }
        }
        switches
    }

    /// What both ends of every protected link did.
    fn protection(&self, counters: &mut Counters, collector: &mut Collector) -> Vec<EndCounters> {
        let graph = &self.net.graph;
        let summary = |lane| Some(self.part(graph.lane_from(lane)).ports.guard(lane)?.summary());
        let guards: Vec<_> = graph.lanes().filter_map(summary).collect();
        for end in &guards {
            counters.protection += end.sum;
            counters.extra_bytes += end.sum.bytes();
            for (name, value) in protect::named(end) {
                collector.add_counter(name, u64::from(end.lane.0), value);
            }
        }
        guards
    }

    /// What lossless switches did, and what became of it.
    fn flow_control(
        &self,
        end: Time,
        counters: &mut Counters,
        collector: &mut Collector,
    ) -> (Vec<SwitchCounters>, Vec<PauseCounters>) {
        let graph = &self.net.graph;
        let of = |node| self.part(node).ports.as_lossless();
        let buffers: Vec<_> = graph
            .switches()
            .filter_map(|switch| of(graph.switch_node(switch))?.switch_counters(switch))
            .collect();
        let pauses: Vec<_> =
            graph.lanes().filter_map(|lane| of(graph.lane_from(lane))?.pause_counters(lane, end)).collect();
        counters.flow_control = lossless::sum(graph, &buffers, &pauses);
        for of in &buffers {
            for (name, value) in of.counts.named() {
                collector.add_counter(name, u64::from(of.switch.0), value);
            }
        }
        for of in &pauses {
            for (name, value) in of.named() {
                collector.add_counter(name, u64::from(of.lane.0), value);
            }
        }
        (buffers, pauses)
    }

    /// What was done about deadlocks, and which of it there was reason for.
    fn remedies(&self, deadlocks: &[Deadlock]) -> Deadlocks {
        let mut sum = Deadlocks {
            found: deadlocks.len() as u64,
            resolved: deadlocks.iter().filter(|deadlock| deadlock.resolved).count() as u64,
            closed_ns: deadlocks.first().map(|first| first.closed.as_ns()),
            stood_ns: deadlocks.iter().map(|deadlock| deadlock.seen.since(deadlock.closed).as_ns()).sum(),
            ..Deadlocks::default()
        };
        let every = self.limits.deadlock.map_or(Span::ZERO, |watch| watch.every);
        // One that was gone at the next look may have stood until then.
        let stood = |deadlock: &Deadlock, at: Time| deadlock.closed <= at && at <= deadlock.seen + every;
        let is_false = |at: &&Time| !deadlocks.iter().any(|deadlock| stood(deadlock, **at));
        for part in &self.parts {
            if let Some(lossless) = part.ports.as_lossless() {
                let care = &lossless.care;
                sum += care.counts;
                sum.false_storms += care.storms.iter().filter(is_false).count() as u64;
                sum.false_proofs += care.proofs.iter().filter(is_false).count() as u64;
            }
            if let Some(passage) = &part.passage {
                sum += passage.counts;
            }
        }
        sum
    }

    fn pause_log(&self, end: Time) -> Vec<PauseInterval> {
        let graph = &self.net.graph;
        let of = |lane| self.part(graph.lane_from(lane)).ports.as_lossless();
        graph.lanes().flat_map(|lane| of(lane).map_or(Vec::new(), |of| of.pause_log(lane, end))).collect()
    }
}

impl Results {
    /// What the tables and `summary.json` show.
    pub fn summary(&self, name: &str) -> VariantSummary {
        let (deadlock, notes) = (self.deadlock.clone(), self.notes.clone());
        VariantSummary { deadlock, notes, ..self.collector.summary(name, &self.counters) }
    }
}

fn sum(hosts: &[HostCounters], lanes: &[LaneCounters]) -> Counters {
    let mut sum = Counters::default();
    let mut timeouts = TimeoutCounts::default();
    for host in hosts {
        timeouts += host.timeouts;
        sum.packets_sent += host.tx_frames;
        sum.extra_bytes += host.extra_bytes;
        sum.added += host.added;
        sum.naks += host.naks;
        sum.nak_copies += host.nak_copies;
        sum.retransmitted_packets += host.retransmitted_packets;
        sum.retransmitted_bytes += host.retransmitted_bytes;
        sum.dropped_frames.late += host.late_frames;
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
