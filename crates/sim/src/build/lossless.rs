//! The buffers of lossless switches: what each needs for its ports.

use std::collections::BTreeMap;

use wiremend_proto::pfc::{Alpha, Buffer, Config, PortConfig, Reach, Unworkable};
use wiremend_proto::rc;
use wiremend_scenario::{App, Lossless, Placed, Scenario};
use wiremend_units::{Bytes, LaneId, NodeId, SwitchId};
use wiremend_wire::{Opcode, Quanta};

use super::BuildError;
use super::protect::ADDED_BYTES_MAX;
use crate::network::Network;

/// A buffer for each switch; none if switches are not lossless.
pub(super) fn place(
    scenario: &Scenario,
    net: &Network,
    memories: &[Option<Bytes>],
    late: &BTreeMap<LaneId, Bytes>,
) -> Result<Vec<(SwitchId, Buffer)>, BuildError> {
    let Some(lossless) = &scenario.switch.lossless else { return Ok(Vec::new()) };
    let frame_max = frame_max(scenario, net);
    let alpha = Alpha::from_parts(lossless.alpha.parts())
        .ok_or_else(|| BuildError::at(lossless.place, "`alpha` is more or less than switches have"))?;
    let buffer = |switch: SwitchId| {
        let node = net.graph.switch_node(switch);
        let memory = memories[switch.index()].unwrap_or(lossless.buffer);
        let buffer = Buffer::new(config(lossless, alpha, memory, net, node, frame_max, late));
        Ok((switch, buffer.map_err(|why| refusal(lossless, net.graph.name(node), why))?))
    };
    net.graph.switches().map(buffer).collect()
}

/// `late`: what may come over protected lanes long after it was sent.
fn config(
    lossless: &Lossless,
    alpha: Alpha,
    buffer: Bytes,
    net: &Network,
    node: NodeId,
    frame_max: Bytes,
    late: &BTreeMap<LaneId, Bytes>,
) -> Config {
    let port = |lane: &LaneId| {
        let (out, into) = (&net.lanes[lane.index()], &net.lanes[lane.reverse().index()]);
        let late = late.get(&lane.reverse());
        let added = Bytes::new(if late.is_some() { ADDED_BYTES_MAX } else { 0 });
        let reach = Reach {
            rate: out.rate,
            there: into.delay,
            back: out.delay,
            reaction: lossless.reaction,
            frame_max: frame_max + added,
            copies: lossless.copies.get(),
        };
        let headroom = || late.map_or(reach.headroom(), |late| reach.headroom() + *late);
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

/// The largest frame that anybody sends.
fn frame_max(scenario: &Scenario, net: &Network) -> Bytes {
    let packet = rc::frame_len(Opcode::WriteOnly, scenario.transport.mtu.get());
    let full = packet.max(net.transport.stream_frame_max());
    let loads = scenario.workloads.iter().map(|workload| match &workload.app {
        App::Cbr(cbr) => cbr.frame.get(),
        _ => 0,
    });
    Bytes::new(u64::from(loads.fold(full, u16::max)))
}

fn refusal(lossless: &Placed<Lossless>, switch: &str, why: Unworkable) -> BuildError {
    let remedy = match why {
        Unworkable::Memory { .. } => {
            "give a larger `buffer`, fewer `classes`, or a smaller `headroom` or `reserve`"
        }
        Unworkable::NeverResumes { .. } => "give a smaller `resume_offset`, or a larger `buffer` or `alpha`",
        Unworkable::Ports(_) => "give its hosts several switches",
        Unworkable::ShortPause { .. } => "give larger `quanta`",
    };
    BuildError::at(lossless.place, format!("switch `{switch}`: {why}; {remedy}"))
}
