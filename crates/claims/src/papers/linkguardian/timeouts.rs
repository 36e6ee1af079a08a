//! L3: how often a receiver gives up on a frame.

use wiremend_measure::rare::Estimate;

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, Stress};

pub(super) const CLAIM: Claim = Claim {
    id: "L3",
    title: "a receiver rarely gives up on a frame",
    source: source("section 4.1"),
    paper: "476 of about 31 million losses (0.0016 %) over all ordered experiments ended with an ackNoTimeout",
    method: "The ordered runs of L1, weighted: timeouts per loss at each rate, and averaged as if each of the six \
             experiments had sent the same number of frames",
    note: "A timeout occurs if all copies are lost. Most timeouts occur at 1e-4, where only one copy is sent; \
           the paper saw 1.5 times as many, which fits losses that were not independent, as the paper suspects \
           at 25G and 1e-3. Losses in bursts were not tried: the length of a burst would be chosen for this one \
           figure",
    judge,
    ..Claim::FORM
};

const PAPER: f64 = 476.0 / 31e6;
/// Half width of the 99.99 % Poisson interval of 476.
const PAPER_TOLERANCE: f64 = 0.18;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let cases = Stress::all(&[LG]);
    let losses: f64 = cases.iter().map(|case| case.loss).sum();
    let parts: Vec<_> =
        cases.iter().filter_map(|case| Some((1.0 / losses, case.estimate(results)?))).collect();
    let average = Estimate::sum(&parts);
    let expected = number(cases.iter().map(Stress::all_lost).sum::<f64>() / losses);
    judgement.must(
        "p^N per loss within the interval of the average",
        expected.between(average.interval.low, average.interval.high),
    );
    judgement.printed("timeouts per loss, average", number(average.value).near(PAPER, PAPER_TOLERANCE));
    let found = |stress: Stress| stress.estimate(results).map_or(0.0, |found| found.value / stress.loss);
    let exact = |stress: Stress| stress.all_lost() / stress.loss;
    for case in cases {
        judgement.row(case.name(), [&shown(found(case)), &shown(exact(case))]);
    }
    judgement.columns("| timeouts per loss | p^N");
}
