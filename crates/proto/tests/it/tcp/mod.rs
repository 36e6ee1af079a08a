//! TCP, end to end, on a fake clock.

mod allocation;
mod control;
mod losses;
mod multipath;
mod opening;
mod receiver;
mod swarm;
mod timers;

use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Config, Data, Segment};
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Ending, Pair, Protocol, Sighting};
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

/// 10 µs each way, and a microsecond for a full segment.
fn connect(config: Config) -> Pair<Config> {
    connect_over(config, Span::from_us(10), Span::from_us(1))
}

fn connect_over(config: Config, delay: Span, spacing: Span) -> Pair<Config> {
    Pair::new(config).delay(delay).spacing(Forward, spacing).spacing(Backward, spacing)
}

fn data(sighting: &Sighting<Segment>) -> Data {
    let Segment::Data(data) = sighting.packet else { unreachable!("a sender sends data") };
    data
}

/// Sends a message, and runs until nothing is left to do.
#[track_caller]
fn send<P: Protocol>(pair: &mut Pair<P>, len: u32) {
    pair.send(A, len);
    assert_eq!(pair.run_until_idle(), Ending::Idle);
}

/// Numbers of segments that were sent again.
fn again(pair: &Pair<Config>) -> Vec<u32> {
    pair.sent(Forward).iter().filter(|of| of.again).map(|of| data(of).seq).collect()
}

/// Of the messages that arrived.
fn lengths<P: Protocol>(pair: &Pair<P>) -> Vec<u32> {
    pair.received(B).iter().map(|message| message.len).collect()
}
