//! SYN handshake.

use wiremend_proto::tcp::Config;
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_testkit::Direction::Forward;
use wiremend_testkit::Side::A;
use wiremend_units::Span;

use super::{config, connect, data, lengths, send};

/// The handshake takes one round trip and gives a round-trip sample.
#[test]
fn handshake_takes_a_round_trip() {
    let run = |handshake| {
        let mut pair = connect(Config { handshake, ..config(Algorithm::Reno) });
        send(&mut pair, 1_000);
        pair
    };
    let (with, without) = (run(true), run(false));
    let more = with.now().since(without.now());
    assert!((20..22).contains(&(more.as_ns() / 1_000)), "{more}");
    assert!(with.sender().srtt().is_some_and(|srtt| srtt < Span::from_us(22)));
    assert!(data(&with.sent(Forward)[0]).syn && with.sent(Forward).len() == 2);
}

/// RFC 6298 §2.1: without a round-trip sample, a lost SYN is retransmitted after 1 s.
#[test]
fn lost_syn_is_retransmitted_after_a_second() {
    let mut pair = connect(Config { handshake: true, ..config(Algorithm::Reno) }).drop_nth(Forward, [1]);
    send(&mut pair, 1_000);
    assert_eq!(pair.sent(Forward)[1].at.as_ns(), 1_000_000_000);
    assert_eq!((lengths(&pair).as_slice(), pair.requester(A).timeouts), (&[1_000][..], 1));
}
