//! J16: completion times with mechanisms, full mesh.

use super::curves::{
    ALL, ALL_OPTIMIZED, CURVES, Mode, NO_LOSS, NONE, Panel, QUANTILES, SINGLE, TAIL_RATIO_MAX, Table,
    clean_ratios, panels, runs as runs_of, summary_row,
};
use crate::ledger::number::{ascending, number, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::completion::quantile_ns;
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J16",
    title: "completion times with mechanisms, full mesh",
    source: source("section 6.3, Fig. 14"),
    paper: "All hosts send to all others. As with point to point, the distribution with all mechanisms is close to \
           that without loss",
    method: "As J15, with WebSearch, each flow between two random hosts, one queue pair per pair of hosts. All is \
             close to NoLoss as in J15",
    note: "Few timeouts remain: they occur where a switch sent the copies for a packet of another connection, \
           because it identifies packets only by their numbers. The remaining cost is retransmissions of go-back-N. \
           Queues in the network increase their number, because they make the round trip longer",
    runs,
    judge,
};

const OPTIMIZED_TOLERANCE: f64 = 0.25;
const NONE_RATIO_MIN: f64 = 2.0;
const NO_LOSS_RATIO_MIN: f64 = 10.0;

fn all_panels(effort: Effort) -> Vec<Panel> {
    let flows = effort.choose(400, super::curves::FULL_FLOWS);
    let panels_at =
        |betas: &[f64], loads: &[f64]| panels(Mode::FullMesh, Table::WebSearch, flows, betas, loads);
    effort.choose(panels_at(&[1e-3], &[0.1]), panels_at(&[1e-3, 1e-4], &[0.1, 0.6]))
}

fn runs(effort: Effort) -> Vec<Run> {
    runs_of(&all_panels(effort), &CURVES)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let mut rows = Vec::new();
    for panel in all_panels(effort) {
        rows.extend(CURVES.map(|curve| summary_row(&panel, results, curve)));
        let name = panel.name();
        if !panel.is_overloaded() {
            for (what, ratio) in clean_ratios(&panel, results, ALL) {
                let what = format!("{what}, All divided by NoLoss, {name}");
                judgement.printed(what, number(ratio).at_most(TAIL_RATIO_MAX));
            }
        }
        let timeouts = |curve: &'static str| panel.outcome(results, curve).summary.timeouts.total();
        judgement.none(format!("timeouts with All, {name}"), timeouts(ALL));
        if panel.beta > 9e-4 {
            lossy(judgement, &panel, results);
            // With few flows no NAK is lost, so copies of retransmissions alone would leave no timeout.
            let singles = SINGLE.into_iter().filter(|&curve| effort == Effort::Full || curve != "Twice");
            for curve in singles {
                let left = number(timeouts(curve) as f64).at_least(1.0);
                judgement.must(format!("timeouts with {curve} alone, {name}"), left);
            }
        }
        for (what, quantile) in QUANTILES.into_iter().take(3) {
            let time = |curve| (curve, time_ns(quantile_ns(panel.outcome(results, curve), quantile)));
            judgement.must(
                format!("{what}, {name}"),
                ascending(&[ALL_OPTIMIZED, ALL].map(time), OPTIMIZED_TOLERANCE),
            );
        }
        judgement.plot(&panel.file("j16"), &panel.figure(results, &CURVES));
    }
    judgement.table("| median | 90 % | 99 % | 99.9 % | timeouts | busiest link", rows);
}

/// Checks the effect of the mechanisms at the higher corruption.
fn lossy(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let tail = |curve| quantile_ns(panel.outcome(results, curve), 0.999);
    let name = panel.name();
    judgement.must(
        format!("99.9 %, None divided by All, {name}"),
        number(tail(NONE) / tail(ALL)).at_least(NONE_RATIO_MIN),
    );
    if !panel.is_overloaded() {
        let ratio = number(tail(NONE) / tail(NO_LOSS)).at_least(NO_LOSS_RATIO_MIN);
        judgement.must(format!("99.9 %, None divided by NoLoss, {name}"), ratio);
    }
}
