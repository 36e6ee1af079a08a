//! J16: completion times with mechanisms, full mesh.

use super::curves::{
    ALL, ALL_OPTIMIZED, CLOSE, CURVES, Mode, NONE, Panel, QUANTILES, SINGLE, Table, panels, quantile_ns,
    ratios, runs as runs_of, summary_row,
};
use super::source;
use crate::ledger::number::{ascending, count, number, shown, time_ns};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "J16",
    title: "completion times with mechanisms, full mesh",
    source: source!("section 6.3, Fig. 14"),
    paper: "All hosts send to all others: as point to point, the distribution with all mechanisms is close to that without loss",
    method: "As J15, WebSearch, each flow between two hosts at random, one queue pair for each two. Close means that median, 90 and \
             99 % quantile are at most half a decade (3.2 times) longer; the 99.9 % quantile, which the paper's linear axis does not \
             show, is in the table. Reproduced if All is close to NoLoss but at β = 1e-3 and U = 0.6 and leaves no timeout anywhere; if at \
             β = 1e-3 None is at 99.9 % at least twice as long as All, and at U = 0.1 at least 10 times as long as NoLoss; if at β = 1e-3 \
             each single mechanism leaves timeouts; and if AllOptimized is at most 25 % longer than All up to the 99 % quantile",
    runs,
    judge,
};

const SLACK: f64 = 0.25;
const WORSE: f64 = 2.0;
const LONGER: f64 = 10.0;

fn all_panels(effort: Effort) -> Vec<Panel> {
    let flows = effort.choose(400, super::curves::FULL_FLOWS);
    let of = |betas: &[f64], loads: &[f64]| panels(Mode::FullMesh, Table::WebSearch, flows, betas, loads);
    effort.choose(of(&[1e-3], &[0.1]), of(&[1e-3, 1e-4], &[0.1, 0.6]))
}

fn runs(effort: Effort) -> Vec<Run> {
    runs_of(&all_panels(effort), &CURVES)
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let effort = results.effort();
    let (mut rows, mut measured) = (Vec::new(), Vec::new());
    for panel in all_panels(effort) {
        rows.extend(CURVES.map(|curve| summary_row(&panel, results, curve)));
        let name = panel.name();
        let [visible @ .., slowest] = ratios(&panel, results, ALL);
        let furthest = visible.into_iter().fold(0.0, f64::max);
        if !panel.is_overloaded() {
            judgement.must(
                format!("All against NoLoss where it is furthest, {name}"),
                number(furthest).at_most(CLOSE),
            );
        }
        let timeouts = |curve: &'static str| panel.of(results, curve).summary.timeouts.total();
        judgement.must(format!("timeouts with All, {name}"), count(timeouts(ALL)).is(0));
        measured.push(format!(
            "{} times NoLoss, and {} times at 99.9 %, for {name}",
            shown(furthest),
            shown(slowest)
        ));
        if panel.beta > 9e-4 {
            lossy(&mut judgement, &panel, results);
            // In few flows no NAK is lost that copies of retransmissions alone could fail at.
            let singles = SINGLE.into_iter().filter(|&curve| effort == Effort::Full || curve != "Twice");
            for curve in singles {
                let left = number(timeouts(curve) as f64).at_least(1.0);
                judgement.must(format!("timeouts with {curve} alone, {name}"), left);
            }
        }
        for (what, quantile) in QUANTILES.into_iter().take(visible.len()) {
            let time = |curve| (curve, time_ns(quantile_ns(panel.of(results, curve), quantile)));
            judgement.must(format!("{what}, {name}"), ascending(&[ALL_OPTIMIZED, ALL].map(time), SLACK));
        }
        judgement.plot(&panel.file("j16"), &panel.figure(results, &CURVES));
    }
    judgement.table(&["", "median", "90 %", "99 %", "99.9 %", "timeouts", "busiest link"], rows);
    judgement.finding(
        format!("All where it is furthest from NoLoss up to 99 %: {}", measured.join("; ")),
        "No timeout is left; what remains is what go-back-N sends again, which queues in the network make more, since they make \
         the round trip longer",
    )
}

/// What mechanisms are good for at β = 1e-3.
fn lossy(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let tail = |curve| quantile_ns(panel.of(results, curve), 0.999);
    judgement.must(
        format!("None against All at 99.9 %, {}", panel.name()),
        number(tail(NONE) / tail(ALL)).at_least(WORSE),
    );
    if !panel.is_overloaded() {
        let [.., ratio] = ratios(panel, results, NONE);
        judgement
            .must(format!("None against NoLoss at 99.9 %, {}", panel.name()), number(ratio).at_least(LONGER));
    }
}
