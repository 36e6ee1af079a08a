//! The buffers of lossless switches.

use std::collections::BTreeMap;

use wiremend_proto::pfc::{Alpha, Buffer, Config, ConfigError, HeadroomParams, PortConfig};
use wiremend_proto::rc;
use wiremend_scenario::{App, Lossless, Placed, Scenario};
use wiremend_units::{Bytes, LaneId, NodeId, SwitchId};
use wiremend_wire::{Opcode, Quanta};

use super::protect::ADDED_BYTES_MAX;
use super::validate::network;
use super::{BuildError, Options, buffer, protect};
use crate::network::Network;

/// Returns a buffer for each switch; empty if switches are not lossless.
pub(super) fn place(
    scenario: &Scenario,
    net: &Network,
    buffer_sizes: &[Option<Bytes>],
    late_bytes: &BTreeMap<LaneId, Bytes>,
) -> Result<Vec<(SwitchId, Buffer)>, BuildError> {
    let Some(lossless) = &scenario.switch.lossless else { return Ok(Vec::new()) };
    let frame_max = frame_max(scenario, net);
    let alpha = Alpha::from_parts(lossless.alpha.parts())
        .ok_or_else(|| BuildError::at(lossless.place, "`alpha` is out of range; expected 1/128 to 8"))?;
    let buffer = |switch: SwitchId| {
        let node = net.graph.switch_node(switch);
        let memory = buffer_sizes[switch.index()].unwrap_or(lossless.buffer);
        let buffer = Buffer::new(config(lossless, alpha, memory, net, node, frame_max, late_bytes));
        Ok((switch, buffer.map_err(|why| config_error(lossless, net.graph.name(node), why))?))
    };
    net.graph.switches().map(buffer).collect()
}

/// Returns the smallest memory that the ports of a switch share, without headroom and reserve; `None` without lossless
/// switches.
pub fn smallest_shared_buffer(scenario: &Scenario, options: &Options) -> Result<Option<Bytes>, BuildError> {
    if scenario.switch.lossless.is_none() {
        return Ok(None);
    }
    let net = network(scenario, options)?;
    let sizes = buffer::switch_buffers(scenario, &net.graph)?;
    let late_bytes = protect::place(scenario, &net)?.late_bytes;
    let buffers = place(scenario, &net, &sizes, &late_bytes)?;
    Ok(buffers.iter().map(|(_, buffer)| buffer.shared_max()).min())
}

/// `late`: bytes that may arrive over protected lanes after a pause, beside the frames in flight.
fn config(
    lossless: &Lossless,
    alpha: Alpha,
    buffer: Bytes,
    net: &Network,
    node: NodeId,
    frame_max: Bytes,
    late_bytes: &BTreeMap<LaneId, Bytes>,
) -> Config {
    let port = |lane: &LaneId| {
        let (out, into) = (&net.lanes[lane.index()], &net.lanes[lane.reverse().index()]);
        let late_bytes = late_bytes.get(&lane.reverse());
        let added = Bytes::new(if late_bytes.is_some() { ADDED_BYTES_MAX } else { 0 });
        let headroom_params = HeadroomParams {
            rate: out.rate,
            inbound_delay: into.delay,
            pause_delay: out.delay,
            reaction: lossless.reaction,
            frame_max: frame_max + added,
            copies: lossless.copies.get(),
        };
        let headroom = || {
            late_bytes
                .map_or(headroom_params.headroom(), |late_bytes| headroom_params.headroom() + *late_bytes)
        };
        let headroom = lossless.headroom.unwrap_or_else(headroom);
        PortConfig { headroom, rate: out.rate, reaction: lossless.reaction }
    };
    Config {
        buffer,
        alpha,
        reserve: lossless.reserve,
        resume_offset: lossless.resume_offset,
        lossless: lossless.mask(),
        quanta: Quanta(lossless.quanta.get()),
        copies: lossless.copies.get(),
        frame_max,
        ports: net.graph.ports(node).iter().map(port).collect(),
    }
}

/// Returns the largest frame that any host sends.
fn frame_max(scenario: &Scenario, net: &Network) -> Bytes {
    let packet = rc::frame_len(Opcode::WriteOnly, scenario.transport.mtu.get());
    let full = packet.max(net.transport.stream_frame_max());
    let loads = scenario.workloads.iter().map(|workload| match &workload.app {
        App::Cbr(cbr) => cbr.frame.get(),
        _ => 0,
    });
    Bytes::new(u64::from(loads.fold(full, u16::max)))
}

fn config_error(lossless: &Placed<Lossless>, switch: &str, why: ConfigError) -> BuildError {
    let remedy = match why {
        ConfigError::Memory { .. } => {
            "give a larger `buffer`, fewer `classes`, or a smaller `headroom` or `reserve`"
        }
        ConfigError::NeverResumes { .. } => "give a smaller `resume_offset`, or a larger `buffer` or `alpha`",
        ConfigError::Ports(_) => "spread its hosts over several switches",
        ConfigError::ShortPause { .. } => "give larger `quanta`",
    };
    BuildError::at(lossless.place, format!("switch `{switch}`: {why}; {remedy}"))
}
