//! Links that differ from what was assumed.

use wiremend_testkit::{EndpointPair, FrameKind, LinkEnd, Random, RunEnd, Side};
use wiremend_units::Span;

use super::guarantee::{check_delays, check_delivery, expect};
use super::profile::link_over;
use super::{CheckResult, LEN, LinkParams, PATIENCE, Profile, SHORT, Violation, link};

/// Round trip 40 µs: the prototype gives up after 7 µs on any link.
pub(super) fn timeouts_follow_the_link<P: Profile>() -> CheckResult {
    let mut link = link_over::<P>(Span::from_us(20), &LinkParams::default());
    link.send(Side::A, 60, LEN, true);
    let ending = link.run(|sent| sent.kind() == FrameKind::Data && sent.frame == Some(7));
    check_delivery(&link, ending, Span::from_us(100))
}

/// LG Eq. 2: at 100 times the loss one copy does not suffice. The prototype's number is fixed at
/// installation.
pub(super) fn copies_follow_the_loss_rate<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    let before = copies_per_loss(&mut link, 100, 40_000);
    assert!(before < 1.5, "both start with one: {before}");
    copies_per_loss(&mut link, 10_000, 5000);
    let after = copies_per_loss(&mut link, 10_000, 20_000);
    expect(after > before + 1.0, Violation::NotAdapted)
}

/// 30 % of frames and copies are lost. A frame that the prototype does not recover delays all behind it.
pub(super) fn high_loss_does_not_block_the_link<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    copies_per_loss(&mut link, 300_000, 40_000);
    let settled = link.frames().len();
    copies_per_loss(&mut link, 300_000, 2000);
    check_delays(&link.frames()[settled..], PATIENCE)
}

fn copies_per_loss<E: LinkEnd>(link: &mut EndpointPair<E>, loss_ppm: u32, frames: usize) -> f64 {
    let mut random = Random::new(u64::from(loss_ppm));
    let (mut copies, missed) = (0, link.counters(Side::B).missed);
    for _ in 0..frames / 100 {
        link.send(Side::A, 100, SHORT, true);
        let ending = link.run(|sent| {
            copies += u32::from(sent.kind() == FrameKind::Copy);
            sent.from == Side::A && random.chance_ppm(loss_ppm)
        });
        assert_eq!(ending, RunEnd::Idle);
    }
    f64::from(copies) / (link.counters(Side::B).missed - missed).max(1) as f64
}
