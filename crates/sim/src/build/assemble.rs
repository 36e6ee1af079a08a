//! Makes the partitions of a run from a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use wiremend_measure::Terms;
use wiremend_proto::cc::AckFeedback;
use wiremend_proto::pfc::Buffer;
use wiremend_scenario::{FlowSet, Ties};
use wiremend_units::{Bytes, LaneId, NodeId, Span, SwitchId, stream_seed};

use super::plan::SimulationPlan;
use super::validate::ValidScenario;
use super::{balance, congestion, deadlock};
use crate::engine::{Limits, Partition, PauseScript};
use crate::event::{EventQueue, EventSources, NodeWindows};
use crate::host::{Host, Tally};
use crate::link::Lanes;
use crate::network::{Network, purpose};
use crate::observe::{FlowWatch, WantedFlows};
use crate::port::{PauseWindow, PortPause};
use crate::protect::Protection;
use crate::switch::{ForwardingEntries, Lossless, Lossy, Marking, Repeaters, SwitchPorts};

/// Scripted pauses by node.
type NodeScripts = BTreeMap<NodeId, Vec<PortPause>>;

/// In shorter windows, grouping events by node costs more than it saves.
const NODE_WINDOW_MIN: Span = Span::from_ns(4);

/// The start state of a run.
pub(crate) struct AssembledRun {
    pub(crate) partitions: Vec<Partition>,
    pub(crate) limits: Limits,
    pub(crate) net: Arc<Network>,
    /// Remarks for readers of the results.
    pub(crate) notes: Vec<String>,
    /// What the variant has beside its recovery scheme.
    pub(crate) terms: Terms,
}

impl SimulationPlan<'_> {
    pub(crate) fn assemble(mut self) -> AssembledRun {
        let detours =
            ForwardingEntries::new(self.graph().switch_count() as usize, &self.valid.forwarding_entries)
                .map(Arc::new);
        let mut partitions: Vec<_> =
            (0..self.partitions).map(|number| self.partition(number as u16, detours.as_ref())).collect();
        for (lane, impairments) in std::mem::take(&mut self.valid.impairments) {
            partitions[self.owner(lane)].lanes.impair(lane, impairments);
        }
        for (host, app) in std::mem::take(&mut self.valid.apps) {
            partitions[usize::from(self.node_partitions[host.index()])].hosts[host.index()].add_app(app);
        }
        if let Some(lane) = self.valid.tilted {
            partitions[self.owner(lane)].ports.track_loss_episodes(lane);
        }
        self.attach_recorders(&mut partitions);
        self.connect_lazy_ports(&mut partitions);
        let limits = self.limits();
        let ValidScenario { net, notes, terms, .. } = self.valid;
        AssembledRun { partitions, limits, net, notes, terms }
    }

    fn partition(&mut self, number: u16, detours: Option<&Arc<ForwardingEntries>>) -> Partition {
        let scripts = self.scripts(number);
        let mut lanes = self.lanes(number, &scripts);
        let ports = self.switch_ports(number, &mut lanes);
        let net = &self.valid.net;
        let switches = net.graph.switch_count() as usize;
        let repeaters = net.transport.repeats.map(|config| Box::new(Repeaters::new(config, switches)));
        let transit = deadlock::transit_checks(self.scenario, &net.graph).map(Box::new);
        let balancer = balance::balancer(self.scenario, net).map(Box::new);
        let is_plain = repeaters.is_none()
            && detours.is_none()
            && transit.is_none()
            && balancer.is_none()
            && net.failures.is_none();
        Partition {
            number,
            net: Arc::clone(net),
            node_partitions: Arc::clone(&self.node_partitions),
            lanes,
            ports,
            hosts: net.graph.hosts().map(|host| Host::new(host, net.uplink(host))).collect(),
            scripts: scripts.into_values().map(PauseScript::new).collect(),
            tally: Tally::watching(self.flow_watch()),
            repeaters,
            detours: detours.cloned(),
            transit,
            balancer,
            is_plain,
            events: 0,
            sampled: self.valid.sampled.clone(),
            samples: Vec::new(),
            last_sample: Vec::new(),
        }
    }

    /// Returns what samples flows, if the scenario names some.
    fn flow_watch(&self) -> Option<Box<FlowWatch>> {
        let wanted = match &self.scenario.series.as_ref()?.flows.as_ref()?.value {
            FlowSet::First(count) => WantedFlows::First(count.get().into()),
            FlowSet::Listed(flows) => WantedFlows::Listed(flows.iter().copied().collect()),
        };
        Some(Box::new(FlowWatch::new(wanted)))
    }

    /// Returns all lanes, each with a plain port.
    fn lanes(&self, number: u16, scripts: &NodeScripts) -> Lanes {
        let (net, graph) = (&self.valid.net, self.graph());
        let [lanes, hosts, switches] =
            [graph.lane_count(), graph.host_count(), graph.switch_count()].map(|count| count as usize);
        let sources = EventSources::new(lanes, hosts, switches, scripts.len());
        let windows = NodeWindows {
            nodes: self.source_nodes(scripts),
            window: self.node_window(),
            has_fixed_ties: self.scenario.engine.ties == Ties::Fixed,
        };
        assert_eq!(windows.nodes.len(), sources.count(), "every source has a node");
        let queue = EventQueue::new(stream_seed(net.seed, purpose::TIES, 0), windows, horizon(net));
        let mut lanes = Lanes::new(queue, sources, self.partitions);
        for lane in graph.lanes() {
            let to = self.node_partitions[graph.lane_to(lane).index()];
            lanes.add(&net.lanes[lane.index()], (to != number).then_some(to));
        }
        if let Some(failures) = &net.failures {
            lanes.fail(failures);
        }
        if net.transport.needs.ack_feedback == AckFeedback::Telemetry {
            graph
                .lanes()
                .filter(|lane| self.owns_port(number, *lane))
                .for_each(|lane| lanes.enable_telemetry(lane));
        }
        lanes
    }

    /// Returns the scripted pauses of a partition by node.
    fn scripts(&self, number: u16) -> NodeScripts {
        let mut scripts = NodeScripts::new();
        for pause in self.valid.pauses.iter().filter(|pause| self.owner(pause.lane) == usize::from(number)) {
            scripts.entry(self.graph().lane_from(pause.lane)).or_default().push(*pause);
        }
        scripts
    }

    /// Returns the node that handles the events of each source, in the order of [`EventSources`].
    fn source_nodes(&self, scripts: &NodeScripts) -> Vec<u32> {
        let graph = self.graph();
        let arrivals = graph.lanes().map(|lane| graph.lane_to(lane));
        let ports = graph.lanes().map(|lane| graph.lane_from(lane));
        let hosts = (0..3).flat_map(|_| graph.hosts().map(|host| graph.host_node(host)));
        let switches = graph.switches().map(|switch| graph.switch_node(switch));
        let nodes = arrivals.chain(ports).chain(hosts).chain(switches).chain(scripts.keys().copied());
        nodes.map(|node| node.0).collect()
    }

    /// Returns the time in which no node affects another, or `None` if events must be handled in order of
    /// time.
    fn node_window(&self) -> Option<Span> {
        let delay = self.valid.net.lanes.iter().map(|lane| lane.delay).min()?;
        (!self.time_order && delay > NODE_WINDOW_MIN).then(|| delay - PauseWindow::MIN_LEAD)
    }

    /// Returns the ports of a partition's switches.
    fn switch_ports(&mut self, number: u16, lanes: &mut Lanes) -> SwitchPorts {
        let count = self.graph().lane_count() as usize;
        let seed = self.valid.net.seed;
        let ecn = self.scenario.switch.ecn.as_ref();
        let marking = ecn.map(|ecn| Marking::new(congestion::curve(ecn), seed, count));
        let own: Vec<LaneId> = self.graph().lanes().filter(|lane| self.owns_port(number, *lane)).collect();
        let ends = own.iter().filter(|lane| self.valid.protection.ends.contains_key(lane)).count();
        let protection = Protection::new(ends, self.valid.protection.loopbacks(self.graph()));
        let Some(table) = &self.scenario.switch.lossless else {
            return SwitchPorts::lossy(self.lossy(lanes, &own, protection), marking);
        };
        let is_own = |(switch, _): &(SwitchId, Buffer)| {
            self.node_partitions[self.valid.net.graph.switch_node(*switch).index()] == number
        };
        let (buffers, others) = std::mem::take(&mut self.valid.buffers).into_iter().partition(is_own);
        self.valid.buffers = others;
        let buffers: Vec<_> = buffers;
        let mut ports = Lossless::new(&self.valid.net, buffers.len(), table.reaction, self.lazy, protection);
        ports.remedies = deadlock::remedies(self.scenario, self.options, self.graph());
        for (switch, buffer) in buffers {
            self.add_lossless(lanes, &mut ports, switch, buffer);
        }
        SwitchPorts::lossless(ports, marking)
    }

    fn lossy(&self, lanes: &mut Lanes, own: &[LaneId], protection: Protection) -> Lossy {
        let trimming = self.valid.trim.as_ref().map(super::trim_switch::TrimPlan::trimming);
        // Without trimming, time may be skipped, which needs an event for each departure to see ties.
        let is_lazy = trimming.is_some() && lanes.queue.is_by_node();
        let lazy_switches = is_lazy.then(|| self.graph().switch_count() as usize);
        let mut ports = Lossy::new(self.graph().lane_count() as usize, lazy_switches, trimming, protection);
        for lane in own.iter().copied() {
            if let Some(end) = self.valid.protection.ends.get(&lane) {
                let switch = self.valid.net.switch_at(lane.reverse());
                ports.protect(lanes, switch, self.scheduled_egress(lane), end.link_end());
            } else if let Some(egress) = self.egress(lane) {
                ports.schedule(lanes, lane, egress);
            }
        }
        ports
    }

    fn add_lossless(&self, lanes: &mut Lanes, ports: &mut Lossless, switch: SwitchId, buffer: Buffer) {
        ports.add(switch, buffer);
        for lane in self.graph().ports(self.graph().switch_node(switch)).iter().copied() {
            let egress = self.scheduled_egress(lane);
            match self.valid.protection.ends.get(&lane) {
                Some(end) => ports.protect(lanes, switch, egress, end.link_end()),
                None => ports.schedule(lanes, switch, lane, egress),
            }
        }
    }

    /// Returns whether a switch of the partition sends over a lane.
    fn owns_port(&self, number: u16, lane: LaneId) -> bool {
        let NodeId(from) = self.graph().lane_from(lane);
        from >= self.graph().host_count() && self.node_partitions[from as usize] == number
    }

    /// Lets the ports of protected links send control frames without events to other partitions.
    fn connect_lazy_ports(&self, partitions: &mut [Partition]) {
        let graph = self.graph();
        for lane in self.valid.protection.ends.keys().copied() {
            let [from, to] = [graph.lane_from(lane), graph.lane_to(lane)]
                .map(|node| usize::from(self.node_partitions[node.index()]));
            if from != to && partitions[to].lanes.is_lazy(lane) {
                partitions[from].lanes.send_lazily(lane);
            }
        }
    }

    /// Enables recording of captured and traced lanes.
    fn attach_recorders(&self, partitions: &mut [Partition]) {
        let graph = self.graph();
        for lane in self.recorded_lanes() {
            partitions[self.owner(lane)].lanes.record(lane);
        }
        for partition in &mut *partitions {
            partition.lanes.recorder.keeps_causes = !self.options.captures.is_empty();
        }
        for link in &self.options.captures {
            for lane in [link.forward(), link.backward()] {
                partitions[self.owner(lane)].lanes.recorder.capture(lane, graph.lane_count() as usize);
            }
        }
        if let Some(flow) = self.options.trace {
            for partition in partitions {
                partition.lanes.recorder.trace(flow, self.options.trace_others, &self.valid.net);
            }
        }
    }
}

/// Returns how far ahead most events lie: the longest lane delay plus a full frame on that lane.
fn horizon(net: &Network) -> Span {
    let full = Bytes::new(u64::from(net.transport.config.mtu) + 100);
    net.lanes.iter().map(|lane| lane.delay + lane.rate.serialize(full)).max().unwrap_or(Span::from_us(1))
}
