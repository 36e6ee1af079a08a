//! L22: pipeline capacity that recirculating buffers use.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, LG_NB, LOSSES, RATES, Stress, frames};

pub(super) const CLAIM: Claim = Claim {
    id: "L22",
    title: "pipeline capacity used by recirculation",
    source: source("appendix B.4, Table 4"),
    paper: "At 1e-5, 1e-4 and 1e-3 the sender's copies use 0.45, 0.449 and 0.444 % of the pipeline at 25G and 0.663, \
           0.657 and 0.608 % at 100G. Frames that wait at the receiver use 0.66 % at both rates and any loss rate; in \
           the non-blocking mode the receiver uses none. With 250 B it is about six times as much",
    method: "The stress test: passes per second, as a share of a pipeline of 1.22 billion frames per second. A \
             loopback port of 100 Gb/s with full frames can use 0.666 %, the maximum of the table",
    note: "After the first loss has filled it, the receiver's loop stays occupied at line rate, as the table shows \
           at any loss rate. The model does the same, but its runs are short, and before their first loss no frame \
           recirculates. At 25G the sender's copies recirculate three times here, because latencies of the model are \
           constant: each ACK arrives between the second and the third check. In the testbed it arrived before the \
           second check for a quarter of the copies",
    judge,
    ..Claim::FORM
};

/// Frames per second of the pipeline.
const PIPELINE_FRAMES_PER_S: f64 = 1.22e9;
const TOLERANCE: f64 = 0.1;
/// By link rate: shares of sender and receiver at each loss rate.
const TABLE: [(u32, [f64; 3], [f64; 3]); 2] = [
    (25, [0.450e-2, 0.449e-2, 0.444e-2], [0.661e-2, 0.662e-2, 0.664e-2]),
    (100, [0.663e-2, 0.657e-2, 0.608e-2], [0.657e-2, 0.658e-2, 0.662e-2]),
];
/// Frames of 250 B, which arrive six times as often.
fn small(effort: Effort) -> Run {
    Stress::new(100, 1e-5, LG_NB).run(effort.choose(30_000, 200_000)).set("workload.0.frame", 250)
}

/// Shares of sender and receiver.
fn shares(results: &Results<'_>, run: &Run) -> (f64, f64) {
    let summary = &results.outcome(run).summary;
    let share =
        |passes: u64| passes as f64 / (summary.simulated_ns.max(1) as f64 * 1e-9) / PIPELINE_FRAMES_PER_S;
    (share(summary.protection.tx_recirculations), share(summary.protection.rx_recirculations))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let shares_at = |stress: Stress| shares(results, &stress.run(frames(results.effort(), stress.loss)));
    let mut rows = Vec::new();
    for (gbps, sender, receiver) in TABLE {
        for (((loss, _), sender), receiver) in LOSSES.into_iter().zip(sender).zip(receiver) {
            let stress = Stress::new(gbps, loss, LG);
            let (tx, rx) = shares_at(stress);
            let name = stress.name();
            judgement
                .must(format!("larger share of both sides, {name}"), fraction(tx.max(rx)).at_most(0.67e-2));
            judgement.printed(format!("sender, {name}"), fraction(tx).near(sender, TOLERANCE));
            judgement.printed(format!("receiver, {name}"), fraction(rx).near(receiver, TOLERANCE));
            let percent = |share| format!("{} %", human::percent(share));
            rows.push(vec![name, percent(tx), percent(sender), percent(rx), percent(receiver)]);
            let without =
                results.outcome(&Stress::new(gbps, loss, LG_NB).run(frames(results.effort(), loss)));
            let what = format!("receiver, non-blocking mode, {gbps}G, {loss:e}");
            judgement.none(what, without.summary.protection.rx_recirculations);
        }
    }
    let (small, _) = shares(results, &small(results.effort()));
    let (full, _) = shares_at(Stress::new(100, 1e-5, LG_NB));
    judgement.must(
        "share of frames of 250 B divided by that of full ones",
        number(small / full.max(1e-12)).between(5.0, 7.0),
    );
    judgement.table("| sender | sender, paper | receiver | receiver, paper", rows);
    judgement.plot("l22", &figure(&shares_at));
}

fn figure(of: &dyn Fn(Stress) -> (f64, f64)) -> Plot {
    let curves = RATES.into_iter().flat_map(|gbps| {
        let shares = LOSSES.map(|(loss, _)| (loss, of(Stress::new(gbps, loss, LG))));
        let line = |name: String, points| Curve::marked(name, points);
        let tx = shares.map(|(loss, (tx, _))| (loss, tx)).to_vec();
        let rx = shares.map(|(loss, (_, rx))| (loss, rx)).to_vec();
        [line(format!("sender, {gbps}G"), tx), line(format!("receiver, {gbps}G"), rx)]
    });
    Plot::new(
        "Share of the pipeline that recirculation takes",
        "Recirculation at sender and receiver against the loss rate of the link.",
        Axis::new("loss rate of the link", Scale::Log, Unit::Number),
        Axis::new("share of the pipeline", Scale::Linear, Unit::Percent),
        curves.collect(),
    )
}
