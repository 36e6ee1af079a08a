//! What a scenario asks for, judged and put into the terms of its network. Every refusal is made here, with its place in the file.

use std::sync::Arc;

use wiremend_impair::Impairments;
use wiremend_measure::JobPlan;
use wiremend_proto::pfc::Buffer;
use wiremend_scenario::Scenario;
use wiremend_units::{Bytes, HostId, LaneId, SwitchId};

use super::longest::Longest;
use super::{
    BuildError, Files, Options, balance, buffer, collective, congestion, impair, lossless, pause, protect,
    route, selective, tcp, topology, transport, trim_switch, trim_transport, workload,
};
use crate::app::Placed;
use crate::engine::{Memory, ScriptedPause};
use crate::network::{Latencies, Network};
use crate::switch::Detour;

/// What a scenario asks for, without anything that moves.
pub(super) struct Valid {
    pub(super) net: Arc<Network>,
    /// What is under way may take so much memory.
    pub(super) memory: Memory,
    pub(super) apps: Vec<(HostId, Placed)>,
    pub(super) impairments: Vec<(LaneId, Impairments)>,
    pub(super) protection: protect::Protection,
    /// The lane whose rare losses are made frequent.
    pub(super) tilted: Option<LaneId>,
    pub(super) pauses: Vec<ScriptedPause>,
    /// By switch: the bytes that each of its ports has or, if it is lossless, that all share.
    pub(super) memories: Vec<Option<Bytes>>,
    /// Of lossless switches.
    pub(super) buffers: Vec<(SwitchId, Buffer)>,
    pub(super) detours: Vec<(SwitchId, Detour)>,
    pub(super) trim: Option<trim_switch::Plan>,
    /// Lanes that a time series wants.
    pub(super) sampled: Vec<LaneId>,
    pub(super) jobs: Vec<JobPlan>,
    /// What a reader of the results should know.
    pub(super) notes: Vec<String>,
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

/// Judges a scenario.
pub(super) fn validate(
    scenario: &Scenario,
    files: &dyn Files,
    options: &Options,
) -> Result<Valid, BuildError> {
    check_memory(scenario, options)?;
    let net = network(scenario, options)?;
    let memory = memory(scenario, options, &net);
    let apps = workload::place(scenario, files, &net, memory, &options.registry)?;
    let impairments = impair::place(scenario, files, &net, &options.registry)?;
    let protection = protect::place(scenario, &net)?;
    let is_protected = |lane| protection.ends.contains_key(&lane);
    impair::check_scripts(scenario, &net, is_protected)?;
    let tilted = impair::tilted(scenario, &net, is_protected)?;
    let pauses = pause::place(scenario, &net)?;
    let memories = buffer::of_switches(scenario, &net.graph)?;
    let buffers = lossless::place(scenario, &net, &memories, &protection.late)?;
    let detours = route::place(scenario, &net.graph)?;
    let mut notes = notes(scenario, &net);
    let trim = trim_switch::plan(scenario, &net, &memories, &mut notes)?;
    let sampled = sampled(scenario, &net)?;
    let jobs = collective::jobs(scenario)?;
    Ok(Valid {
        net: Arc::new(net),
        memory,
        apps,
        impairments,
        protection,
        tilted,
        pauses,
        memories,
        buffers,
        detours,
        trim,
        sampled,
        jobs,
        notes,
    })
}

/// The network, and what connections over it are.
fn network(scenario: &Scenario, options: &Options) -> Result<Network, BuildError> {
    let graph = topology::graph(scenario)?;
    let topology = &scenario.topology;
    let latencies = Latencies {
        switch: topology.switch_latency,
        host_tx: topology.host_tx_latency,
        host_rx: topology.host_rx_latency,
    };
    let mut net =
        Network::new(graph, latencies, transport::transport(scenario, &options.registry)?, options.seed);
    net.balanced = scenario.switch.balance.reorders();
    net.transport.engine = selective::engine(&scenario.transport, &net, &options.registry)?;
    net.transport.tcp = tcp::tcp(scenario, &net)?;
    if net.transport.needs.path {
        net.transport.longest_round_trip = Longest::of(&net).round_trip;
    }
    Ok(net)
}

fn memory(scenario: &Scenario, options: &Options, net: &Network) -> Memory {
    Memory {
        bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
        frame_bytes: FRAME_BYTES,
        flow_bytes: match (net.transport.per_pair, &net.transport.tcp) {
            (true, _) => SHARED_FLOW_BYTES,
            (false, None) => FLOW_BYTES,
            (false, Some(_)) => TCP_FLOW_BYTES * u64::from(scenario.subflows_max()),
        },
    }
}

/// The lanes that a time series wants.
fn sampled(scenario: &Scenario, net: &Network) -> Result<Vec<LaneId>, BuildError> {
    let Some(series) = &scenario.series else { return Ok(Vec::new()) };
    let links = topology::links(&net.graph, &series.links.value)
        .map_err(|what| BuildError::at(series.links.place, what))?;
    Ok(links.into_iter().flat_map(|link| [link.forward(), link.backward()]).collect())
}

/// What a reader should know before the run.
fn notes(scenario: &Scenario, net: &Network) -> Vec<String> {
    let of_net = [
        trim_transport::hasty(scenario, net),
        congestion::unreachable(&scenario.transport, net),
        tcp::note(scenario, net),
    ];
    let notes = [balance::note(scenario), trim_transport::note(scenario)].into_iter().chain(of_net);
    notes.flatten().collect()
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
        Bytes::new(need),
        Bytes::new(max),
    );
    Err(BuildError { place: scenario.topology.place, what, environment: true })
}
