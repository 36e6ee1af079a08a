//! Numbers start over, and are believed for too long.

use wiremend_testkit::{Ending, FrameNo, Kind, LinkEnd, Linked, Side};
use wiremend_units::Span;

use super::verdict::{expect, flawless, flawless_but};
use super::{Broken, LEN, PATIENCE, Profile, SHORT, Terms, Verdict, link};

/// Numbers have 16 bits.
const NUMBERS: FrameNo = 1 << 16;

/// A time-out of the prototype that steps past its last number leaves the era as it was. From then on a loss before the middle of the
/// numbers, or before their end, costs the frame behind it too: it has arrived, and is taken for an old one.
pub(super) fn a_timeout_at_the_wrap_costs_nobody_else<P: Profile>() -> Verdict {
    let doomed = NUMBERS - 1;
    for later in [NUMBERS / 2 - 1, NUMBERS - 1] {
        let mut link = link::<P>(&Terms::default());
        let lost_once = doomed + 1 + later;
        stream(&mut link, lost_once + 10, 50, |kind, no| {
            no == doomed || no == lost_once && kind == Kind::Data
        })?;
        flawless_but(&link, Ending::Idle, PATIENCE, &[doomed])?;
    }
    Ok(())
}

/// Without order nothing but the clock moves the prototype's `ackNo`: the first frame in order waits a time-out for each before it.
pub(super) fn a_switch_to_order_waits_for_nothing<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 2000, SHORT, false);
    link.send(Side::A, 1, SHORT, true);
    let ending = link.run(|_| false);
    flawless(&link, ending, PATIENCE)
}

/// If the prototype's numbers have started over meanwhile, frames in order are taken for old ones, one and all.
pub(super) fn a_switch_to_order_in_another_era_loses_nothing<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, NUMBERS as usize + 40_000, SHORT, false);
    link.send(Side::A, 1000, SHORT, true);
    let ending = link.run(|_| false);
    flawless(&link, ending, Span::from_ms(2))
}

/// A copy found no room and is asked for: the prototype's table keeps the request until the number comes again, and sends what nobody misses.
pub(super) fn a_request_ends_with_its_frame<P: Profile>() -> Verdict {
    let room_for_two = Terms { tx_bytes: 2 * u64::from(LEN) + 500, ..Terms::default() };
    let mut link = link::<P>(&room_for_two);
    let doomed = 2;
    link.send(Side::A, 3, LEN, false);
    let ending = link.run(|passing| passing.frame == Some(doomed));
    expect(ending == Ending::Idle, Broken::Restless)?;
    stream(&mut link, NUMBERS + 10, 2, |_, _| false)?;
    flawless_but(&link, Ending::Idle, PATIENCE, &[doomed])
}

/// Sends until there have been `upto` frames, so many at once, of the kind of the first; each part comes to rest before the next.
fn stream<E: LinkEnd>(
    link: &mut Linked<E>,
    upto: FrameNo,
    at_once: usize,
    loses: impl Fn(Kind, FrameNo) -> bool,
) -> Verdict {
    let ordered = link.frames().first().is_none_or(|frame| frame.ordered);
    while link.frames().len() < upto as usize {
        link.send(Side::A, at_once, LEN, ordered);
        let ending = link.run(|passing| passing.frame.is_some_and(|no| loses(passing.kind(), no)));
        expect(ending == Ending::Idle, Broken::Restless)?;
    }
    Ok(())
}
