//! The buffer of each switch.

use wiremend_fabric::Graph;
use wiremend_scenario::{Scenario, SwitchSet};
use wiremend_units::{Bytes, SwitchId};

use super::BuildError;

/// Returns the buffer bytes of each switch: per port, or shared if the switch is lossless. `None`: no limit.
pub(super) fn switch_buffers(scenario: &Scenario, graph: &Graph) -> Result<Vec<Option<Bytes>>, BuildError> {
    let usual = match &scenario.switch.lossless {
        Some(lossless) => Some(lossless.buffer),
        None => scenario.topology.buffer.max(),
    };
    let mut buffers = vec![usual; graph.switch_count() as usize];
    for entry in &scenario.switch.buffers {
        let selected = switches(graph, &entry.switches.value)
            .map_err(|what| BuildError::at(entry.switches.place, what))?;
        for switch in selected {
            buffers[switch.index()] = Some(entry.bytes);
        }
    }
    Ok(buffers)
}

/// Returns the switches that a scenario selects.
pub(super) fn switches(graph: &Graph, set: &SwitchSet) -> Result<Vec<SwitchId>, String> {
    let has_hosts = |switch: &SwitchId| {
        let ports = graph.ports(graph.switch_node(*switch));
        ports.iter().any(|lane| graph.lane_to(*lane).0 < graph.host_count())
    };
    match set {
        SwitchSet::Edge => Ok(graph.switches().filter(has_hosts).collect()),
        SwitchSet::Core => {
            let core: Vec<_> = graph.switches().filter(|switch| !has_hosts(switch)).collect();
            if core.is_empty() {
                Err("every switch has hosts, so there is no core; name the switches".to_owned())
            } else {
                Ok(core)
            }
        }
        SwitchSet::Named(names) => names.iter().map(|name| by_name(graph, name)).collect(),
    }
}

fn by_name(graph: &Graph, name: &str) -> Result<SwitchId, String> {
    let found = graph.node_by_name(name).and_then(|node| node.0.checked_sub(graph.host_count()));
    found.map(SwitchId).ok_or_else(|| {
        let names: Vec<_> = graph.switches().map(|switch| graph.name(graph.switch_node(switch))).collect();
        wiremend_units::unknown_name("switch", name, &names)
    })
}
