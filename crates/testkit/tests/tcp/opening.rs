//! Before the first byte.

use wiremend_proto::engine::Requester as _;
use wiremend_proto::tcp::Config;
use wiremend_proto::tcp::cc::Algorithm;
use wiremend_units::Span;

use crate::config;
use crate::pair::Pair;

/// The handshake takes a round trip, and measures it.
#[test]
fn a_handshake_takes_a_round_trip() {
    let run = |handshake| {
        let mut pair = Pair::new(Config { handshake, ..config(Algorithm::Reno) });
        pair.post(1_000);
        assert!(pair.run());
        pair
    };
    let (with, without) = (run(true), run(false));
    let more = with.now.since(without.now);
    assert!((20..22).contains(&(more.as_ns() / 1_000)), "{more}");
    assert!(with.sender.srtt().is_some_and(|srtt| srtt < Span::from_us(22)));
    assert!(with.sent[0].data.syn && with.sent.len() == 2);
}

/// RFC 6298 §2.1: nothing is known of the round trip, so that a lost SYN takes a second.
#[test]
fn a_lost_syn_takes_a_second() {
    let mut pair = Pair::new(Config { handshake: true, ..config(Algorithm::Reno) }).drop_nth(&[1]);
    pair.post(1_000);
    assert!(pair.run());
    assert_eq!(pair.sent[1].at.as_ns(), 1_000_000_000);
    assert_eq!((pair.messages.as_slice(), pair.sender.counters().timeouts), (&[1_000][..], 1));
}
