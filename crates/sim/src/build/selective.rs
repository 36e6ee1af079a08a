//! The recovery engine of RDMA connections, from a scenario.

use wiremend_proto::{rc, sr};
use wiremend_scenario::{Placed, Recovery, SelectiveRepeat, Tracking, Transport, Within};
use wiremend_units::Span;

use super::longest_path::LongestPath;
use super::window::windows;
use super::{BuildError, trim_transport};
use crate::network::{Engine, Network};
use crate::registry::Registry;

pub(super) fn engine(
    transport: &Placed<Transport>,
    net: &Network,
    registry: &Registry,
) -> Result<Engine, BuildError> {
    let scheme = match &transport.recovery.value {
        Recovery::GoBackN | Recovery::GoBack0 => return Ok(Engine::GoBack),
        Recovery::SelectiveRepeat => sr::Scheme::Irn,
        Recovery::TimeoutOnly => sr::Scheme::TimeoutOnly,
        Recovery::RackTlp => sr::Scheme::RackTlp,
        Recovery::MpRdma => sr::Scheme::MpRdma,
        Recovery::Dcp | Recovery::Ndp | Recovery::Cp => return trim_transport::engine(transport, net),
        Recovery::Registered(registered) => sr::Scheme::Custom(
            registry.make_recovery(registered).map_err(BuildError::setting(transport.recovery.place))?,
        ),
    };
    let table = transport.selective_repeat.as_ref().map(|table| table.value).unwrap_or_default();
    let config = configure(transport, &table, &scheme, net);
    let place = transport.selective_repeat.as_ref().map_or(transport.place, |table| table.place);
    config.check().map_err(|error| BuildError::at(place, error.to_string()))?;
    Ok(Engine::Selective(Box::new(config)))
}

fn configure(
    transport: &Transport,
    table: &SelectiveRepeat,
    scheme: &sr::Scheme,
    net: &Network,
) -> sr::Config {
    let longest = LongestPath::find(net);
    let windows = windows(transport, &longest);
    let window = windows.most.min(sr::Config::WINDOW_MAX);
    let base = rc::Config { window, ..net.transport.config.clone() };
    let usual = sr::Config::new(scheme.clone(), base);
    let at_least = |usual: Span, trips: u64| usual.max(longest.round_trip * trips);
    let (low, high) = match scheme {
        sr::Scheme::TimeoutOnly => (at_least(usual.rto_low, 13), at_least(usual.rto_high, 13)),
        _ => (at_least(usual.rto_low, 4), at_least(usual.rto_high, 13)),
    };
    let rto_low = table.rto_low.unwrap_or_else(|| low.min(table.rto_high.unwrap_or(Span::from_ps(u64::MAX))));
    sr::Config {
        rto_low,
        rto_high: table.rto_high.unwrap_or(high).max(rto_low),
        rto_low_packets: table.rto_low_packets.map_or(usual.rto_low_packets, Within::get),
        backoff: table.backoff.unwrap_or(usual.backoff),
        tracking: match table.tracking {
            None | Some(Tracking::Bitmap) => sr::TrackingKind::Bitmap,
            Some(Tracking::LinkedChunks) => sr::TrackingKind::LinkedChunks,
        },
        tracked_packets: table.tracked.map_or(usual.tracked_packets, Within::get),
        initial_window: windows.first.min(sr::Config::WINDOW_MAX),
        lag_max: table.lag.map_or(usual.lag_max, Within::get),
        path_count: table.paths.map_or(usual.path_count, Within::get),
        ..usual
    }
}
