//! Trimming transports end to end, over a wire that trims, loses, duplicates and reorders.

mod corruption;
mod ndp_and_cp;
mod outage;
mod paced;
mod reads;
mod swarm;
mod tracking;
mod trimming;

use wiremend_proto::dcp::{Config, Data, Packet, Parameters, RetransFetch};
use wiremend_proto::rc;
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::{Fate, Pair, Random, SentPacket};
use wiremend_units::{Span, Time};

/// Far above the round trip, so that it never expires without a loss.
const TIMEOUT: Span = Span::from_us(200);

/// MTU 256 and entries without a fetch delay, so that tests are short.
fn config(dcp: Parameters) -> Config {
    let fetch = RetransFetch { pcie_round_trip: Span::ZERO, ..dcp.fetch };
    let base = rc::Config { mtu: 256, timeout: Some(TIMEOUT), window: 64, ..rc::Config::default() };
    Config { base, parameters: Parameters { fetch, ..dcp } }
}

/// Changes the base parameters.
fn with_base(config: Config, change: impl FnOnce(&mut rc::Config)) -> Config {
    let mut config = config;
    change(&mut config.base);
    config
}

fn data(sent: &SentPacket<Packet>) -> Data {
    let Packet::Data(data) = sent.packet else { unreachable!("a requester sends data") };
    data
}

/// Trims a packet, as a switch does.
fn trim(sent: &SentPacket<Packet>) -> Fate<Packet> {
    Fate::Altered(Packet::Data(data(sent).trimmed()))
}

/// Trims this many of a million packets.
fn trim_ppm(pair: Pair<Config>, ppm: u32, seed: u64) -> Pair<Config> {
    let mut random = Random::new(seed);
    pair.fate(Forward, move |sent| if random.chance_ppm(ppm) { trim(sent) } else { Fate::Arrives })
}

/// Loses everything in both directions during this time.
fn with_outage(pair: Pair<Config>, from: Time, to: Time) -> Pair<Config> {
    let rule = move |sent: &SentPacket<_>| (from..to).contains(&sent.at);
    pair.fate(Forward, rule).fate(Backward, rule)
}
