//! Copies follow the loss, and protection steps down when there is too much of it.

use wiremend_proto::link::{Config, CopyCount, LossRate, Signal, Stance};
use wiremend_testkit::{Dice, Ending, LinkPair, Passing, Side};
use wiremend_units::{Bytes, Rate, Span};

const LEN: u32 = 200;
/// Frames that are handed over at once, at most.
const CHUNK: usize = 100_000;

fn measured_pair() -> LinkPair {
    let config = Config {
        copies: CopyCount::Measured(LossRate::parts_per_trillion(10_000_000)),
        ..Config::for_link(Rate::gbps(100), Bytes::new(LEN.into()), Span::from_us(2))
    };
    super::active_pair(config)
}

fn send_with_loss(pair: &mut LinkPair, frames: usize, loss_ppm: u32) {
    let mut dice = Dice::new(u64::from(loss_ppm));
    let mut loses = |passing: &Passing| passing.from == Side::A && dice.chance_ppm(loss_ppm);
    for _ in 0..frames.div_ceil(CHUNK) {
        pair.send(Side::A, frames.min(CHUNK), LEN, true);
        assert_eq!(pair.run(&mut loses), Ending::Idle);
    }
}

/// LG Eq. 2, for a target of 1e-8.
#[test]
fn copies_follow_the_loss_that_is_measured() {
    let mut pair = measured_pair();
    assert_eq!(pair.endpoint(Side::A).copies(), 1, "1e-5 is assumed");
    send_with_loss(&mut pair, 100_000, 1000);
    assert_eq!(pair.endpoint(Side::A).copies(), 2);
    let loss = pair.endpoint(Side::A).loss().expect("it was measured").as_parts_per_trillion();
    assert!((600_000_000..1_700_000_000).contains(&loss), "{loss}");
    send_with_loss(&mut pair, 60_000, 8000);
    assert_eq!(pair.endpoint(Side::A).copies(), 3);
    assert_eq!(pair.endpoint(Side::A).stance(), Stance::Ordered);
}

#[test]
fn fewer_copies_are_sent_when_less_is_lost() {
    let mut pair = measured_pair();
    send_with_loss(&mut pair, 100_000, 1000);
    send_with_loss(&mut pair, 1_000_000, 5);
    assert_eq!(pair.endpoint(Side::A).copies(), 1);
}

/// LG §5.
#[test]
fn order_is_given_up_when_copies_cannot_reach_the_target() {
    let mut pair = measured_pair();
    send_with_loss(&mut pair, 20_000, 40_000);
    assert_eq!(pair.endpoint(Side::A).stance(), Stance::NonBlocking);
    assert_eq!(pair.counters(Side::A).fallbacks, 1);
    send_with_loss(&mut pair, 1_200_000, 100);
    assert_eq!(pair.endpoint(Side::A).stance(), Stance::Ordered);
}

#[test]
fn protection_is_given_up_when_copies_would_take_the_link() {
    let mut pair = measured_pair();
    send_with_loss(&mut pair, 40_000, 300_000);
    assert_eq!(pair.endpoint(Side::A).stance(), Stance::PassThrough);
    assert!(!pair.endpoint(Side::A).is_active());
    let sender = pair.counters(Side::A);
    assert_eq!(sender.fallbacks, 2);
    // Later, traffic finds the link mended.
    pair.order_after(Span::from_ms(200), Side::A, wiremend_testkit::Order::Send { len: LEN, ordered: true });
    assert_eq!(pair.run(|_| false), Ending::Idle);
    send_with_loss(&mut pair, 1_200_000, 100);
    assert_eq!(pair.endpoint(Side::A).stance(), Stance::Ordered);
    assert!(pair.endpoint(Side::A).is_active());
}

/// Whatever is asked for, copies keep to their share of the link, but for a burst at first.
#[test]
fn copies_keep_to_their_share() {
    let mut pair = measured_pair();
    pair.send(Side::A, 50_000, LEN, true);
    let mut dice = Dice::new(3);
    let start = pair.now();
    let (mut fresh, mut again) = (0_u64, 0);
    let ending = pair.run(|passing| {
        match passing.signal {
            Some(Signal::Data { again: true, .. }) => again += 1,
            Some(Signal::Data { again: false, .. }) => fresh += 1,
            _ => {}
        }
        passing.from == Side::A && dice.chance_ppm(250_000)
    });
    assert_eq!(ending, Ending::Idle);
    let share = pair.config().rate.bytes_in(pair.now().since(start)).get() / 4;
    let burst = 64 * pair.config().frame_bytes_max.get();
    let copied = again * u64::from(LEN);
    assert!(again > fresh / 8 && copied <= share + burst, "{again} copies of {fresh}, {copied} > {share} B");
}
