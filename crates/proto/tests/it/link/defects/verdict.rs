//! What a protected link promises, and how a promise is broken.

use wiremend_testkit::{Ending, Frame, FrameNo, LinkEnd, Linked, Side};
use wiremend_units::Span;

/// Whether a story ends well.
pub(super) type Verdict = Result<(), Broken>;

/// How a promise is broken: the first of these that applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Broken {
    /// It never comes to rest.
    Restless,
    /// A frame does not come, though the link could have sent it again.
    Lost,
    /// A frame comes more than once.
    Twice,
    /// A frame that must keep its order does not.
    Disordered,
    /// A frame, or all behind it, waits too long.
    Late,
    /// All is quiet, and something is still kept.
    LeftOver,
    /// A buffer is over its bound.
    Overflowed,
    /// Something went wrong, and no counter says so.
    Uncounted,
    /// What changes on the link changes nothing at its ends.
    Unmoved,
    /// A frame is not what it was.
    Damaged,
}

/// Each frame has come from A to B, or the other way, once, in its order, no later than `patience` after it was handed over; and nothing is
/// kept.
pub(super) fn flawless<E: LinkEnd>(link: &Linked<E>, ending: Ending, patience: Span) -> Verdict {
    flawless_but(link, ending, patience, &[])
}

/// The same but for frames that nobody can save: they, and all their copies, were lost.
pub(super) fn flawless_but<E: LinkEnd>(
    link: &Linked<E>,
    ending: Ending,
    patience: Span,
    doomed: &[FrameNo],
) -> Verdict {
    expect(ending == Ending::Idle, Broken::Restless)?;
    let frames = || (0_u32..).zip(link.frames());
    expect(frames().all(|(no, frame)| frame.deliveries > 0 || doomed.contains(&no)), Broken::Lost)?;
    expect(frames().all(|(_, frame)| frame.deliveries <= 1), Broken::Twice)?;
    for side in [Side::A, Side::B] {
        let ordered = || link.delivered(side).iter().filter(|no| link.frames()[**no as usize].ordered);
        expect(ordered().is_sorted(), Broken::Disordered)?;
    }
    punctual(link.frames(), patience)?;
    expect([Side::A, Side::B].map(|side| link.handles(side)) == [(0, 0); 2], Broken::LeftOver)
}

/// Of the frames that have come, none took longer than `patience` since it was handed over.
pub(super) fn punctual(frames: &[Frame], patience: Span) -> Verdict {
    let took = |frame: &Frame| frame.delivered_at.map(|at| at.since(frame.queued_at));
    expect(frames.iter().filter_map(took).all(|took| took <= patience), Broken::Late)
}

/// A promise that is kept, or else.
pub(super) fn expect(kept: bool, or_else: Broken) -> Verdict {
    if kept { Ok(()) } else { Err(or_else) }
}
