//! Transports over switches that cut payloads off, end to end over a wire that cuts, loses, doubles and overtakes.

mod corruption;
mod cuts;
mod pair;
mod relatives;
mod swarm;
mod tracking;

use wiremend_proto::dcp::{Fetch, Parameters};
use wiremend_proto::rc::Config;
use wiremend_units::Span;

/// Far above the round trip, so that it never fires without a loss.
const TIMEOUT: Span = Span::from_us(200);

/// MTU 256 and entries at hand, so that stories are short.
fn config(dcp: Parameters) -> Config {
    let fetch = Fetch { round_trip: Span::ZERO, ..dcp.fetch };
    Config {
        mtu: 256,
        timeout: Some(TIMEOUT),
        window: 64,
        dcp: Parameters { fetch, ..dcp },
        ..Config::default()
    }
}
