//! From a scenario to parts that can run.

mod balance;
mod buffer;
mod collective;
mod congestion;
mod impair;
mod longest;
mod lossless;
mod pause;
mod protect;
mod remedy;
mod route;
mod selective;
mod tcp;
mod topology;
mod trim_switch;
mod trim_transport;
mod workload;

use std::sync::Arc;

use wiremend_fabric::Plan;
use wiremend_proto::mend::{Dummies, Mend as Ends, When};
use wiremend_proto::{cc, rc};
use wiremend_scenario::{DummiesWhen, Family, Mend, Operation, Place, Ports, QueuePairs, Recovery, Scenario};
use wiremend_units::{Bytes, LaneId, Span, Time, stream_seed};

use crate::engine::{Limits, Memory, Part, Script};
use crate::event::{Queue, Sources};
use crate::host::{Host, Tally};
use crate::link::Wires;
use crate::network::{Engine, Latencies, Network, Repeats, Transport, purpose};
use crate::port::{Egress, Schedule};
use crate::protect::Rare;
use crate::simulation::Options;
use crate::switch::{Detours, Lossless, Marking, Repeaters};

pub use route::{Phase, phases};
pub(crate) use topology::links;
pub use topology::network;

/// Why a scenario that reads well cannot be run, and where it says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BuildError {
    /// The place in the scenario.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub what: String,
    /// The machine lacks something, the scenario is fine.
    pub environment: bool,
}

impl BuildError {
    fn at(place: Place, what: impl Into<String>) -> Self {
        Self { place, what: what.into(), environment: false }
    }
}

/// Where the files that a scenario names come from.
pub trait Files {
    /// Opens a file by the name in the scenario. The error says what is wrong, with the name.
    fn open(&self, name: &str) -> Result<Box<dyn std::io::BufRead>, String>;
}

/// What a run starts from.
pub(crate) struct Built {
    pub(crate) parts: Vec<Part>,
    pub(crate) limits: Limits,
    pub(crate) net: Arc<Network>,
    /// What a reader of the results should know.
    pub(crate) notes: Vec<String>,
}

/// Bytes of state that a lane, a host and an entry of the routes take, roughly: for refusing what cannot fit.
const LANE_BYTES: u64 = 400;
const HOST_BYTES: u64 = 1_500;
/// Bytes that a frame under way takes at worst: its place, its entry in a ring, and the old copies of both while
/// they double.
const FRAME_BYTES: u64 = 256;
/// Bytes that a flow under way takes: a connection at both of its ends, or a place in one that it shares.
const FLOW_BYTES: u64 = 1_400;
const SHARED_FLOW_BYTES: u64 = 300;
const TCP_FLOW_BYTES: u64 = 4_000;

pub(crate) fn build(scenario: &Scenario, files: &dyn Files, options: &Options) -> Result<Built, BuildError> {
    check_memory(scenario, options)?;
    let net = Arc::new(connected(scenario, options)?);
    let memory = Memory {
        bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
        frame_bytes: FRAME_BYTES,
        flow_bytes: match (net.transport.per_pair, &net.transport.tcp) {
            (true, _) => SHARED_FLOW_BYTES,
            (false, None) => FLOW_BYTES,
            (false, Some(_)) => TCP_FLOW_BYTES * u64::from(scenario.subflows_max()),
        },
    };
    let apps = workload::place(scenario, files, &net, memory)?;
    let impairments = impair::place(scenario, files, &net)?;
    let protect::Placed { guards, loopbacks, late } = protect::place(scenario, &net)?;
    impair::check_scripts(scenario, &net, |lane| guards.contains_key(&lane))?;
    let tilted = impair::tilted(scenario, &net, |lane| guards.contains_key(&lane))?;
    // Weights need both ends of a link at once.
    let owner_of_node = assign(&net, if tilted.is_some() { 1 } else { options.threads });
    let count = owner_of_node.iter().max().map_or(1, |last| usize::from(*last) + 1);
    let pauses = pause::place(scenario, &net)?;
    let memories = buffer::of_switches(scenario, &net.graph)?;
    let buffers = lossless::place(scenario, &net, &memories, &late)?;
    let detours =
        Detours::new(net.graph.switch_count() as usize, &route::place(scenario, &net.graph)?).map(Arc::new);
    let mut notes = notes(scenario, &net);
    let trim = trim_switch::plan(scenario, &net, &memories, &mut notes)?;
    let memory_of = |lane: LaneId| memories[net.switch_at(lane.reverse())?.index()];
    let limited = |lane| memory_of(lane).filter(|_| scenario.switch.lossless.is_none());
    let buffers_max = net.graph.lanes().map(limited).collect();
    let settling = pauses.iter().map(|pause| pause.lane).chain(guards.keys().copied());
    let ports = ports(scenario, options, trim, buffers_max, settling);
    let mut parts: Vec<_> =
        (0..count).map(|part| new_part(&net, &owner_of_node, part as u16, count, &ports)).collect();
    let owner = |lane: LaneId| usize::from(owner_of_node[net.graph.lane_from(lane).index()]);
    for (number, part) in parts.iter_mut().enumerate() {
        part.wires.lossless =
            scenario.switch.lossless.as_ref().map(|table| Box::new(Lossless::new(&net, table.reaction)));
        part.wires.marking = scenario.switch.ecn.as_ref().map(|ecn| {
            Box::new(Marking::new(congestion::curve(ecn), net.seed, net.graph.lane_count() as usize))
        });
        part.wires.trimming = ports.trim.as_ref().map(|trim| Box::new(trim.trimming()));
        part.script =
            Script::new(pauses.iter().filter(|pause| owner(pause.lane) == number).copied().collect());
    }
    for part in &mut parts {
        part.detours.clone_from(&detours);
        remedy::place(scenario, options, part);
        part.balancer = balance::balancer(scenario, &net).map(Box::new);
        part.is_plain = part.repeaters.is_none()
            && part.detours.is_none()
            && part.passage.is_none()
            && part.balancer.is_none();
    }
    for (lane, impairments) in impairments {
        parts[owner(lane)].wires.impair(lane, impairments);
    }
    let lazy = !options.scheduled && workload::classes(scenario).len() == 1;
    for (switch, buffer) in buffers {
        let node = net.graph.switch_node(switch);
        let wires = &mut parts[usize::from(owner_of_node[node.index()])].wires;
        wires.lossless.as_mut().expect("lossless").add(switch, buffer, net.graph.ports(node));
        net.graph.ports(node).iter().for_each(|lane| wires.set_lossless(*lane, lazy));
    }
    judge_arrivals(&mut parts, &net, owner);
    parts[0].wires.rare = tilted.map(|lane| Box::new(Rare::new(lane)));
    for (switch, turn) in loopbacks {
        let node = net.graph.switch_node(switch);
        parts[usize::from(owner_of_node[node.index()])].wires.add_loopback(switch, turn);
    }
    for (lane, guard) in guards {
        parts[owner(lane)].wires.protect(lane, guard);
    }
    for (host, app) in apps {
        parts[usize::from(owner_of_node[host.index()])].hosts[host.index()].add_app(app);
    }
    watch(&mut parts, &net, options, &ports, owner);
    let sample_every = scenario.series.as_ref().map(|series| series.every);
    if let Some(series) = &scenario.series {
        for link in
            links(&net.graph, &series.links.value).map_err(|what| BuildError::at(series.links.place, what))?
        {
            for part in &mut parts {
                part.sampled.extend([link.forward(), link.backward()]);
            }
        }
    }
    let limits = Limits {
        jobs: collective::jobs(scenario)?,
        stop_at: Time::ZERO + scenario.stop.after,
        lookahead: net.plan.lookahead,
        sample_every,
        deadlock: remedy::observer(scenario),
        memory,
    };
    Ok(Built { parts, limits, net, notes })
}

/// The network, and what connections over it are.
fn connected(scenario: &Scenario, options: &Options) -> Result<Network, BuildError> {
    let graph = topology::graph(scenario)?;
    let topology = &scenario.topology;
    let latencies = Latencies {
        switch: topology.switch_latency,
        host_tx: topology.host_tx_latency,
        host_rx: topology.host_rx_latency,
    };
    let mut net = Network::new(graph, latencies, transport(scenario), options.seed);
    net.balanced = scenario.switch.balance.reorders();
    net.transport.engine = selective::engine(&scenario.transport, &net);
    net.transport.tcp = tcp::tcp(scenario, &net);
    Ok(net)
}

/// What a reader should know before the run.
fn notes(scenario: &Scenario, net: &Network) -> Vec<String> {
    let of_net = [
        trim_transport::hasty(scenario, net),
        congestion::unreachable(scenario, net),
        tcp::note(scenario, net),
    ];
    let notes = [balance::note(scenario), trim_transport::note(scenario)].into_iter().chain(of_net);
    notes.flatten().collect()
}

/// How the ports of switches are made.
struct PortKinds {
    schedule: Schedule,
    /// Whether all are scheduled.
    scheduled: bool,
    /// Those that are scheduled anyway, ascending.
    settling: Vec<LaneId>,
    /// By lane.
    buffers_max: Vec<Option<Bytes>>,
    trim: Option<trim_switch::Plan>,
}

fn ports(
    scenario: &Scenario,
    options: &Options,
    trim: Option<trim_switch::Plan>,
    buffers_max: Vec<Option<Bytes>>,
    settling: impl Iterator<Item = LaneId>,
) -> PortKinds {
    let scheduled = options.scheduled
        || trim.is_some()
        || scenario.engine.ports == Ports::Scheduled
        || workload::classes(scenario).len() > 1
        || scenario.switch.weights().next().is_some()
        || scenario.switch.lossless.is_some();
    let mut settling: Vec<_> = settling.collect();
    settling.sort_unstable();
    PortKinds {
        schedule: Schedule::weighted(&scenario.switch.weights().collect::<Vec<_>>()),
        scheduled,
        settling,
        buffers_max,
        trim,
    }
}

impl PortKinds {
    /// `None`: the plain port.
    fn egress(&self, lane: LaneId) -> Option<Egress> {
        if self.scheduled || self.settling.binary_search(&lane).is_ok() {
            return Some(self.settling(lane));
        }
        self.bytes_max(lane).map(Egress::fifo)
    }

    /// One that settles a departure when it happens.
    fn settling(&self, lane: LaneId) -> Egress {
        match &self.trim {
            Some(trim) => trim.egress(lane, self.bytes_max(lane)),
            None => Egress::scheduled(self.schedule.clone(), self.bytes_max(lane)),
        }
    }

    fn bytes_max(&self, lane: LaneId) -> Option<u64> {
        self.buffers_max[lane.index()].map(Bytes::get)
    }
}

fn transport(scenario: &Scenario) -> Transport {
    let transport = &scenario.transport;
    let config = rc::Config {
        mtu: transport.mtu.get(),
        timeout: transport.timeout(),
        retry_count: transport.retry.get(),
        rnr_retry: transport.rnr_retry.get(),
        rnr_timer: rc::Config::default().rnr_timer,
        resend_delay: transport.resend_delay,
        window: transport
            .window
            .max()
            .map_or(rc::Config::WINDOW_MAX, |window| window.get().min(rc::Config::WINDOW_MAX)),
        ack_every: transport.ack_every.get(),
        reads_max: rc::Config::default().reads_max,
        recovery: match transport.recovery {
            Recovery::GoBack0 => rc::Recovery::GoBackZero,
            // Other engines do not ask.
            _ => rc::Recovery::GoBackN,
        },
        mend: mend(&scenario.mend),
        acceleration: acceleration(transport),
    };
    let op = match transport.operation {
        Operation::Write => rc::Op::Write,
        Operation::Send => rc::Op::Send,
        Operation::Read => rc::Op::Read,
    };
    let congestion = congestion::algorithm(transport);
    let cnp_interval = match &congestion {
        cc::Algorithm::Dcqcn(parameters) => Some(parameters.cnp_interval),
        _ => None,
    };
    Transport {
        config,
        // Other engines have to know the paths, which are not known yet.
        engine: Engine::GoBack,
        op,
        coalesce: transport.ack_coalescing,
        per_pair: transport.qp == QueuePairs::PerPair,
        congestion,
        cnp_interval,
        cnp_class: transport.cnp_class.map(wiremend_scenario::Within::get),
        ttl: transport.ttl.get(),
        first_psn: wiremend_units::Psn::new(transport.first_psn.get()),
        trims: transport.recovery.family() == Family::Trimming,
        repeats: repeats(&scenario.mend),
        // As with other engines.
        tcp: None,
    }
}

fn acceleration(transport: &wiremend_scenario::Transport) -> rc::Acceleration {
    let Some(table) = &transport.acceleration else { return rc::Acceleration::default() };
    let usual = transport.timeout().unwrap_or(Span::ZERO) / 16;
    let adaptive = table
        .adaptive_retransmission
        .then(|| rc::Adaptive { first: table.first_timeout.unwrap_or(usual), tries: table.tries.get() });
    rc::Acceleration { adaptive, slow_restart: table.slow_restart }
}

fn mend(mend: &Mend) -> Ends {
    let when = match mend.dummies_when {
        DummiesWhen::Deferred => When::Deferred,
        DummiesWhen::AtPost => When::AtPost,
    };
    Ends {
        dummies: Dummies { count: mend.dummies(), when, after: mend.dummies_after },
        tail_copies: mend.tail_copies.get(),
        packet_copies: mend.packet_copies.get(),
        check_epsn: mend.check_epsn,
    }
}

fn repeats(mend: &Mend) -> Option<Repeats> {
    let (nak_copies, retransmission_copies) = (mend.nak_copies(), mend.retransmission_copies());
    let registers = mend.registers.get();
    (nak_copies + retransmission_copies > 0).then_some(Repeats {
        nak_copies,
        retransmission_copies,
        registers,
    })
}

fn check_memory(scenario: &Scenario, options: &Options) -> Result<(), BuildError> {
    let Some(max) = options.memory_bytes_max else { return Ok(()) };
    let size = topology::size(scenario);
    let threads = options.threads.max(1) as u64;
    let need = (size.links * 2 * LANE_BYTES + size.hosts * HOST_BYTES) * threads + size.route_bytes();
    if need <= max {
        return Ok(());
    }
    let what = format!(
        "{} hosts and {} links need about {}, and {} are free; choose a smaller topology",
        size.hosts,
        size.links,
        wiremend_units::Bytes::new(need),
        wiremend_units::Bytes::new(max),
    );
    Err(BuildError { place: scenario.topology.place, what, environment: true })
}

fn assign(net: &Network, threads: usize) -> Arc<[u16]> {
    let Plan { components, .. } = net.plan;
    let parts = threads.clamp(1, components.max(1) as usize).min(usize::from(u16::MAX));
    net.plan.assign(&net.graph, parts).into_iter().map(|part| part as u16).collect()
}

fn new_part(
    net: &Arc<Network>,
    owner_of_node: &Arc<[u16]>,
    number: u16,
    count: usize,
    ports: &PortKinds,
) -> Part {
    let graph = &net.graph;
    let sources =
        Sources::new(graph.lane_count() as usize, graph.host_count() as usize, graph.switch_count() as usize);
    let queue = Queue::new(stream_seed(net.seed, purpose::TIES, 0), sources.count(), horizon(net));
    let mut wires = Wires::new(queue, sources, count);
    for lane in graph.lanes() {
        let to = owner_of_node[graph.lane_to(lane).index()];
        wires.add_port(&net.lanes[lane.index()], (to != number).then_some(to));
        let is_switch = graph.lane_from(lane).0 >= graph.host_count();
        if is_switch {
            wires.set_switch(lane);
        }
        if is_switch
            && owner_of_node[graph.lane_from(lane).index()] == number
            && let Some(egress) = ports.egress(lane)
        {
            wires.set_egress(lane, egress);
        }
    }
    Part {
        number,
        net: Arc::clone(net),
        owner_of_node: Arc::clone(owner_of_node),
        wires,
        hosts: graph.hosts().map(|host| Host::new(host, graph.uplink(host))).collect(),
        script: Script::default(),
        tally: Tally::default(),
        repeaters: net
            .transport
            .repeats
            .map(|config| Box::new(Repeaters::new(config, graph.switch_count() as usize))),
        detours: None,
        passage: None,
        balancer: None,
        is_plain: true,
        events: 0,
        sampled: Vec::new(),
        samples: Vec::new(),
        last_sample: Vec::new(),
    }
}

/// How far ahead most events lie: the longest lane and a full frame on the slowest.
fn horizon(net: &Network) -> Span {
    let full = wiremend_units::Bytes::new(u64::from(net.transport.config.mtu) + 100);
    net.lanes.iter().map(|lane| lane.delay + lane.rate.serialize(full)).max().unwrap_or(Span::from_us(1))
}

/// Ports of switches that mark or trim look at what comes to them.
fn judge_arrivals(parts: &mut [Part], net: &Network, owner: impl Fn(LaneId) -> usize) {
    for lane in net.graph.lanes().filter(|lane| net.switch_at(lane.reverse()).is_some()) {
        let wires = &mut parts[owner(lane)].wires;
        if wires.marking.is_some() {
            wires.set_marking(lane);
        }
        if wires.trimming.is_some() {
            wires.set_trimming(lane);
        }
    }
}

/// Marks what an observer wants to see. A port that is watched settles a departure when it happens, so that what is
/// seen comes in the order of time and nothing is seen that the end of the run forestalls.
fn watch(
    parts: &mut [Part],
    net: &Network,
    options: &Options,
    ports: &PortKinds,
    owner: impl Fn(LaneId) -> usize,
) {
    let lanes = net.graph.lane_count() as usize;
    let mark = |wires: &mut Wires, lane: LaneId| {
        wires.watch(lane);
        if net.switch_at(lane.reverse()).is_some() {
            wires.set_egress(lane, ports.settling(lane));
        }
    };
    for link in &options.captures {
        for lane in [link.forward(), link.backward()] {
            let wires = &mut parts[owner(lane)].wires;
            mark(wires, lane);
            wires.watch.capture(lane, lanes);
        }
    }
    if let Some(flow) = options.trace {
        assert_eq!(parts.len(), 1, "a flow is traced by one thread");
        let wires = &mut parts[0].wires;
        let ends =
            net.graph.lanes().map(|lane| (net.graph.lane_from(lane), net.graph.lane_to(lane))).collect();
        net.graph.lanes().for_each(|lane| mark(wires, lane));
        wires.watch.trace(flow, ends);
    }
}
