//! Several frames in a row are lost.

use wiremend_testkit::{FrameKind, RunEnd, Side};
use wiremend_units::Span;

use super::guarantee::{check_delays, check_delivery, expect};
use super::{CheckResult, LEN, LinkParams, PATIENCE, Profile, SHORT, Violation, link};

/// The prototype has five slots. Further frames of the gap are never requested, and count as acknowledged.
pub(super) fn gap_over_five_is_filled<P: Profile>() -> CheckResult {
    for size in 1..=5 {
        assert_eq!(hole_is_filled::<P>(size, LEN), Ok(()), "both fill a gap of up to five");
    }
    hole_is_filled::<P>(6, LEN)?;
    hole_is_filled::<P>(30, LEN)
}

/// The size has eight bits: for the prototype a gap of 256 is none.
pub(super) fn gap_over_255_is_filled<P: Profile>() -> CheckResult {
    hole_is_filled::<P>(256, SHORT)?;
    hole_is_filled::<P>(300, SHORT)
}

/// The prototype waits for each frame in turn, though all are known to be missing from the start.
pub(super) fn unrecoverable_frames_share_one_timeout<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 20, LEN, true);
    let ending = link.run(|sent| sent.frame.is_some_and(|no| (5..10).contains(&no)));
    expect(ending == RunEnd::Idle, Violation::NotIdle)?;
    assert_eq!(link.counters(Side::B).lost, 5, "all transmissions of these were lost");
    check_delays(link.frames(), Span::from_us(25))
}

fn hole_is_filled<P: Profile>(size: u32, len: u32) -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 20 + size as usize, len, true);
    let hole = 10..10 + size;
    let ending =
        link.run(|sent| sent.kind() == FrameKind::Data && sent.frame.is_some_and(|no| hole.contains(&no)));
    check_delivery(&link, ending, PATIENCE)
}
