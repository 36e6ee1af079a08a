//! The terms on which a variant competes, as texts.

use wiremend_measure::Terms;
use wiremend_proto::rc;
use wiremend_scenario::{Protocol, Scenario, spelled};
use wiremend_units::Bytes;

use super::trim_switch::TrimPlan;
use crate::network::{Engine, Network};

pub(super) fn terms(
    scenario: &Scenario,
    net: &Network,
    buffer_sizes: &[Option<Bytes>],
    trim: Option<&TrimPlan>,
) -> Terms {
    let transport = &scenario.transport;
    let uses = |protocol| {
        let own = |workload: &wiremend_scenario::Workload| workload.protocol.unwrap_or(transport.protocol);
        scenario.workloads.iter().any(|workload| own(workload) == protocol)
    };
    let (mut windows, mut controls) = (Vec::new(), Vec::new());
    if uses(Protocol::Rdma) {
        windows.push(rdma_window(net));
        let own = [
            transport.dcqcn.as_ref().map(|table| spelled(&table.value)),
            transport.swift.as_ref().map(|table| spelled(&table.value)),
        ];
        controls.push(spelled(&transport.congestion.value));
        controls.extend(own.into_iter().flatten());
    }
    if uses(Protocol::Tcp) {
        let table = transport.tcp.as_ref().map(|table| table.value).unwrap_or_default();
        windows.push(format!("TCP receives {}", table.receive_window));
        controls.push(format!("TCP {}", spelled(&table.congestion)));
    }
    let buffer = match &scenario.switch.lossless {
        Some(_) => format!("lossless, {} per switch", range(buffer_sizes)),
        None if buffer_sizes.iter().all(Option::is_none) => "unlimited".to_owned(),
        None => format!("{} per port", range(buffer_sizes)),
    };
    Terms {
        window: windows.join(", "),
        buffer,
        trim_threshold: trim.map_or_else(|| "none".to_owned(), TrimPlan::threshold),
        congestion: controls.join(", "),
        balance: spelled(&scenario.switch.balance.value),
    }
}

fn rdma_window(net: &Network) -> String {
    let (packets, most) = match &net.transport.engine {
        Engine::GoBack => (net.transport.config.window, rc::Config::WINDOW_MAX),
        Engine::Selective(config) => (config.base.window, wiremend_proto::sr::Config::WINDOW_MAX),
        Engine::Trimming(config) => (config.base.window, rc::Config::WINDOW_MAX),
    };
    if packets >= most {
        "unlimited".to_owned()
    } else {
        format!("{packets} packets of {} B", net.transport.config.mtu)
    }
}

/// The smallest and the largest buffer; `None` is unlimited.
fn range(sizes: &[Option<Bytes>]) -> String {
    let least = sizes.iter().flatten().min().map_or_else(String::new, Bytes::to_string);
    match sizes.iter().flatten().max().map(Bytes::to_string) {
        _ if sizes.contains(&None) => format!("{least} or more"),
        Some(most) if most != least => format!("{least} to {most}"),
        _ => least,
    }
}
