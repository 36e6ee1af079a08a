//! Protected links, from lost frames to restarts of either end.

mod allocation;
mod backpressure;
mod defects;
mod explore;
mod hostile;
mod patterns;
mod protection_level;
mod recovery;
mod start_and_end;
mod swarm;

use wiremend_proto::link::{Config, CopyCount, LinkHeader};
use wiremend_testkit::{LinkCommand, LinkPair, RunEnd, Side, WireFrame};
use wiremend_units::{Bytes, Rate, Span};

const LEN: u32 = 1000;
const DELAY: Span = Span::from_us(1);

fn config() -> Config {
    let config = Config::for_link(Rate::gbps(100), Bytes::new(LEN.into()), DELAY * 2);
    Config { copies: CopyCount::Fixed(2), ..config }
}

/// A pair with protection from A to B.
fn active_pair(config: Config) -> LinkPair {
    let mut pair = LinkPair::new(config, DELAY);
    pair.apply(Side::A, LinkCommand::Activate);
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    pair
}

/// A pair after A has sent `count` ordered frames; `lost` decides on every frame on the wire.
fn transfer(config: Config, count: usize, lost: impl FnMut(&WireFrame) -> bool) -> LinkPair {
    let mut pair = active_pair(config);
    pair.send(Side::A, count, LEN, true);
    assert_eq!(pair.run(lost), RunEnd::Idle);
    pair
}

/// Whether it is the first transmission of a number.
fn is_new(sent: &WireFrame, number: u32) -> bool {
    matches!(sent.signal, Some(LinkHeader::Data { seq, retransmitted: false, .. }) if seq == number)
}

/// Whether it is a transmission of a number, first or repeated.
fn is_data(sent: &WireFrame, number: u32) -> bool {
    matches!(sent.signal, Some(LinkHeader::Data { seq, .. }) if seq == number)
}

fn is_missing(sent: &WireFrame) -> bool {
    matches!(sent.signal, Some(LinkHeader::Missing(_)))
}

/// Checks that B has delivered all frames in order and that no copy is kept.
fn assert_all_in_order(pair: &LinkPair) {
    let all: Vec<_> = (0..pair.frames().len() as u32).collect();
    assert_eq!(pair.delivered(Side::B), all);
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}
