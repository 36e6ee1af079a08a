//! Frames are lost, and come anyway.

use wiremend_proto::link::{Config, CopyCount, Signal};
use wiremend_testkit::{Ending, LinkPair, Order, Passing, Side};
use wiremend_units::{Bytes, Rate, Span};

const LEN: u32 = 1000;

fn config() -> Config {
    let rtt = Span::from_us(2);
    Config { copies: CopyCount::Fixed(2), ..Config::for_link(Rate::gbps(100), Bytes::new(1500), rtt) }
}

fn active_pair() -> LinkPair {
    let mut pair = LinkPair::new(config(), Span::from_us(1));
    pair.order(Side::A, Order::Activate);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    pair
}

fn is_fresh(passing: &Passing, seq: u32) -> bool {
    matches!(passing.signal, Some(Signal::Data { seq: is, again: false, .. }) if is == seq)
}

fn assert_all_in_order(pair: &LinkPair, side: Side, count: u32) {
    assert_eq!(pair.delivered(side), (0..count).collect::<Vec<_>>());
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}

#[test]
fn frames_cross_a_protected_link_in_order() {
    let mut pair = active_pair();
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert_all_in_order(&pair, Side::B, 100);
    assert_eq!(pair.counters(Side::A).protected, 100);
    assert_eq!(pair.counters(Side::B).missed, 0);
}

#[test]
fn a_lost_frame_comes_in_its_place() {
    let mut pair = active_pair();
    pair.send(Side::A, 100, LEN, true);
    assert_eq!(pair.run(|passing| is_fresh(passing, 7)), Ending::Idle);
    assert_all_in_order(&pair, Side::B, 100);
    let (sender, receiver) = (pair.counters(Side::A), pair.counters(Side::B));
    assert_eq!((receiver.missed, receiver.recovered, receiver.lost), (1, 1, 0));
    assert_eq!((sender.resent, receiver.duplicates), (2, 1));
}

/// LG §3.2.
#[test]
fn a_lost_tail_is_shown_by_a_dummy() {
    let mut pair = active_pair();
    let start = pair.now();
    pair.send(Side::A, 3, LEN, true);
    assert_eq!(pair.run(|passing| is_fresh(passing, 2)), Ending::Idle);
    assert_all_in_order(&pair, Side::B, 3);
    assert!(pair.now().since(start) < Span::from_us(6), "{}", pair.now().since(start));
}
