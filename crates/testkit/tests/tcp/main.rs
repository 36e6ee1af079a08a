//! TCP, end to end, on a fake clock.

mod bundle;
#[path = "../common/mod.rs"]
mod common;
mod control;
mod corpus;
mod losses;
mod multipath;
mod opening;
mod pair;
mod receiver;
mod swarm;
mod timers;

use wiremend_proto::tcp::Config;
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_units::Span;

/// Segments of 1000 bytes, every one acknowledged, and a connection that knows its round trip of 22 µs.
fn config(algorithm: Algorithm) -> Config {
    Config {
        mss: 1_000,
        delayed_ack: Span::ZERO,
        rto_min: Span::from_ms(5),
        first_rtt: Some(Span::from_us(21)),
        ..Config::new(algorithm)
    }
}
