//! Transports over switches that cut payloads off, end to end over a wire that cuts, loses, doubles and overtakes.

mod corruption;
mod cuts;
mod outage;
mod paced;
mod relatives;
mod swarm;
mod tracking;

use wiremend_proto::dcp::{Config, Data, Fetch, Packet, Parameters};
use wiremend_proto::rc;
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::{Dice, Fate, Pair, Sighting};
use wiremend_units::{Span, Time};

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

fn data(sighting: &Sighting<Packet>) -> Data {
    let Packet::Data(data) = sighting.packet else { unreachable!("a requester sends data") };
    data
}

/// A switch cuts the payload off.
fn cut(sighting: &Sighting<Packet>) -> Fate<Packet> {
    Fate::Altered(Packet::Data(data(sighting).trimmed()))
}

/// Switches cut so many in a million packets.
fn cut_ppm(pair: Pair<Config>, ppm: u32, seed: u64) -> Pair<Config> {
    let mut dice = Dice::new(seed);
    pair.fate(Forward, move |of| if dice.chance_ppm(ppm) { cut(of) } else { Fate::Arrives })
}

/// Everything vanishes, both ways, in this time.
fn dark(pair: Pair<Config>, from: Time, to: Time) -> Pair<Config> {
    let rule = move |of: &Sighting<_>| (from..to).contains(&of.at);
    pair.fate(Forward, rule).fate(Backward, rule)
}
