//! TCP between two hosts on a fake clock.

mod allocation;
mod control;
mod handshake;
mod losses;
mod multipath;
mod receiver;
mod swarm;
mod timers;

use wiremend_proto::tcp::cc::Algorithm;
use wiremend_proto::tcp::{Config, Data, Segment};
use wiremend_testkit::Direction::{Backward, Forward};
use wiremend_testkit::Side::{A, B};
use wiremend_testkit::{Pair, Protocol, RunEnd, SentPacket};
use wiremend_units::Span;

/// Segments of 1000 bytes, an ACK for each, and an initial round-trip sample of 21 µs.
fn config(algorithm: Algorithm) -> Config {
    Config {
        mss: 1_000,
        delayed_ack: Span::ZERO,
        rto_min: Span::from_ms(5),
        first_rtt: Some(Span::from_us(21)),
        ..Config::new(algorithm)
    }
}

/// Delay 10 µs each way, 1 µs per full segment.
fn connect(config: Config) -> Pair<Config> {
    connect_over(config, Span::from_us(10), Span::from_us(1))
}

fn connect_over(config: Config, delay: Span, spacing: Span) -> Pair<Config> {
    Pair::new(config).delay(delay).spacing(Forward, spacing).spacing(Backward, spacing)
}

fn data(sent: &SentPacket<Segment>) -> Data {
    let Segment::Data(data) = sent.packet else { unreachable!("a sender sends data") };
    data
}

/// Sends a message and runs until both hosts are idle.
#[track_caller]
fn send<P: Protocol>(pair: &mut Pair<P>, len: u32) {
    pair.send(A, len);
    assert_eq!(pair.run_until_idle(), RunEnd::Idle);
}

fn retransmitted(pair: &Pair<Config>) -> Vec<u32> {
    pair.sent(Forward).iter().filter(|sent| sent.again).map(|sent| data(sent).seq).collect()
}

fn lengths<P: Protocol>(pair: &Pair<P>) -> Vec<u32> {
    pair.received(B).iter().map(|message| message.len).collect()
}
