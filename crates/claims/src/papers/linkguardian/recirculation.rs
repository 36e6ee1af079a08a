//! L22: pipeline capacity that recirculating buffers use.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, LG_NB, LOSSES, Stress, counted, frames};

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
/// By link rate: shares of sender and receiver at each loss rate.
const TABLE: [(u32, [f64; 3], [f64; 3]); 2] = [
    (25, [0.450e-2, 0.449e-2, 0.444e-2], [0.661e-2, 0.662e-2, 0.664e-2]),
    (100, [0.663e-2, 0.657e-2, 0.608e-2], [0.657e-2, 0.658e-2, 0.662e-2]),
];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let shares = |run: &Run| {
        let summary = &results.outcome(run).summary;
        let frames = summary.simulated_ns.max(1) as f64 * 1e-9 * PIPELINE_FRAMES_PER_S;
        let sum = summary.protection;
        [sum.tx_recirculations, sum.rx_recirculations].map(|passes| fraction(passes as f64 / frames))
    };
    let at = |stress: Stress| shares(&stress.run(frames(effort, stress.loss)));
    for (gbps, sender, receiver) in TABLE {
        for (((loss, _), sender), receiver) in LOSSES.into_iter().zip(sender).zip(receiver) {
            let stress = Stress::new(gbps, loss, LG);
            let (name, [tx, rx]) = (stress.name(), at(stress));
            let larger = fraction(tx.value.max(rx.value));
            judgement.must(format!("larger share of both sides, {name}"), larger.at_most(0.67e-2));
            judgement.printed(format!("sender, {name}"), tx.near(sender, 0.1));
            judgement.printed(format!("receiver, {name}"), rx.near(receiver, 0.1));
            judgement.row(name, [&tx, &fraction(sender), &rx, &fraction(receiver)]);
            let (_, without) = counted(results, Stress::new(gbps, loss, LG_NB));
            let what = format!("receiver, non-blocking mode, {gbps}G, {loss:e}");
            judgement.none(what, without.rx_recirculations);
        }
    }
    // Frames of 250 B arrive six times as often.
    let run = Stress::new(100, 1e-5, LG_NB).run(effort.choose(30_000, 200_000));
    let [small, _] = shares(&run.set("workload.0.frame", 250));
    let [full, _] = at(Stress::new(100, 1e-5, LG_NB));
    let ratio = number(small.value / full.value.max(1e-12));
    judgement.must("share of frames of 250 B divided by that of full ones", ratio.between(5.0, 7.0));
    judgement.columns("| sender | sender, paper | receiver | receiver, paper");
}
