//! Protected links, from lost frames to restarts of either end.

mod allocation;
mod backpressure;
mod defects;
mod explore;
mod hostile;
mod patterns;
mod recovery;
mod stance;
mod start_and_end;
mod swarm;

use wiremend_proto::link::{Config, CopyCount, Signal};
use wiremend_testkit::{Ending, LinkPair, Order, Passing, Side};
use wiremend_units::{Bytes, Rate, Span};

/// Of the frames of a story.
const LEN: u32 = 1000;
/// Of the wire, in one direction.
const DELAY: Span = Span::from_us(1);

fn config() -> Config {
    let config = Config::for_link(Rate::gbps(100), Bytes::new(LEN.into()), DELAY * 2);
    Config { copies: CopyCount::Fixed(2), ..config }
}

/// A is protected by B.
fn active_pair(config: Config) -> LinkPair {
    let mut pair = LinkPair::new(config, DELAY);
    pair.order(Side::A, Order::Activate);
    assert_eq!(pair.run(|_| false), Ending::Idle);
    assert!(pair.endpoint(Side::A).is_active());
    pair
}

/// The same, after so many frames in order from A, of which these did not come through at once.
fn sent(config: Config, count: usize, lost: impl FnMut(&Passing) -> bool) -> LinkPair {
    let mut pair = active_pair(config);
    pair.send(Side::A, count, LEN, true);
    assert_eq!(pair.run(lost), Ending::Idle);
    pair
}

/// Whether it is a frame with this number, sent for the first time.
fn is_fresh(passing: &Passing, number: u32) -> bool {
    matches!(passing.signal, Some(Signal::Data { seq, again: false, .. }) if seq == number)
}

/// Whether it is a frame with this number, sent for the first time or again.
fn is_data(passing: &Passing, number: u32) -> bool {
    matches!(passing.signal, Some(Signal::Data { seq, .. }) if seq == number)
}

fn is_missing(passing: &Passing) -> bool {
    matches!(passing.signal, Some(Signal::Missing(_)))
}

/// B has all frames, each in its place, and nobody keeps anything.
fn assert_all_in_order(pair: &LinkPair) {
    let all: Vec<_> = (0..pair.frames().len() as u32).collect();
    assert_eq!(pair.delivered(Side::B), all);
    assert_eq!((pair.handles(Side::A), pair.handles(Side::B)), ((0, 0), (0, 0)));
}
