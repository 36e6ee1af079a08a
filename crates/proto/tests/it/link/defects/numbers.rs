//! Sequence numbers wrap, and requests outlive their frames.

use wiremend_testkit::{EndpointPair, FrameKind, FrameNo, LinkEnd, RunEnd, Side};
use wiremend_units::Span;

use super::guarantee::{check_delivery, check_delivery_except, expect};
use super::{CheckResult, LEN, LinkParams, PATIENCE, Profile, SHORT, Violation, link};

const NUMBERS: FrameNo = 1 << 16;

/// A timeout of the prototype at its last number does not flip the era. From then on a loss before the middle
/// or the end of the numbers also costs the next frame: it arrives and is taken for an old one.
pub(super) fn timeout_at_the_wrap_costs_no_other_frame<P: Profile>() -> CheckResult {
    let unrecoverable = NUMBERS - 1;
    for later in [NUMBERS / 2 - 1, NUMBERS - 1] {
        let mut link = link::<P>(&LinkParams::default());
        let lost_once = unrecoverable + 1 + later;
        stream(&mut link, lost_once + 10, 50, |kind, no| {
            no == unrecoverable || no == lost_once && kind == FrameKind::Data
        })?;
        check_delivery_except(&link, RunEnd::Idle, PATIENCE, &[unrecoverable])?;
    }
    Ok(())
}

/// Unordered frames do not advance the prototype's `ackNo`: the first ordered frame waits a timeout for each
/// before it.
pub(super) fn switch_to_ordered_frames_does_not_wait<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 2000, SHORT, false);
    link.send(Side::A, 1, SHORT, true);
    let ending = link.run(|_| false);
    check_delivery(&link, ending, PATIENCE)
}

/// If the prototype's numbers have wrapped meanwhile, all ordered frames are taken for old ones.
pub(super) fn switch_to_ordered_frames_in_another_era_loses_none<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, NUMBERS as usize + 40_000, SHORT, false);
    link.send(Side::A, 1000, SHORT, true);
    let ending = link.run(|_| false);
    check_delivery(&link, ending, Span::from_ms(2))
}

/// A copy found no room and is requested: the prototype keeps the request until the number is used again, and
/// then sends a duplicate.
pub(super) fn request_ends_with_its_frame<P: Profile>() -> CheckResult {
    let room_for_two = LinkParams { tx_bytes: 2 * u64::from(LEN) + 500, ..LinkParams::default() };
    let mut link = link::<P>(&room_for_two);
    let unrecoverable = 2;
    link.send(Side::A, 3, LEN, false);
    let ending = link.run(|sent| sent.frame == Some(unrecoverable));
    expect(ending == RunEnd::Idle, Violation::NotIdle)?;
    stream(&mut link, NUMBERS + 10, 2, |_, _| false)?;
    check_delivery_except(&link, RunEnd::Idle, PATIENCE, &[unrecoverable])
}

/// Sends frames in parts of `at_once` until there are `upto`; the link is idle between parts.
fn stream<E: LinkEnd>(
    link: &mut EndpointPair<E>,
    upto: FrameNo,
    at_once: usize,
    loses: impl Fn(FrameKind, FrameNo) -> bool,
) -> CheckResult {
    let ordered = link.frames().first().is_none_or(|frame| frame.ordered);
    while link.frames().len() < upto as usize {
        link.send(Side::A, at_once, LEN, ordered);
        let ending = link.run(|sent| sent.frame.is_some_and(|no| loses(sent.kind(), no)));
        expect(ending == RunEnd::Idle, Violation::NotIdle)?;
    }
    Ok(())
}
