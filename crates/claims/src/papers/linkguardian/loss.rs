//! L1: number of copies, and the remaining loss.

use wiremend_measure::rare::Estimate;

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{HARDENED, LG, LG_NB, LOSSES, RATES, Stress, per, weight_max};

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
/// Frames after which an episode at 25G is over, and which often pass without another loss.
const QUIET_FRAMES: u32 = 60;

fn cases() -> Vec<Stress> {
    let runs_at = |gbps| {
        LOSSES.iter().flat_map(move |(loss, _)| [LG, LG_NB].map(|mode| Stress::new(gbps, *loss, mode)))
    };
    RATES.into_iter().flat_map(runs_at).collect()
}

fn hardened() -> Vec<Stress> {
    LOSSES.iter().map(|(loss, _)| Stress::new(100, *loss, HARDENED)).collect()
}

fn plain() -> Stress {
    Stress::new(25, COUNTED_LOSS, LG)
}

fn unweighted(effort: Effort) -> Run {
    plain().run(effort.choose(250_000, 1_500_000)).set("protect.0.copies", 1)
}

/// The same setting with importance sampling.
fn checked(effort: Effort) -> Run {
    plain().tilted(effort).set("protect.0.copies", 1).set("impair.0.quiet", QUIET_FRAMES)
}

fn bursts(effort: Effort) -> Run {
    let stress = Stress::new(25, COUNTED_LOSS, LG_NB);
    let run =
        stress.run(effort.choose(400_000, 1_500_000)).set("protect.0.copies", 2).set("impair.0.rate", 0);
    run.set("impair.1.loss", COUNTED_LOSS).set("impair.1.length", BURST_FRAMES)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let mut rows = Vec::new();
    for case in cases() {
        let outcome = results.outcome(&case.tilted(effort));
        let copies = case.copies();
        let sent = &outcome.summary.protection;
        let what = format!("copies per lost frame, {}", case.name());
        judgement.must(what, number(per(sent.resent.frames, sent.missed)).near(f64::from(copies), 0.02));
        let expected = case.loss.powi(copies as i32 + 1);
        estimated(judgement, &case, case.estimate(results).as_ref(), expected);
        rows.push(row(&case, results, expected));
    }
    let mut weights: Vec<f64> = Vec::new();
    for case in cases() {
        let (_, off) =
            results.outcome(&case.tilted(effort)).episodes.mean_weight().unwrap_or((0.0, f64::INFINITY));
        weights.push(off.abs());
    }
    judgement.must(
        "largest distance of a mean weight from 1, in standard deviations",
        number(weights.into_iter().fold(0.0, f64::max)).at_most(4.5),
    );
    for case in hardened() {
        let copies = case.copies();
        let expected = case.loss.powi(copies as i32 + 1);
        let remaining = case.estimate(results).map_or(f64::INFINITY, |estimate| estimate.value);
        judgement.must(format!("remaining loss, {}", case.name()), number(remaining).at_most(expected));
        rows.push(row(&case, results, expected));
    }
    counted(judgement, results);
    judgement.table("| remaining loss | 99.99 % interval | p^(N+1) | episodes", rows);
    judgement.plot("l1", &figure(results));
}

fn estimated(judgement: &mut Judgement, case: &Stress, estimate: Option<&Estimate>, expected: f64) {
    let interval = estimate.map(|estimate| estimate.interval);
    let test = number(expected);
    let what = format!("p^(N+1) within the interval of the remaining loss, {}", case.name());
    match interval {
        Some(interval) => judgement.must(what, test.between(interval.low, interval.high)),
        None => judgement.must(what, count(0).is(1)),
    }
}

/// Compares the count without weights with the weighted estimate.
fn counted(judgement: &mut Judgement, results: &Results<'_>) {
    let truth = COUNTED_LOSS * COUNTED_LOSS;
    let unweighted = results.outcome(&unweighted(results.effort())).summary.protection;
    judgement.must(
        "remaining loss at 1e-2 with one copy, counted",
        share(unweighted.lost.min(unweighted.protected), unweighted.protected).expected(truth),
    );
    let episodes = results.outcome(&checked(results.effort())).episodes;
    let estimate = episodes.loss_per_frame_forced(
        COUNTED_LOSS,
        weight_max(COUNTED_LOSS, 1),
        crate::ledger::number::LEVEL,
    );
    estimated(judgement, &plain(), estimate.as_ref(), truth);
    let bursts = results.outcome(&bursts(results.effort())).summary.protection;
    // Probability that a loss is followed by another.
    let next: f64 = 1.0 - 1.0 / BURST_FRAMES;
    let expected = truth * next + COUNTED_LOSS * next.powi(5);
    let what = "remaining loss at 1e-2 with two copies and bursts of 1.5 frames";
    judgement.must(what, number(per(bursts.lost, bursts.protected)).between(expected / 2.0, expected * 2.0));
}

fn row(case: &Stress, results: &Results<'_>, expected: f64) -> Vec<String> {
    let episodes = results.outcome(&case.tilted(results.effort())).episodes;
    let estimate = case.estimate(results);
    let interval = estimate.map_or_else(String::new, |found| {
        format!("{}…{}", shown(found.interval.low), shown(found.interval.high))
    });
    let value = estimate.map_or_else(String::new, |found| shown(found.value));
    vec![case.name(), value, interval, shown(expected), episodes.count().to_string()]
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |name: String, points: Vec<(f64, f64)>| Curve::marked(name, points);
    let curve_at = |gbps, mode: &'static str| {
        let point = |(loss, _): &(f64, u32)| {
            Some((*loss, Stress::new(gbps, *loss, mode).estimate(results)?.value))
                .filter(|(_, remaining)| *remaining > 0.0)
        };
        curve(format!("{mode}, {gbps}G"), LOSSES.iter().filter_map(point).collect())
    };
    let theory = LOSSES.iter().map(|(loss, copies)| (*loss, loss.powi(*copies as i32 + 1))).collect();
    let mut curves = vec![curve("p^(N+1)".to_owned(), theory)];
    curves.extend(RATES.into_iter().flat_map(|gbps| [LG, LG_NB].map(|mode| curve_at(gbps, mode))));
    Plot::new(
        "Remaining loss on a protected link",
        "Remaining loss against the loss rate of the link, for both modes and both rates.",
        Axis::new("loss rate of the link", Scale::Log, Unit::Number),
        Axis::new("remaining loss", Scale::Log, Unit::Number),
        curves,
    )
}
