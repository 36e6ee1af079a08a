//! J34: corruption and congestion in numbers.

use wiremend_fleet::TraceGenerator;

use crate::papers::fleet::{SEEDS, WINDOW, facebook};
use crate::papers::gao::{bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J34",
    title: "corruption does not depend on load, congestion does",
    source: source("section 2.2"),
    paper: "Of the links that corrupt more than 1e-8 of their packets (Zhuo et al., SIGCOMM 2017), 52.8 % lose more \
            than 1e-5 and 12.7 % more than 1e-3. The corruption of a link does not depend on its load, the congestion \
            losses do. (Of congested links 7.6 % lose more than 1e-5 and 0.2 % more than 1e-3)",
    method: "Loss rates of random years of a fabric of 100 224 links. Flows of WebSearch between all hosts of a small \
             Clos network whose ports have 200 kB, at loads of 10, 30 and 60 %, over links at β = 1e-3: the frames \
             that links between switches corrupt, of which their bytes let expect the same share at each load, and the \
             packets that switches drop for each one that hosts send",
    note: "Production traffic decides how many links are congested, so the last two figures are not judged",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if !results.is_listing() {
        let years = results.effort().choose(1, SEEDS);
        let traces = (1..=years).map(|seed| TraceGenerator::default().trace(&facebook(), WINDOW.end, seed));
        let losses: Vec<f64> =
            traces.flat_map(|trace| trace.events().to_vec()).map(|event| event.loss).collect();
        for (above, printed) in [(1e-5, 0.528), (1e-3, 0.127)] {
            let counted = losses.iter().filter(|loss| **loss >= above).count() as u64;
            let share = share(counted, losses.len() as u64);
            judgement.printed(format!("corrupting links above {above:e}"), share.expected(printed));
        }
    }
    let rate: f64 = bit_error_rate(1e-3).parse().expect("it is a number");
    let mut dropped = Vec::new();
    for load in [0.1, 0.3, 0.6] {
        let run = Run::new("claims/mesh")
            .variant("All")
            .set("topology.buffer", "200kB")
            .set("workload.0.load", load)
            .set("workload.0.flows", results.effort().choose(200, 5_000))
            .set("impair.0.rate", bit_error_rate(1e-3))
            .seconds(results.effort().choose(1.0, 20.0));
        let outcome = results.outcome(&run);
        let between = outcome.lanes().filter(|(name, _)| !name.contains('h'));
        let (corrupted, carried) =
            between.fold((0, 0), |(bad, bytes), (_, lane)| (bad + lane.corrupted, bytes + lane.tx_bytes));
        let (name, expected) = (format!("U = {load}"), rate * 8.0 * carried as f64);
        judgement.printed(format!("corrupted frames, {name}"), count(corrupted).expected(expected));
        let lost = count(outcome.summary.dropped_frames.buffer).per(count(outcome.summary.packets_sent));
        judgement
            .row(&name, [&fraction(outcome.busiest()), &bytes(carried as f64), &count(corrupted), &lost]);
        dropped.push((name, lost));
    }
    judgement.must("packets dropped at U = 0.6", dropped[2].1.at_least(1e-6));
    let dropped: Vec<_> = dropped.iter().map(|(name, lost)| (name.as_str(), *lost)).collect();
    judgement.printed("packets dropped by congestion", ascending(&dropped, 0.0));
    judgement
        .columns("load | busiest link | carried between switches | corrupted frames | dropped per packet");
}
