//! L11: flows of which most lose a packet.

use super::late_hosts;
use super::transport::Transport;
use super::trial::{
    ALL, COLUMNS, HARDENED, HARDENED_NB, LOSS, NO_LOSS, PROTECTED, RETX_TAIL, SHOWN_VARIANTS, Trial,
};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L11",
    title: "flows of 2 MB over a protected link",
    source: source("sections 4.3 and 4.4, Fig. 12"),
    paper: "Flows of 2 MB with DCTCP over a 100G link with loss rate 1e-3, of which about 80 % are affected: the 99.9 \
           % quantile is 4 times shorter with LinkGuardian and 2 times with its non-blocking mode. Its longer tail \
           consists of flows that had much left to send when late packets made them reduce their window",
    method: "As L10 with DCTCP, with 10 000 flows of 2 MB (1382 packets); quick: 1000. Flows without SACK show the \
             cost of unnecessary window reductions: they cannot detect that a packet was only late, and must not be \
             faster at 99 % over the non-blocking modes than with loss, so that the printed 2 is between the two. \
             Flows between hosts of 40G show the effect of slower hosts, and must gain less in the ordered mode at \
             99 %. Gains have a 95 % interval from ranks",
    note: "In the non-blocking mode each loss still makes a sender reduce its window. Soon a duplicate packet \
           (D-SACK, RFC 3708) shows that nothing was lost, and the sender undoes the reduction: at once with \
           the prototype, which delivers both of its copies, and a round trip later with the hardened protocol. \
           Without SACK no reduction is undone, and the non-blocking mode is no better than loss. Tried: hosts \
           that react late process both copies together, the reduction remains for longer, and the gain of the \
           non-blocking mode is the printed one. The gain of the ordered mode is still larger than printed: \
           flows without loss take less time than in the testbed, whose times are not printed. Tried by hand \
           with 4000 flows: between such hosts with links of 40G the gains are 4.8 and 2.1",
    judge,
    ..Claim::FORM
};

const PRINTED: [(&str, f64); 2] = [(ALL, 4.0), (RETX_TAIL, 2.0)];
/// A flow takes visibly longer if it exceeds the longest flow without loss by this factor.
const VISIBLE_RATIO: f64 = 1.001;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let trial = Trial::new(2_000_000, effort, Transport::Dctcp);
    let trial = Trial { flows: effort.choose(1_000, 10_000), ..trial };
    let clean = trial.quantile_ns(results, NO_LOSS, 1.0) * VISIBLE_RATIO;
    let lossy = trial.outcome(results, LOSS);
    let with_loss = 1.0 - (-(lossy.summary.corrupted_frames as f64) / f64::from(trial.flows)).exp();
    judgement.must("flows that lost a packet, loss", fraction(with_loss).near(0.8, 0.05));
    judgement.must("flows that take longer, loss", fraction(share_above(lossy, clean)).at_least(0.5));
    for variant in &SHOWN_VARIANTS[..6] {
        let outcome = trial.outcome(results, variant);
        judgement.none(format!("flows that do not finish, {variant}"), outcome.unfinished());
        trial.row(judgement, results, variant);
    }
    for variant in PROTECTED {
        let timeouts = trial.outcome(results, variant).summary.timeouts.total();
        judgement.none(format!("timeouts, {variant}"), timeouts);
    }
    for variant in [ALL, HARDENED] {
        trial.check_losses_hidden(judgement, results, variant);
    }
    // Fewer flows, enough for the 99 % quantile, with another value of the scenario.
    let fewer = Trial { flows: effort.choose(200, 2_000), ..trial };
    let gain_with = |path: &str, value: &str, variant| {
        let at_99 = |variant| exact_ns(results.outcome(&fewer.run(variant).set(path, value)), 0.99);
        number(at_99(LOSS) / at_99(variant))
    };
    for variant in [RETX_TAIL, HARDENED_NB] {
        // The sender cannot detect that a packet was only late.
        let blind = gain_with("transport.tcp.sack", "false", variant);
        judgement.must(format!("gain at 99 % without SACK, {variant}"), blind.at_most(1.0));
        let what = format!("gain at 99.9 % with SACK, {variant}");
        judgement.must(what, number(trial.gain(results, variant)).at_least(PRINTED[1].1));
    }
    // A loss costs a smaller share of a longer flow.
    let gain = trial.quantile_ns(results, LOSS, 0.99) / trial.quantile_ns(results, ALL, 0.99);
    let slower = gain_with("topology.host_rate", "40Gbps", ALL);
    judgement.must(format!("gain at 99 %, hosts of 40G, {ALL}"), slower.below(gain));
    let late = PRINTED.map(|(variant, gain)| {
        // Half a unit of the printed digit.
        let test = number(trial.gain(results, variant)).between(gain - 0.5, gain + 0.5);
        (judgement.printed(format!("gain at 99.9 %, {variant}"), test), trial.late_gain(results, variant))
    });
    late_hosts::explain(judgement, &late);
    judgement.plot("l11-dctcp", &trial.figure(results, &SHOWN_VARIANTS[..6], 0.95));
    judgement.columns(COLUMNS);
}
