//! Several frames in a row are lost.

use wiremend_testkit::{Ending, Kind, Side};
use wiremend_units::Span;

use super::verdict::{expect, flawless, punctual};
use super::{Broken, LEN, PATIENCE, Profile, SHORT, Terms, Verdict, link};

/// The prototype has five places. What is behind them is never asked for, and counts as acknowledged.
pub(super) fn a_hole_over_five_is_filled<P: Profile>() -> Verdict {
    for size in 1..=5 {
        assert_eq!(hole_is_filled::<P>(size, LEN), Ok(()), "up to five, both do");
    }
    hole_is_filled::<P>(6, LEN)?;
    hole_is_filled::<P>(30, LEN)
}

/// Eight bits hold its size: a hole of 256 is none to the prototype.
pub(super) fn a_hole_over_255_is_filled<P: Profile>() -> Verdict {
    hole_is_filled::<P>(256, SHORT)?;
    hole_is_filled::<P>(300, SHORT)
}

/// The prototype waits for each in turn, though all are known to be missing from the start.
pub(super) fn what_cannot_come_is_waited_for_once<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 20, LEN, true);
    let ending = link.run(|passing| passing.frame.is_some_and(|no| (5..10).contains(&no)));
    expect(ending == Ending::Idle, Broken::Restless)?;
    assert_eq!(link.counters(Side::B).lost, 5, "nothing of them ever arrived");
    punctual(link.frames(), Span::from_us(25))
}

fn hole_is_filled<P: Profile>(size: u32, len: u32) -> Verdict {
    let mut link = link::<P>(&Terms::default());
    link.send(Side::A, 20 + size as usize, len, true);
    let hole = 10..10 + size;
    let ending = link
        .run(|passing| passing.kind() == Kind::Data && passing.frame.is_some_and(|no| hole.contains(&no)));
    flawless(&link, ending, PATIENCE)
}
