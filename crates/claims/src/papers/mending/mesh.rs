//! J16: completion times with mechanisms, full mesh.

use super::curves::{
    ALL, ALL_OPTIMIZED, CURVES, FULL_FLOWS, Mode, NO_LOSS, NONE, QUANTILES, SINGLE, Table, check_close,
    figure_and_rows, panels,
};
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J16",
    title: "completion times with mechanisms, full mesh",
    source: source("section 6.3, Fig. 14"),
    paper: "All hosts send to all others. As with point to point, the distribution with all mechanisms is close to \
           that without loss",
    method: "As J15, with WebSearch, each flow between two random hosts, one queue pair per pair of hosts. All is \
             close to NoLoss as in J15",
    note: "Few timeouts remain: they occur where a switch sent the copies for a packet of another connection, \
           because it identifies packets only by their numbers, and all queue pairs start with the same one (J26). The remaining cost is retransmissions of go-back-N. \
           Queues in the network increase their number, because they make the round trip longer",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let flows = results.effort().choose(400, FULL_FLOWS);
    let (betas, loads) = results.effort().choose((&[1e-3][..], &[0.1][..]), (&[1e-3, 1e-4], &[0.1, 0.6]));
    for panel in panels(Mode::FullMesh, Table::WebSearch, flows, betas, loads) {
        let name = panel.name();
        let tail = |curve| quantile_ns(panel.outcome(results, curve), 0.999);
        if !panel.is_overloaded() {
            check_close(judgement, results, &panel);
        }
        let timeouts = |curve: &'static str| panel.outcome(results, curve).summary.timeouts.total();
        judgement.none(format!("timeouts with All, {name}"), timeouts(ALL));
        if panel.is_lossy() {
            let ratio = |less: &'static str| number(tail(NONE) / tail(less));
            judgement.must(format!("99.9 %, None divided by All, {name}"), ratio(ALL).at_least(2.0));
            if !panel.is_overloaded() {
                judgement
                    .must(format!("99.9 %, None divided by NoLoss, {name}"), ratio(NO_LOSS).at_least(10.0));
            }
            // With few flows no NAK is lost, so copies of retransmissions alone would leave no timeout.
            let is_quick = results.effort() == Effort::Quick;
            for curve in SINGLE.into_iter().filter(|&curve| !is_quick || curve != "Twice") {
                judgement.some(format!("timeouts with {curve} alone, {name}"), timeouts(curve));
            }
        }
        for (what, quantile) in QUANTILES.into_iter().take(3) {
            let time = |curve| (curve, time_ns(quantile_ns(panel.outcome(results, curve), quantile)));
            let test = ascending(&[ALL_OPTIMIZED, ALL].map(time), 0.25);
            judgement.must(format!("{what}, {name}"), test);
        }
        figure_and_rows(judgement, results, &panel, "j16", &CURVES);
    }
}
