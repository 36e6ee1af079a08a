//! Feedback of the receiver is lost or late.

use wiremend_testkit::{Fate, FrameKind, LinkCommand, LinkSignal, Random, RunEnd, Side, WireFrame};
use wiremend_units::Span;

use super::guarantee::{check_delivery, expect};
use super::{CheckResult, LEN, LinkParams, PATIENCE, Profile, Violation, link, outage};

/// Longer than any burst of repeated signals.
const OUTAGE: Span = Span::from_us(2);

/// The prototype accepts the last ACK even if it is older, so that copies already acknowledged stay in its
/// loop.
pub(super) fn late_ack_leaves_no_copies<P: Profile>() -> CheckResult {
    /// Ten frames take 734 ns, and an ACK may be sent twice.
    const BEHIND_THE_LAST: Span = Span::from_ns(745);
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 10, LEN, true);
    let mut acks = 0;
    let ending = link.run(|sent| {
        acks += u32::from(sent.kind() == FrameKind::Ack);
        let is_first = sent.kind() == FrameKind::Ack && acks == 1;
        if is_first { Fate::Delayed(BEHIND_THE_LAST) } else { Fate::Arrives }
    });
    assert!(acks > 1);
    check_delivery(&link, ending, PATIENCE)
}

/// The prototype notifies once; the next ACK covers the gap, and the copy is dropped.
pub(super) fn lost_notification_is_repeated<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 60, LEN, true);
    let mut in_outage = outage(OUTAGE, |sent: &WireFrame<_>| sent.kind() == FrameKind::Notification);
    let ending = link.run(|sent| is_lost_once(sent, 7) || in_outage(sent));
    assert!(link.passed().1 > 1, "the frame and its notification were lost");
    check_delivery(&link, ending, PATIENCE)
}

/// The prototype takes the sender for paused while its buffer overflows.
pub(super) fn lost_pause_is_repeated<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 400, LEN, true);
    let mut in_outage = outage(OUTAGE, |sent: &WireFrame<_>| sent.pauses() == Some(true));
    let mut pauses_lost = 0;
    // No copy fills the gap: the sender must wait until it is given up.
    let ending = link.run(|sent| {
        let is_unrecoverable = sent.frame.is_some_and(|no| (10..13).contains(&no));
        let is_lost = is_unrecoverable || in_outage(sent);
        pauses_lost += u32::from(is_lost && sent.pauses() == Some(true));
        is_lost
    });
    expect(ending == RunEnd::Idle, Violation::NotIdle)?;
    assert!(pauses_lost > 0);
    expect(link.counters(Side::B).overflowed == 0, Violation::Overflowed)
}

/// The prototype takes the sender for resumed. Only the end of the quanta, after 336 µs, resumes it.
pub(super) fn lost_resume_is_repeated<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams::default());
    link.send(Side::A, 200, LEN, true);
    let mut paused = false;
    let mut in_outage = outage(OUTAGE, |sent: &WireFrame<_>| sent.pauses() == Some(false));
    let ending = link.run(|sent| {
        paused |= sent.pauses() == Some(true);
        is_lost_once(sent, 7) || paused && in_outage(sent)
    });
    assert!(paused && link.passed().1 > 1, "the frame and the resume were lost");
    check_delivery(&link, ending, PATIENCE)
}

/// 1 % of all frames in both directions are lost; sooner or later a notification of the prototype is among
/// them.
pub(super) fn losses_in_both_directions_are_recovered<P: Profile>() -> CheckResult {
    let mut link = link::<P>(&LinkParams { loss_ppm: 10_000, ..LinkParams::default() });
    link.apply(Side::B, LinkCommand::Activate);
    let mut ending = link.run(|_| false);
    let mut random = Random::new(1);
    for _ in 0..200 {
        expect(ending == RunEnd::Idle, Violation::NotIdle)?;
        link.send(Side::A, 100, LEN, true);
        link.send(Side::B, 100, LEN, true);
        ending = link.run(|_| random.chance_ppm(10_000));
    }
    check_delivery(&link, ending, PATIENCE)
}

fn is_lost_once<S: LinkSignal>(sent: &WireFrame<S>, no: u32) -> bool {
    sent.kind() == FrameKind::Data && sent.frame == Some(no)
}
