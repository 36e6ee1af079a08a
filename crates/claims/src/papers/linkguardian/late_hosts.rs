//! Hosts that react late: a cause of differences that several claims share.

use crate::prelude::*;

/// Median time until a host reacts, and the only value that is chosen: for one figure of L25, flows without loss at
/// 99.9 % (167 µs in Table 2). The other figures of L25, L9, L10, L11 and L15 were not in view.
///
/// The round trip that the paper gives contains it, so that each host spends less on a packet otherwise.
pub(super) const MEDIAN_NS: u32 = 5_000;

/// Sets the delay of hosts in a run; its shape was measured on Linux (`transport.host-delay`).
pub(super) fn apply(run: Run) -> Run {
    run.set("transport.host-delay.median", format!("{MEDIAN_NS}ns"))
}

/// Adds the figures that were measured between such hosts. The value counts as free in each claim, since it does not
/// bring out the figures of all of them.
pub(super) fn explain(judgement: &mut Judgement, figures: &[(Printed, Number)]) {
    let cause = "Hosts that react late: 5 µs at the median, within the same round trip, with the shape of Linux's \
                 delays; the 5 µs were chosen for flows of L25 without loss at 99.9 %";
    judgement.explain(cause, 1, figures);
}
