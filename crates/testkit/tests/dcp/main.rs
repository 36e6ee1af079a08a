//! Transports over switches that cut payloads off, end to end over a wire that cuts, loses, doubles and overtakes.

#[path = "../common/mod.rs"]
mod common;
mod corruption;
mod cuts;
mod outage;
mod paced;
mod pair;
mod relatives;
mod swarm;
mod tracking;

use wiremend_proto::dcp::{Config, Fetch, Parameters};
use wiremend_proto::rc;
use wiremend_units::Span;

/// Far above the round trip, so that it never fires without a loss.
const TIMEOUT: Span = Span::from_us(200);

/// MTU 256 and entries at hand, so that stories are short.
fn config(dcp: Parameters) -> Config {
    let fetch = Fetch { round_trip: Span::ZERO, ..dcp.fetch };
    let base = rc::Config { mtu: 256, timeout: Some(TIMEOUT), window: 64, ..rc::Config::default() };
    Config { base, parameters: Parameters { fetch, ..dcp } }
}

/// The same with another base.
fn based(config: Config, change: impl FnOnce(&mut rc::Config)) -> Config {
    let mut config = config;
    change(&mut config.base);
    config
}
