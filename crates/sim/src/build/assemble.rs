//! The parts of a run, made from a plan.

use std::sync::Arc;

use wiremend_proto::cc::Echo;
use wiremend_proto::pfc::Buffer;
use wiremend_units::{Bytes, LaneId, NodeId, Span, SwitchId, stream_seed};

use super::plan::Plan;
use super::{balance, congestion, remedy};
use crate::engine::{Limits, Part, Script};
use crate::event::{Queue, Sources};
use crate::host::{Host, Tally};
use crate::link::Lanes;
use crate::network::{Network, purpose};
use crate::protect::Protection;
use crate::switch::{Detours, Lossless, Lossy, Marking, Repeaters, SwitchPorts};

/// What a run starts from.
pub(crate) struct Built {
    pub(crate) parts: Vec<Part>,
    pub(crate) limits: Limits,
    pub(crate) net: Arc<Network>,
    /// What a reader of the results should know.
    pub(crate) notes: Vec<String>,
}

impl Plan<'_> {
    /// Makes the parts.
    pub(crate) fn assemble(mut self) -> Built {
        let detours = Detours::new(self.graph().switch_count() as usize, &self.valid.detours).map(Arc::new);
        let mut parts: Vec<_> =
            (0..self.parts).map(|number| self.part(number as u16, detours.as_ref())).collect();
        for (lane, impairments) in std::mem::take(&mut self.valid.impairments) {
            parts[self.owner(lane)].lanes.impair(lane, impairments);
        }
        for (host, app) in std::mem::take(&mut self.valid.apps) {
            parts[usize::from(self.owner_of_node[host.index()])].hosts[host.index()].add_app(app);
        }
        if let Some(lane) = self.valid.tilted {
            parts[self.owner(lane)].ports.weigh_episodes(lane);
        }
        self.watch(&mut parts);
        Built { parts, limits: self.limits(), net: self.valid.net, notes: self.valid.notes }
    }

    fn part(&mut self, number: u16, detours: Option<&Arc<Detours>>) -> Part {
        let mut lanes = self.lanes(number);
        let ports = self.switch_ports(number, &mut lanes);
        let net = &self.valid.net;
        let switches = net.graph.switch_count() as usize;
        let pauses = self.valid.pauses.iter().filter(|pause| self.owner(pause.lane) == usize::from(number));
        let repeaters = net.transport.repeats.map(|config| Box::new(Repeaters::new(config, switches)));
        let passage = remedy::passage(self.scenario, &net.graph).map(Box::new);
        let balancer = balance::balancer(self.scenario, net).map(Box::new);
        let is_plain = repeaters.is_none() && detours.is_none() && passage.is_none() && balancer.is_none();
        Part {
            number,
            net: Arc::clone(net),
            owner_of_node: Arc::clone(&self.owner_of_node),
            lanes,
            ports,
            hosts: net.graph.hosts().map(|host| Host::new(host, net.uplink(host))).collect(),
            script: Script::new(pauses.copied().collect()),
            tally: Tally::default(),
            repeaters,
            detours: detours.cloned(),
            passage,
            balancer,
            is_plain,
            events: 0,
            sampled: self.valid.sampled.clone(),
            samples: Vec::new(),
            last_sample: Vec::new(),
        }
    }

    /// All lanes, each with a plain port.
    fn lanes(&self, number: u16) -> Lanes {
        let (net, graph) = (&self.valid.net, self.graph());
        let [lanes, hosts, switches] =
            [graph.lane_count(), graph.host_count(), graph.switch_count()].map(|count| count as usize);
        let sources = Sources::new(lanes, hosts, switches);
        let queue = Queue::new(stream_seed(net.seed, purpose::TIES, 0), sources.count(), horizon(net));
        let mut lanes = Lanes::new(queue, sources, self.parts);
        for lane in graph.lanes() {
            let to = self.owner_of_node[graph.lane_to(lane).index()];
            lanes.add(&net.lanes[lane.index()], (to != number).then_some(to));
        }
        if net.transport.needs.echo == Echo::Telemetry {
            graph
                .lanes()
                .filter(|lane| self.is_own_port(number, *lane))
                .for_each(|lane| lanes.tell_telemetry(lane));
        }
        lanes
    }

    /// The ports of a part's switches.
    fn switch_ports(&mut self, number: u16, lanes: &mut Lanes) -> SwitchPorts {
        let count = self.graph().lane_count() as usize;
        let seed = self.valid.net.seed;
        let ecn = self.scenario.switch.ecn.as_ref();
        let marking = ecn.map(|ecn| Marking::new(congestion::curve(ecn), seed, count));
        let own: Vec<LaneId> = self.graph().lanes().filter(|lane| self.is_own_port(number, *lane)).collect();
        let ends = own.iter().filter(|lane| self.valid.protection.ends.contains_key(lane)).count();
        let protection = Protection::new(ends, self.valid.protection.loopbacks(self.graph()));
        let Some(table) = &self.scenario.switch.lossless else {
            return SwitchPorts::lossy(self.lossy(lanes, &own, protection), marking);
        };
        let is_own = |(switch, _): &(SwitchId, Buffer)| {
            self.owner_of_node[self.valid.net.graph.switch_node(*switch).index()] == number
        };
        let (buffers, others) = std::mem::take(&mut self.valid.buffers).into_iter().partition(is_own);
        self.valid.buffers = others;
        let buffers: Vec<_> = buffers;
        let mut ports = Lossless::new(&self.valid.net, buffers.len(), table.reaction, self.lazy, protection);
        ports.care = remedy::care(self.scenario, self.options, self.graph());
        for (switch, buffer) in buffers {
            self.add_lossless(lanes, &mut ports, switch, buffer);
        }
        SwitchPorts::lossless(ports, marking)
    }

    fn lossy(&self, lanes: &mut Lanes, own: &[LaneId], protection: Protection) -> Lossy {
        let trimming = self.valid.trim.as_ref().map(super::trim_switch::Plan::trimming);
        let mut ports = Lossy::new(self.graph().lane_count() as usize, trimming, protection);
        for lane in own.iter().copied() {
            if let Some(end) = self.valid.protection.ends.get(&lane) {
                ports.protect(lanes, self.settling_egress(lane), end.guard());
            } else if let Some(egress) = self.egress(lane) {
                ports.schedule(lanes, lane, egress);
            }
        }
        ports
    }

    fn add_lossless(&self, lanes: &mut Lanes, ports: &mut Lossless, switch: SwitchId, buffer: Buffer) {
        ports.add(switch, buffer);
        for lane in self.graph().ports(self.graph().switch_node(switch)).iter().copied() {
            let egress = self.settling_egress(lane);
            match self.valid.protection.ends.get(&lane) {
                Some(end) => ports.protect(lanes, switch, egress, end.guard()),
                None => ports.schedule(lanes, switch, lane, egress),
            }
        }
    }

    /// Whether a switch of the part sends over a lane.
    fn is_own_port(&self, number: u16, lane: LaneId) -> bool {
        let NodeId(from) = self.graph().lane_from(lane);
        from >= self.graph().host_count() && self.owner_of_node[from as usize] == number
    }

    /// Marks what an observer wants to see.
    fn watch(&self, parts: &mut [Part]) {
        let graph = self.graph();
        for lane in self.watched() {
            parts[self.owner(lane)].lanes.watch(lane);
        }
        for link in &self.options.captures {
            for lane in [link.forward(), link.backward()] {
                parts[self.owner(lane)].lanes.watch.capture(lane, graph.lane_count() as usize);
            }
        }
        if let Some(flow) = self.options.trace {
            for part in parts {
                let ends = graph.lanes().map(|lane| (graph.lane_from(lane), graph.lane_to(lane)));
                part.lanes.watch.trace(flow, ends.collect());
            }
        }
    }
}

/// How far ahead most events lie: the longest lane and a full frame on the slowest.
fn horizon(net: &Network) -> Span {
    let full = Bytes::new(u64::from(net.transport.config.mtu) + 100);
    net.lanes.iter().map(|lane| lane.delay + lane.rate.serialize(full)).max().unwrap_or(Span::from_us(1))
}
