//! L40: links that are taken out.

use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L40",
    title: "corrupting links are avoided, or protected",
    source: source("section 2"),
    paper: "Disabling corrupting links, or avoiding them by source routing or virtual topologies (RAIL), is the state of \
            the art. It reduces the capacity of the network, so that it is not always possible: with four uplinks and a \
            constraint of 75 % of the paths a rack can do without one, but not without a second one. A protected link \
            loses 8 % of its speed at a loss of 1e-3",
    method: "Four hosts send frames of 1518 B at line rate to four hosts of another rack over four spines, each frame to \
             the shortest queue; one uplink, or two, lose 1e-3 in 20 ms (quick: 2 ms). Delivered frames relative to sent \
             ones: 3/4 and 1/2 while links are avoided, within 1 %; at least 1 - 0.08/4 and 1 - 0.16/4 if they are \
             protected, less 1 %",
    note: "At line rate our model of the prototype loses 15 % of its speed and not 8 % (L2), and two protected links of one \
           switch share a loopback port that the copies of one fill (L31). Both still deliver more than what is left \
           without the links",
    judge,
    ..Claim::FORM
};

/// The uplinks that corrupt.
const LINKS: [&str; 2] = ["leaf0-spine0", "leaf0-spine1"];

pub(super) fn run(results: &Results<'_>, variant: &str) -> Run {
    let run = Run::new("claims/avoided").variant(variant).seconds(results.effort().choose(0.1, 0.5));
    run.set("stop.after", results.effort().choose("2ms", "20ms"))
}

/// Frames that arrive, relative to those that hosts send.
pub(super) fn delivered(outcome: &Outcome) -> Number {
    let sum = |from: u32, to: fn(u32) -> String| -> u64 {
        (from..from + 4).map(|host| outcome.lane(&to(host)).tx_frames).sum()
    };
    let arrived = sum(4, |host| format!("leaf1>h{host}"));
    fraction(arrived as f64 / sum(0, |host| format!("h{host}>leaf0")).max(1) as f64)
}

/// Frames lost on corrupting links.
fn lost(outcome: &Outcome) -> u64 {
    LINKS.iter().map(|link| outcome.lane(&link.replace('-', ">")).corrupted).sum()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| delivered | corrupted frames");
    let clean = results.outcome(&run(results, "no loss"));
    judgement.must("delivered without loss", delivered(clean).at_least(0.99));
    for (links, avoided, protected) in [(1, "avoided", "protected"), (2, "both avoided", "both protected")] {
        let [lossy, avoided, kept] = [if links == 1 { "loss" } else { "both lose" }, avoided, protected]
            .map(|variant| (variant, results.outcome(&run(results, variant))));
        let left = f64::from(links) / 4.0;
        judgement.some(format!("corrupted frames, {}", lossy.0), lost(lossy.1));
        judgement.none(format!("corrupted frames, {}", avoided.0), lost(avoided.1));
        judgement.none(format!("frames not recovered, {}", kept.0), kept.1.summary.protection.lost);
        let what = format!("delivered, {}", avoided.0);
        judgement.printed(what, delivered(avoided.1).near(1.0 - left, 0.01));
        let what = format!("delivered, {}", kept.0);
        judgement.printed(what, delivered(kept.1).at_least(1.0 - 0.08 * left - 0.01));
        for (variant, outcome) in [lossy, avoided, kept] {
            judgement.row(variant, [&delivered(outcome), &count(lost(outcome))]);
        }
    }
}
