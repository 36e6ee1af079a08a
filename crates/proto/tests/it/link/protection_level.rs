//! Copies follow the loss rate, and the protection level steps down when it is too high.

use wiremend_proto::link::{Config, CopyCount, LinkHeader, LossRate, ProtectionLevel};
use wiremend_testkit::{LinkPair, Random, RunEnd, Side, WireFrame};
use wiremend_units::{Bytes, Rate, Span};

const LEN: u32 = 200;
const CHUNK: usize = 100_000;

fn measured_pair() -> LinkPair {
    let config = Config {
        copies: CopyCount::Measured(LossRate::from_parts_per_trillion(10_000_000)),
        ..Config::for_link(Rate::gbps(100), Bytes::new(LEN.into()), Span::from_us(2))
    };
    super::active_pair(config)
}

fn send_with_loss(pair: &mut LinkPair, frames: usize, loss_ppm: u32) {
    let mut random = Random::new(u64::from(loss_ppm));
    let mut loses = |sent: &WireFrame| sent.from == Side::A && random.chance_ppm(loss_ppm);
    for _ in 0..frames.div_ceil(CHUNK) {
        pair.send(Side::A, frames.min(CHUNK), LEN, true);
        assert_eq!(pair.run(&mut loses), RunEnd::Idle);
    }
}

/// LG Eq. 2, for a target of 1e-8.
#[test]
fn copies_follow_the_measured_loss() {
    let mut pair = measured_pair();
    assert_eq!(pair.endpoint(Side::A).copies(), 1, "1e-5 is assumed");
    send_with_loss(&mut pair, 100_000, 1000);
    assert_eq!(pair.endpoint(Side::A).copies(), 2);
    let loss = pair.endpoint(Side::A).loss().expect("a measured loss").as_parts_per_trillion();
    assert!((600_000_000..1_700_000_000).contains(&loss), "{loss}");
    send_with_loss(&mut pair, 60_000, 8000);
    assert_eq!(pair.endpoint(Side::A).copies(), 3);
    assert_eq!(pair.endpoint(Side::A).protection_level(), ProtectionLevel::Ordered);
}

#[test]
fn lower_loss_needs_fewer_copies() {
    let mut pair = measured_pair();
    send_with_loss(&mut pair, 100_000, 1000);
    send_with_loss(&mut pair, 1_000_000, 5);
    assert_eq!(pair.endpoint(Side::A).copies(), 1);
}

/// LG §5.
#[test]
fn level_is_non_blocking_if_copies_cannot_reach_the_target() {
    let mut pair = measured_pair();
    send_with_loss(&mut pair, 20_000, 40_000);
    assert_eq!(pair.endpoint(Side::A).protection_level(), ProtectionLevel::NonBlocking);
    assert_eq!(pair.counters(Side::A).fallbacks, 1);
    send_with_loss(&mut pair, 1_200_000, 100);
    assert_eq!(pair.endpoint(Side::A).protection_level(), ProtectionLevel::Ordered);
}

#[test]
fn level_is_pass_through_if_copies_exceed_their_share() {
    let mut pair = measured_pair();
    send_with_loss(&mut pair, 40_000, 300_000);
    assert_eq!(pair.endpoint(Side::A).protection_level(), ProtectionLevel::PassThrough);
    assert!(!pair.endpoint(Side::A).is_active());
    let sender = pair.counters(Side::A);
    assert_eq!(sender.fallbacks, 2);
    // Later, traffic starts protection again on the repaired link.
    pair.apply_after(
        Span::from_ms(200),
        Side::A,
        wiremend_testkit::LinkCommand::Send { len: LEN, ordered: true },
    );
    assert_eq!(pair.run(|_| false), RunEnd::Idle);
    send_with_loss(&mut pair, 1_200_000, 100);
    assert_eq!(pair.endpoint(Side::A).protection_level(), ProtectionLevel::Ordered);
    assert!(pair.endpoint(Side::A).is_active());
}

/// Copies keep to their share of the link, except for a first burst.
#[test]
fn copies_keep_to_their_share() {
    let mut pair = measured_pair();
    pair.send(Side::A, 50_000, LEN, true);
    let mut random = Random::new(3);
    let start = pair.now();
    let (mut fresh, mut again) = (0_u64, 0);
    let ending = pair.run(|sent| {
        match sent.signal {
            Some(LinkHeader::Data { retransmitted: true, .. }) => again += 1,
            Some(LinkHeader::Data { retransmitted: false, .. }) => fresh += 1,
            _ => {}
        }
        sent.from == Side::A && random.chance_ppm(250_000)
    });
    assert_eq!(ending, RunEnd::Idle);
    let share = pair.config().rate.bytes_in(pair.now().since(start)).get() / 4;
    let burst = 64 * pair.config().frame_bytes_max.get();
    let copied = again * u64::from(LEN);
    assert!(again > fresh / 8 && copied <= share + burst, "{again} copies of {fresh}, {copied} > {share} B");
}
