//! Settings of trimmable transports, from a scenario.

use wiremend_proto::dcp::{Config, FlowControl, LossHints, Parameters, RetransFetch, Tracking};
use wiremend_proto::rc;
use wiremend_scenario::{
    Dcp, DcpRetransmit, DcpTracking, Placed, Recovery, RecoveryFamily, Scenario, Transport, Within,
};
use wiremend_units::Span;

use super::BuildError;
use super::longest_path::LongestPath;
use super::window::windows;
use crate::network::{Engine, Network};

/// Default of the fallback timer: the longer of this time and this number of round trips.
const TIMEOUT: Span = Span::from_ms(8);
const ROUND_TRIPS: u64 = 4;

pub(super) fn engine(transport: &Placed<Transport>, net: &Network) -> Result<Engine, BuildError> {
    let table = transport.dcp.as_ref().map(|table| table.value).unwrap_or_default();
    let longest = LongestPath::find(net);
    let window = windows(transport, &longest).most.min(rc::Config::WINDOW_MAX);
    let timeout = table.timeout.unwrap_or_else(|| TIMEOUT.max(longest.round_trip * ROUND_TRIPS));
    let base = rc::Config { window, timeout: Some(timeout), ..net.transport.config.clone() };
    let config = Config { base, parameters: parameters(&transport.recovery, &table, window) };
    let place = transport.dcp.as_ref().map_or(transport.place, |table| table.place);
    config.check().map_err(|what| BuildError::at(place, what))?;
    Ok(Engine::Trimming(Box::new(config)))
}

fn parameters(scheme: &Recovery, table: &Dcp, window: u32) -> Parameters {
    let usual = match scheme {
        Recovery::Ndp => Parameters::ndp(table.burst.map_or(window, Within::get)),
        Recovery::Cp => Parameters::cp(table.latency),
        _ => Parameters {
            fetch: RetransFetch {
                pcie_round_trip: table.pcie,
                batch: table.batch.get(),
                per_header: table.retransmit == DcpRetransmit::PerHeader,
            },
            flow_control: FlowControl::Window,
            units_max: table.units.get(),
            ..Parameters::DCP
        },
    };
    let packets = table.tracked.map_or_else(
        || match usual.tracking {
            Tracking::Bitmap { packets } | Tracking::Chunks { packets } => packets,
            Tracking::Counter | Tracking::Sums => window.saturating_mul(2).min(1 << 22),
        },
        Within::get,
    );
    let tracking = match (table.tracking, usual.tracking) {
        (None, Tracking::Bitmap { .. }) | (Some(DcpTracking::Bitmap), _) => Tracking::Bitmap { packets },
        (Some(DcpTracking::LinkedChunks), _) => Tracking::Chunks { packets },
        (Some(DcpTracking::Counter), _) => Tracking::Counter,
        (None | Some(DcpTracking::Sums), _) => Tracking::Sums,
    };
    let hints = (table.allowance.is_some() || table.probe.is_some()).then(|| LossHints {
        reorder_allowance: table.allowance.map_or(u32::MAX, Within::get),
        probe_after: table.probe,
    });
    let unit_packets = table.unit.map_or(usual.unit_packets, Within::get);
    Parameters { tracking, hints, unit_packets, ..usual }
}

/// Returns a remark if the fallback timer is shorter than the base round trip.
pub(super) fn note_short_timeout(scenario: &Scenario, net: &Network) -> Option<String> {
    let table = scenario.transport.dcp.as_ref()?;
    let timeout =
        table.value.timeout.filter(|_| scenario.transport.recovery.family() == RecoveryFamily::Trimming)?;
    let round_trip = LongestPath::find(net).round_trip;
    (timeout < round_trip).then(|| {
        format!("the timer of {timeout} is shorter than the base round trip ({round_trip}), so it fires without a loss; raise transport.dcp.timeout")
    })
}

/// Returns a remark if the transport needs trimming switches and there are none.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let waits = scenario.transport.recovery.family() == RecoveryFamily::Trimming;
    (waits && scenario.switch.trim.is_none()).then(|| {
        let name = scenario.transport.recovery.name();
        format!("no switch trims packets, so {name} recovers losses only by its timer; add [switch.trim]")
    })
}
