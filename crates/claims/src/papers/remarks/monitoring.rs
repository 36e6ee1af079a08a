//! J24: what monitors of NAKs and timeouts see with the mechanisms.

use crate::papers::gao::{MTU, bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J24",
    title: "monitors see NAKs with the mechanisms, and few timeouts",
    source: source("section 7.2"),
    paper: "Monitoring systems that count NAKs or timeouts are affected, since the mechanisms change both numbers. NAKs \
            are not eliminated, so existing systems can always locate the problem",
    method: "Flows of 8 packets over four links at β = 5e-3, each on its own queue pair and far apart, with the \
             mechanisms (All) and without: NAKs that requesters receive, without copies, and timeouts, for each \
             corrupted data packet",
    note: "Dummies turn lost tails into NAKs. A monitor of timeouts is blind with the mechanisms, one of NAKs sees more",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let [none, all] = ["None", "All"].map(|mechanisms| {
        let run = Run::new("claims/mend-path")
            .variant(mechanisms)
            .set("transport.qp", "per-flow")
            .set("workload.0.sizes", format!("{}B", 8 * MTU))
            .set("workload.0.load", "1e-5")
            .set("workload.0.flows", results.effort().choose(20_000, 300_000))
            .set("impair.0.rate", bit_error_rate(5e-3));
        results.outcome(&run.seconds(results.effort().choose(0.3, 4.0)))
    });
    let corrupted = |outcome: &Outcome| -> u64 {
        (0..4).map(|link| outcome.lane(&format!("s{link}>s{}", link + 1)).corrupted).sum()
    };
    let per_loss = |outcome: &Outcome, events: u64| count(events).per(count(corrupted(outcome)));
    let [before, after] = [none, all].map(|outcome| per_loss(outcome, outcome.summary.naks));
    judgement.printed(
        "NAKs per corrupted packet, with mechanisms divided by without",
        (after / before).at_least(0.95),
    );
    let [before, after] = [none, all].map(|outcome| per_loss(outcome, outcome.summary.timeouts.total()));
    judgement
        .printed("timeouts, with mechanisms divided by without", fraction((after / before).value).below(1.0));
    judgement.must("timeouts that a monitor still sees", fraction((after / before).value).at_most(0.05));
    for (name, outcome) in [("without", none), ("with", all)] {
        let naks = outcome.summary.naks;
        judgement.row(name, [&count(corrupted(outcome)), &count(naks), &outcome.timeouts()]);
    }
    judgement.columns("mechanisms | corrupted packets | NAKs | timeouts");
}
