//! L3: how often a receiver gives up on a frame.

use wiremend_measure::rare::Estimate;

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, LOSSES, RATES, Stress};

pub(super) const CLAIM: Claim = Claim {
    id: "L3",
    title: "a receiver rarely gives up on a frame",
    source: source("section 4.1"),
    paper: "476 of about 31 million losses (0.0016 %) over all ordered experiments ended with an ackNoTimeout",
    method: "The ordered runs of L1, weighted: timeouts per loss at each rate, and averaged as if each of the six \
             experiments had sent the same number of frames",
    note: "A timeout occurs if all copies are lost. Most timeouts occur at 1e-4, where only one copy is sent; the \
           paper saw 1.5 times as many, which fits losses that were not independent",
    judge,
    ..Claim::FORM
};

const PAPER: f64 = 476.0 / 31e6;
/// Half width of the 99.99 % Poisson interval of 476.
const PAPER_TOLERANCE: f64 = 0.18;

fn cases() -> Vec<Stress> {
    RATES.into_iter().flat_map(|gbps| LOSSES.map(|(loss, _)| Stress::new(gbps, loss, LG))).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let losses: f64 = cases().iter().map(|case| case.loss).sum();
    let parts: Vec<_> =
        cases().iter().filter_map(|case| Some((1.0 / losses, case.estimate(results)?))).collect();
    let average = Estimate::sum(&parts);
    let expected: f64 =
        LOSSES.iter().map(|(loss, copies)| 2.0 * loss.powi(*copies as i32 + 1)).sum::<f64>() / losses;
    judgement.must(
        "p^N per loss within the interval of the average",
        number(expected).between(average.interval.low, average.interval.high),
    );
    judgement.printed("timeouts per loss, average", number(average.value).near(PAPER, PAPER_TOLERANCE));
    let row = |case: &Stress| {
        let found = case.estimate(results).map_or(0.0, |found| found.value / case.loss);
        let copies = case.copies();
        vec![case.name(), shown(found), shown(case.loss.powi(copies as i32))]
    };
    judgement.table("| timeouts per loss | p^N", cases().iter().map(row).collect());
    judgement.plot("l3", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |gbps| {
        let point = |(loss, _): (f64, u32)| {
            (loss, Stress::new(gbps, loss, LG).estimate(results).map_or(0.0, |found| found.value / loss))
        };
        Curve::marked(format!("{gbps}G"), LOSSES.map(point))
    };
    let theory = LOSSES.map(|(loss, copies)| (loss, loss.powi(copies as i32))).to_vec();
    let theory = Curve::straight("p^N", theory);
    Plot::new(
        "Losses that end with a timeout",
        "Timeouts per loss against the loss rate of the link.",
        Axis::new("loss rate of the link", Scale::Log, Unit::Number),
        Axis::new("timeouts per loss", Scale::Log, Unit::Number),
        [theory].into_iter().chain(RATES.map(curve)).collect(),
    )
}
