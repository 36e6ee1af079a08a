//! J26: switches that mistake a packet of another connection for a retransmission.

use crate::papers::gao::{MTU, bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J26",
    title: "wrong copies because sequence numbers collide",
    source: source("section 5.1"),
    paper: "A switch recognizes a retransmission by its sequence number alone. The copies are wrong if another \
            connection sends that number meanwhile; with 2^24 numbers the probability is very small",
    method: "Copies of packets of another connection, as a share of the NAKs: in the full mesh of J16 at U = 0.6 and \
             β = 1e-3, with a long-lived queue pair for each pair of hosts, at most 1e-3; and on the path of J18 at a \
             load of 30 %, where each flow of 8 packets has a queue pair of its own. All queue pairs start with the \
             same number, or, as a cause of misses, with random ones",
    note: "If all queue pairs start with the same number, numbers in use are close together: the size of the number \
           space does not help then, least of all with short queue pairs",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mesh = Run::new("claims/mesh")
        .set("workload.0.load", 0.6)
        .set("workload.0.flows", results.effort().choose(300, 4_000))
        .set("impair.0.rate", bit_error_rate(1e-3))
        .seconds(results.effort().choose(1.0, 15.0));
    let short = Run::new("claims/mend-path")
        .set("transport.qp", "per-flow")
        .set("workload.0.load", 0.3)
        .set("workload.0.sizes", format!("{}B", 8 * MTU))
        .set("workload.0.flows", results.effort().choose(20_000, 200_000))
        .set("impair.0.rate", bit_error_rate(5e-3))
        .seconds(results.effort().choose(0.5, 5.0));
    let [same, random] = ["0", "random"].map(|first| {
        [&mesh, &short]
            .map(|run| results.outcome(&run.clone().variant("All").set("transport.first_psn", first)))
    });
    let [mesh, short] = same;
    let wrong = |outcome: &Outcome| {
        count(outcome.summary.extra_frames.false_matches).per(count(outcome.summary.naks))
    };
    judgement.some("NAKs in the mesh", mesh.summary.naks);
    let printed =
        judgement.printed("wrong copies per NAK, long-lived queue pairs", wrong(mesh).at_most(1e-3));
    let cause = "Connection managers and perftest start each queue pair with a random number";
    judgement.explain(cause, 0, &[(printed, wrong(random[0]))]);
    let what = "wrong copies per NAK, short queue pairs with random first numbers";
    judgement.must(what, wrong(random[1]).at_most(1e-3));
    judgement.must(
        "wrong copies per NAK, short queue pairs with the same first number",
        wrong(short).at_least(0.1),
    );
    let rows = [
        ("long-lived", mesh),
        ("short", short),
        ("long-lived, random first numbers", random[0]),
        ("short, random first numbers", random[1]),
    ];
    for (name, outcome) in rows {
        let matches = count(outcome.summary.extra_frames.false_matches);
        judgement.row(name, [&count(outcome.summary.naks), &matches, &outcome.timeouts()]);
    }
    judgement.columns("queue pairs | NAKs | wrong copies | timeouts");
}
