//! Validation of a scenario against its network. All rejections happen here, with their place in the file.

use std::sync::Arc;

use wiremend_fabric::NetworkSize;
use wiremend_impair::Impairments;
use wiremend_measure::{JobPlan, Terms};
use wiremend_proto::pfc::Buffer;
use wiremend_proto::rc;
use wiremend_scenario::Scenario;
use wiremend_units::{Bytes, HostId, LaneId, SwitchId};

use super::longest_path::LongestPath;
use super::{
    BuildError, Files, Options, balance, buffer, collective, congestion, fail, impair, lossless, nic_profile,
    pause, protect, route, selective, tcp, terms, topology, transport, trim_switch, trim_transport, window,
    workload,
};
use crate::app::PlacedApp;
use crate::engine::MemoryLimit;
use crate::network::{Latencies, Network};
use crate::port::PortPause;
use crate::switch::ForwardingEntry;

pub(super) struct ValidScenario {
    pub(super) net: Arc<Network>,
    /// Memory limit for frames and flows in flight.
    pub(super) memory: MemoryLimit,
    pub(super) apps: Vec<(HostId, PlacedApp)>,
    pub(super) impairments: Vec<(LaneId, Impairments)>,
    pub(super) protection: protect::Protection,
    /// The lane with `tilted` losses.
    pub(super) tilted: Option<LaneId>,
    pub(super) pauses: Vec<PortPause>,
    /// Buffer bytes of each switch: per port, or shared if the switch is lossless.
    pub(super) buffer_sizes: Vec<Option<Bytes>>,
    pub(super) buffers: Vec<(SwitchId, Buffer)>,
    pub(super) forwarding_entries: Vec<(SwitchId, ForwardingEntry)>,
    pub(super) trim: Option<trim_switch::TrimPlan>,
    /// Lanes of the time series.
    pub(super) sampled: Vec<LaneId>,
    pub(super) jobs: Vec<JobPlan>,
    /// Remarks for readers of the results.
    pub(super) notes: Vec<String>,
    /// What the variant has beside its recovery scheme.
    pub(super) terms: Terms,
}

/// Approximate bytes of state per lane and host, to reject topologies that cannot fit.
const LANE_BYTES: u64 = 400;
const HOST_BYTES: u64 = 1_500;
/// Worst-case bytes of a frame in flight: its slot, its ring entry, and the old copies of both while they
/// double.
const FRAME_BYTES: u64 = 256;
/// Bytes of a flow in flight: a connection at both ends, or an entry in a shared one.
const FLOW_BYTES: u64 = 1_400;
const SHARED_FLOW_BYTES: u64 = 300;
const TCP_FLOW_BYTES: u64 = 4_000;

pub(super) fn validate(
    scenario: &Scenario,
    files: &dyn Files,
    options: &Options,
) -> Result<ValidScenario, BuildError> {
    check_memory(scenario, options)?;
    let mut net = network(scenario, options)?;
    nic_profile::apply(scenario, files, &mut net.transport)?;
    let memory = memory(scenario, options, &net);
    let apps = workload::place(scenario, files, &net, memory, &options.registry)?;
    let impairments = impair::place(scenario, files, &net, &options.registry)?;
    let protection = protect::place(scenario, &net)?;
    let is_protected = |lane| protection.ends.contains_key(&lane);
    impair::check_scripts(scenario, &net, is_protected)?;
    let tilted = impair::tilted(scenario, &net, is_protected)?;
    let pauses = pause::place(scenario, &net)?;
    let buffer_sizes = buffer::switch_buffers(scenario, &net.graph)?;
    let buffers = lossless::place(scenario, &net, &buffer_sizes, &protection.late_bytes)?;
    let forwarding_entries = route::place(scenario, &net.graph)?;
    let mut notes = notes(scenario, &net);
    let trim = trim_switch::plan(scenario, &net, &buffer_sizes, &mut notes)?;
    let terms = terms::terms(scenario, &net, &buffer_sizes, trim.as_ref());
    let sampled = sampled(scenario, &net)?;
    let jobs = collective::jobs(scenario)?;
    Ok(ValidScenario {
        net: Arc::new(net),
        memory,
        apps,
        impairments,
        protection,
        tilted,
        pauses,
        buffer_sizes,
        buffers,
        forwarding_entries,
        trim,
        sampled,
        jobs,
        notes,
        terms,
    })
}

/// Returns the network and its transport settings.
pub(super) fn network(scenario: &Scenario, options: &Options) -> Result<Network, BuildError> {
    let graph = topology::graph(scenario)?;
    let topology = &scenario.topology;
    let latencies = Latencies {
        switch: topology.switch_latency,
        host_tx: topology.host_tx_latency,
        host_rx: topology.host_rx_latency,
    };
    let mut net =
        Network::new(graph, latencies, transport::transport(scenario, &options.registry)?, options.seed);
    net.failures = fail::place(scenario, &net.graph, options.seed)?.map(Arc::new);
    net.balanced = scenario.switch.balance.reorders();
    let windows = window::windows(&scenario.transport, &LongestPath::find(&net));
    net.transport.config.window = windows.most.min(rc::Config::WINDOW_MAX);
    net.transport.engine = selective::engine(&scenario.transport, &net, &options.registry)?;
    net.transport.tcp = tcp::tcp(scenario, &net)?;
    if net.transport.needs.path {
        net.transport.longest_round_trip = LongestPath::find(&net).round_trip;
    }
    Ok(net)
}

fn memory(scenario: &Scenario, options: &Options, net: &Network) -> MemoryLimit {
    MemoryLimit {
        bytes_max: options.memory_bytes_max.unwrap_or(u64::MAX),
        frame_bytes: FRAME_BYTES,
        flow_bytes: match (net.transport.per_pair, &net.transport.tcp) {
            (true, _) => SHARED_FLOW_BYTES,
            (false, None) => FLOW_BYTES,
            (false, Some(_)) => TCP_FLOW_BYTES * u64::from(scenario.subflows_max()),
        },
    }
}

/// Returns the lanes of the time series.
fn sampled(scenario: &Scenario, net: &Network) -> Result<Vec<LaneId>, BuildError> {
    let Some(series) = &scenario.series else { return Ok(Vec::new()) };
    let links = topology::links(&net.graph, &series.links.value)
        .map_err(|what| BuildError::at(series.links.place, what))?;
    Ok(links.into_iter().flat_map(|link| [link.forward(), link.backward()]).collect())
}

/// Returns remarks for readers of the results.
fn notes(scenario: &Scenario, net: &Network) -> Vec<String> {
    let of_net = [
        trim_transport::note_short_timeout(scenario, net),
        congestion::note_unreachable_target(&scenario.transport, net),
        tcp::note(scenario, net),
    ];
    let notes = [balance::note(scenario), trim_transport::note(scenario)].into_iter().chain(of_net);
    notes.flatten().collect()
}

/// Returns the memory of a network on this number of threads, before frames and flows.
fn size_bytes(size: &NetworkSize, threads: usize) -> u64 {
    let nodes =
        (size.links.saturating_mul(2 * LANE_BYTES)).saturating_add(size.hosts.saturating_mul(HOST_BYTES));
    nodes.saturating_mul(threads.max(1) as u64).saturating_add(size.route_bytes())
}

/// Returns the memory that a run on one thread needs for its network and for frames and flows in flight.
pub fn memory_estimate(scenario: &Scenario, frames: u64, flows: u64) -> u64 {
    let in_flight = frames.saturating_mul(FRAME_BYTES).saturating_add(flows.saturating_mul(FLOW_BYTES));
    size_bytes(&topology::size(scenario), 1).saturating_add(in_flight)
}

fn check_memory(scenario: &Scenario, options: &Options) -> Result<(), BuildError> {
    let Some(max) = options.memory_bytes_max else { return Ok(()) };
    let size = topology::size(scenario);
    let need = size_bytes(&size, options.threads);
    if need <= max {
        return Ok(());
    }
    let what = format!(
        "{} hosts and {} links need about {} of memory and {} are free; choose a smaller topology",
        size.hosts,
        size.links,
        Bytes::new(need),
        Bytes::new(max),
    );
    Err(BuildError { place: scenario.topology.place, what, environment: true })
}
