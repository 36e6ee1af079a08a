//! Which columns the tables of a request have.

use wiremend_report::{Contents, Need};
use wiremend_scenario::{
    App, Congestion, Operation, Pace, Protocol, Recovery, Scenario, Shape, Window, Workload,
};

/// Returns what at least one of the scenarios has.
pub(crate) fn contents<'a>(scenarios: impl Iterator<Item = &'a Scenario>) -> Contents {
    scenarios.map(contents_of).fold(Contents::default(), Contents::and)
}

fn contents_of(scenario: &Scenario) -> Contents {
    let switch = &scenario.switch;
    Contents::default()
        .with(Need::Tcp, scenario.uses_protocol(Protocol::Tcp))
        .with(Need::Paths, has_paths(scenario))
        .with(Need::Marks, switch.ecn.is_some())
        .with(Need::Trims, switch.trim.is_some())
        .with(Need::Pauses, switch.lossless.is_some())
        .with(Need::Protection, !scenario.protects.is_empty())
        .with(Need::Failures, !scenario.fails.is_empty())
        .with(Need::Rates, has_rates(scenario))
        .with(Need::Windows, has_windows(scenario))
}

fn has_rates(scenario: &Scenario) -> bool {
    let transport = &scenario.transport;
    let has_own_window = matches!(transport.congestion.value, Congestion::Swift);
    scenario.uses_protocol(Protocol::Rdma)
        && !has_own_window
        && (transport.congestion.value != Congestion::None || transport.rate != Pace::Line)
}

fn has_windows(scenario: &Scenario) -> bool {
    let transport = &scenario.transport;
    let adapts = matches!(transport.congestion.value, Congestion::Swift | Congestion::Registered(_))
        || matches!(transport.recovery.value, Recovery::MpRdma | Recovery::Registered(_));
    let is_limited = transport.window != Window::Unlimited && transport.operation != Operation::Read;
    let is_pulled = matches!(transport.recovery.value, Recovery::Ndp);
    scenario.uses_protocol(Protocol::Tcp)
        || scenario.uses_protocol(Protocol::Rdma) && !is_pulled && (adapts || is_limited)
}

/// Whether the packets of some flows all take one path.
fn has_paths(scenario: &Scenario) -> bool {
    if !scenario.routes.is_empty() || !scenario.fails.is_empty() {
        return false;
    }
    let has_one_path = matches!(scenario.topology.shape, Shape::Pair(_) | Shape::Chain(_));
    let stays = |workload: &Workload| {
        let transport = &scenario.transport;
        !matches!(workload.app, App::PingPong(_) | App::Cbr(_))
            && match workload.protocol_in(transport) {
                Protocol::Tcp => workload.subflows_in(transport) == 1,
                Protocol::Rdma => {
                    !matches!(transport.recovery.value, Recovery::MpRdma | Recovery::Registered(_))
                }
            }
    };
    has_one_path
        || !scenario.switch.balance.reorders() && scenario.workloads.iter().any(|workload| stays(workload))
}
