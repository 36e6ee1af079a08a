//! Guarantees of a protected link, and their violations.

use wiremend_testkit::{EndpointPair, Frame, FrameNo, LinkEnd, RunEnd, Side};
use wiremend_units::Span;

pub(super) type CheckResult = Result<(), Violation>;

/// Violation of a guarantee: the first that applies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Violation {
    /// The link never becomes idle.
    NotIdle,
    /// A frame is not delivered, though the link could have recovered it.
    Lost,
    /// A frame is delivered more than once.
    Duplicated,
    /// An ordered frame is delivered out of order.
    Reordered,
    /// A frame waits too long.
    Late,
    /// The link is idle, but still keeps frames.
    Leftover,
    /// A buffer exceeds its size.
    Overflowed,
    /// A fault is not counted.
    Uncounted,
    /// The ends do not adapt to a change of the link.
    NotAdapted,
    /// A frame is delivered with other bytes.
    Damaged,
}

/// Checks that each frame was delivered once, in order, at most `patience` after it was queued, and that no
/// frame is kept.
pub(super) fn check_delivery<E: LinkEnd>(
    link: &EndpointPair<E>,
    ending: RunEnd,
    patience: Span,
) -> CheckResult {
    check_delivery_except(link, ending, patience, &[])
}

/// The same, except for frames whose transmissions were all lost.
pub(super) fn check_delivery_except<E: LinkEnd>(
    link: &EndpointPair<E>,
    ending: RunEnd,
    patience: Span,
    unrecoverable: &[FrameNo],
) -> CheckResult {
    expect(ending == RunEnd::Idle, Violation::NotIdle)?;
    let frames = || (0_u32..).zip(link.frames());
    expect(frames().all(|(no, frame)| frame.deliveries > 0 || unrecoverable.contains(&no)), Violation::Lost)?;
    expect(frames().all(|(_, frame)| frame.deliveries <= 1), Violation::Duplicated)?;
    for side in [Side::A, Side::B] {
        let ordered = || link.delivered(side).iter().filter(|no| link.frames()[**no as usize].ordered);
        expect(ordered().is_sorted(), Violation::Reordered)?;
    }
    check_delays(link.frames(), patience)?;
    expect([Side::A, Side::B].map(|side| link.handles(side)) == [(0, 0); 2], Violation::Leftover)
}

/// Checks that each delivered frame took at most `patience` since it was queued.
pub(super) fn check_delays(frames: &[Frame], patience: Span) -> CheckResult {
    let took = |frame: &Frame| frame.delivered_at.map(|at| at.since(frame.queued_at));
    expect(frames.iter().filter_map(took).all(|took| took <= patience), Violation::Late)
}

/// Returns `or_else` unless the guarantee is kept.
pub(super) fn expect(kept: bool, or_else: Violation) -> CheckResult {
    if kept { Ok(()) } else { Err(or_else) }
}
