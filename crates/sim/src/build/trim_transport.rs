//! What a scenario says of transports that can be trimmed, as the engine takes it.

use wiremend_proto::dcp::{Config, Fetch, Flow, Hints, Parameters, Tracking};
use wiremend_proto::rc;
use wiremend_scenario::{Dcp, DcpTracking, Family, Placed, Recovery, Scenario, Transport, Within};
use wiremend_units::Span;

use super::BuildError;
use super::longest::Longest;
use crate::network::{Engine, Network};

/// The timer of the last resort, where nobody says anything else: this, or so many round trips.
const TIMEOUT: Span = Span::from_ms(8);
const ROUND_TRIPS: u64 = 4;

/// The engine of all connections.
pub(super) fn engine(transport: &Placed<Transport>, net: &Network) -> Result<Engine, BuildError> {
    let table = transport.dcp.as_ref().map(|table| table.value).unwrap_or_default();
    let longest = Longest::of(net);
    let window = transport.window.max().map_or(longest.packets, Within::get);
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
            fetch: Fetch { round_trip: table.pcie, batch: table.batch.get() },
            flow: Flow::Window,
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
    let hints = (table.allowance.is_some() || table.probe.is_some()).then(|| Hints {
        allowance: table.allowance.map_or(u32::MAX, Within::get),
        probe_after: table.probe,
    });
    let unit_packets = table.unit.map_or(usual.unit_packets, Within::get);
    Parameters { tracking, hints, unit_packets, ..usual }
}

/// What a user should know of a timer that does not wait for answers.
pub(super) fn hasty(scenario: &Scenario, net: &Network) -> Option<String> {
    let table = scenario.transport.dcp.as_ref()?;
    let timeout = table.value.timeout.filter(|_| scenario.transport.recovery.family() == Family::Trimming)?;
    let round_trip = Longest::of(net).round_trip;
    (timeout < round_trip).then(|| {
        format!("a timer of {timeout} is shorter than a round trip of the empty network ({round_trip}), so that it fires though nothing is lost; raise transport.dcp.timeout")
    })
}

/// What a user should know of a transport that waits for headers.
pub(super) fn note(scenario: &Scenario) -> Option<String> {
    let waits = scenario.transport.recovery.family() == Family::Trimming;
    (waits && scenario.switch.trim.is_none()).then(|| {
        let name = scenario.transport.recovery.name();
        format!("no switch cuts packets, so that what {name} loses waits for its timer; add [switch.trim]")
    })
}
