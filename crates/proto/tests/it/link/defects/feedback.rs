//! What the receiver says back is lost, or comes late.

use wiremend_testkit::{Dice, Ending, Fate, Kind, LinkSignal, Order, Passing, Side};
use wiremend_units::Span;

use super::verdict::{expect, flawless};
use super::{Broken, LEN, PATIENCE, Profile, Terms, Verdict, link, outage};

/// Longer than any burst of repetitions.
const OUTAGE: Span = Span::from_us(2);

/// The prototype believes the ACK that came last: copies that were free to go turn on.
pub(super) fn a_late_ack_keeps_nothing<P: Profile>() -> Verdict {
    /// From the first of ten frames to the last it is 734 ns, and an ACK may be sent twice.
    const BEHIND_THE_LAST: Span = Span::from_ns(745);
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 10, LEN, true);
    let mut acks = 0;
    let ending = link.run(|passing| {
        acks += u32::from(passing.kind() == Kind::Ack);
        let is_first = passing.kind() == Kind::Ack && acks == 1;
        if is_first { Fate::Late(BEHIND_THE_LAST) } else { Fate::Arrives }
    });
    assert!(acks > 1);
    flawless(&link, ending, PATIENCE)
}

/// The prototype tells of a hole once; the next ACK covers it, and the copy is dropped.
pub(super) fn a_lost_notification_is_made_good<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 60, LEN, true);
    let mut unheard = outage(OUTAGE, |passing: &Passing<_>| passing.kind() == Kind::Notification);
    let ending = link.run(|passing| is_lost_once(passing, 7) || unheard(passing));
    assert!(link.passed().1 > 1, "the frame, and what was said of it");
    flawless(&link, ending, PATIENCE)
}

/// The prototype takes the sender for paused, while its buffer overflows.
pub(super) fn a_lost_pause_is_made_good<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 400, LEN, true);
    let mut unheard = outage(OUTAGE, |passing: &Passing<_>| passing.pauses() == Some(true));
    let mut pauses_lost = 0;
    // Nothing fills the hole: the sender must wait until it is given up.
    let ending = link.run(|passing| {
        let is_doomed = passing.frame.is_some_and(|no| (10..13).contains(&no));
        let is_lost = is_doomed || unheard(passing);
        pauses_lost += u32::from(is_lost && passing.pauses() == Some(true));
        is_lost
    });
    expect(ending == Ending::Idle, Broken::Restless)?;
    assert!(pauses_lost > 0);
    expect(link.counters(Side::B).overflowed == 0, Broken::Overflowed)
}

/// The prototype takes the sender for resumed: only the end of the quanta, after 336 µs, heals it.
pub(super) fn a_lost_resume_is_made_good<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 200, LEN, true);
    let mut paused = false;
    let mut unheard = outage(OUTAGE, |passing: &Passing<_>| passing.pauses() == Some(false));
    let ending = link.run(|passing| {
        paused |= passing.pauses() == Some(true);
        is_lost_once(passing, 7) || paused && unheard(passing)
    });
    assert!(paused && link.passed().1 > 1, "the frame, and the end of the pause");
    flawless(&link, ending, PATIENCE)
}

/// One per cent of everything, both ways: sooner or later a notification of the prototype is among it.
pub(super) fn both_directions_may_corrupt<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms { loss_ppm: 10_000, ..Terms::default() });
    link.order(Side::B, Order::Activate);
    let mut ending = link.run(|_| false);
    let mut dice = Dice::new(1);
    for _ in 0..200 {
        expect(ending == Ending::Idle, Broken::Restless)?;
        link.send(Side::A, 100, LEN, true);
        link.send(Side::B, 100, LEN, true);
        ending = link.run(|_| dice.chance_ppm(10_000));
    }
    flawless(&link, ending, PATIENCE)
}

fn is_lost_once<S: LinkSignal>(passing: &Passing<S>, no: u32) -> bool {
    passing.kind() == Kind::Data && passing.frame == Some(no)
}
