//! L1: number of copies, and the remaining loss.

use wiremend_measure::rare::Estimate;

use crate::ledger::number::LEVEL;
use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{HARDENED, LG, LG_NB, LOSSES, Stress, per, weight_max};

pub(super) const CLAIM: Claim = Claim {
    id: "L1",
    title: "copies by Eq. 2, and the remaining loss",
    source: source("section 4.1, Fig. 8"),
    paper: "For a target of 1e-8, 1, 1 and 2 copies are sent at a loss rate of 1e-5, 1e-4 and 1e-3. They leave a loss \
           rate of 1e-10, 1e-8 and 1e-9 at line rate, 25G and 100G, ordered and non-blocking; except for 25G at 1e-3, \
           where losses were not independent and more was left, near the target",
    method: "The prototype at line rate with importance sampling: losses are forced, copies are lost more often than \
             at the true rate, and each episode is weighted with its probability. The hardened protocol, which \
             repeats requests, must not leave more than the prototype",
    note: "A frame is lost if it and all its copies are lost. Bursts make this more likely, because copies are sent \
           back to back: if one loss in a hundred is followed by another, 1e-8 remains at 1e-3, as the paper saw at \
           25G",
    judge,
    ..Claim::FORM
};

/// The setting in which losses are counted without weights: loss rate, copies, and mean burst length.
const COUNTED_LOSS: f64 = 1e-2;
const BURST_FRAMES: f64 = 1.5;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let hardened = LOSSES.map(|(loss, _)| Stress::new(100, loss, HARDENED));
    let mut off_max: f64 = 0.0;
    for case in Stress::all(&[LG, LG_NB]).into_iter().chain(hardened) {
        let outcome = results.outcome(&case.tilted(results.effort()));
        let sent = &outcome.summary.protection;
        let (name, expected) = (case.name(), case.all_lost());
        let [value, low, high] = bounds(case.estimate(results));
        if case.variant == HARDENED {
            judgement.must(format!("remaining loss, {name}"), number(value).at_most(expected));
        } else {
            let copies = number(per(sent.resent.frames, sent.missed));
            let what = format!("copies per lost frame, {name}");
            judgement.must(what, copies.near(f64::from(case.copies()), 0.02));
            let what = format!("p^(N+1) within the interval of the remaining loss, {name}");
            judgement.must(what, number(expected).between(low, high));
            off_max = off_max.max(outcome.episodes.mean_weight().map_or(f64::INFINITY, |(_, off)| off.abs()));
        }
        let interval = format!("{}…{}", shown(low), shown(high));
        judgement.row(name, [&shown(value), &interval, &shown(expected), &outcome.episodes.count()]);
    }
    let what = "largest distance of a mean weight from 1, in standard deviations";
    judgement.must(what, number(off_max).at_most(4.5));
    counted(judgement, results);
    judgement.columns("| remaining loss | 99.99 % interval | p^(N+1) | episodes");
}

/// Value and interval. Without an episode the interval contains nothing.
fn bounds(estimate: Option<Estimate>) -> [f64; 3] {
    estimate.map_or([1.0, 1.0, 0.0], |found| [found.value, found.interval.low, found.interval.high])
}

/// Compares counts without weights with the weighted estimate, and with bursts.
fn counted(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let truth = COUNTED_LOSS * COUNTED_LOSS;
    let plain = Stress::new(25, COUNTED_LOSS, LG);
    let unweighted = plain.run(effort.choose(250_000, 1_500_000)).set("protect.0.copies", 1);
    let sum = results.outcome(&unweighted).summary.protection;
    let lost = share(sum.lost.min(sum.protected), sum.protected);
    judgement.must("remaining loss at 1e-2 with one copy, counted", lost.expected(truth));
    // Frames after which an episode at 25G is over, and which often pass without another loss.
    let weighted = plain.tilted(effort).set("protect.0.copies", 1).set("impair.0.quiet", 60);
    let episodes = results.outcome(&weighted).episodes;
    let estimate = episodes.loss_per_frame_forced(COUNTED_LOSS, weight_max(COUNTED_LOSS, 1), LEVEL);
    let [_, low, high] = bounds(estimate);
    let what = format!("p^(N+1) within the interval of the remaining loss, {}", plain.name());
    judgement.must(what, number(truth).between(low, high));
    let run = Stress::new(25, COUNTED_LOSS, LG_NB).run(effort.choose(400_000, 1_500_000));
    let run = run.set("protect.0.copies", 2).set("impair.0.rate", 0);
    let run = run.set("impair.1.loss", COUNTED_LOSS).set("impair.1.length", BURST_FRAMES);
    let sum = results.outcome(&run).summary.protection;
    // Probability that a loss is followed by another.
    let next: f64 = 1.0 - 1.0 / BURST_FRAMES;
    let expected = truth * next + COUNTED_LOSS * next.powi(5);
    let what = "remaining loss at 1e-2 with two copies and bursts of 1.5 frames";
    judgement.must(what, number(per(sum.lost, sum.protected)).between(expected / 2.0, expected * 2.0));
}
