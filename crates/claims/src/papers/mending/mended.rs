//! J15: completion times with mechanisms, point to point.

use wiremend_measure::TimeoutCause;

use super::curves::{
    ALL, ALL_OPTIMIZED, CURVES, Mode, NO_LOSS, NONE, Panel, QUANTILES, SINGLE, TAIL_RATIO_MAX, Table,
    clean_ratios, panels, runs as runs_of, summary_row,
};
use crate::ledger::number::{ascending, fraction, number, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Outcome, Results, Run};
use crate::papers::completion::quantile_ns;
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J15",
    title: "completion times with mechanisms, point to point",
    source: source("section 6.3, Figs. 12 and 13"),
    paper: "With all mechanisms (2 dummies, 1 NAK copy, 3 copies of a retransmission) the distribution is very close \
           to that without loss, except at β = 1e-3 and U = 0.6, where bandwidth becomes the bottleneck. With more of \
           each (3, 2, 4) completion times are smaller. No single mechanism reduces them visibly",
    method: "As J14, with WebSearch and with DataMining, β of 1e-3 and 1e-4, U of 0.1 and 0.6. All is close to \
             NoLoss if the median and the 90, 99 and 99.9 % quantiles are at most half a decade (3.2 times) longer",
    note: "On a shared queue pair the next flow starts long before the timer expires and reveals a lost tail (as \
           section 3.1 of the paper says). So nearly all timeouts are caused by packets that are lost twice, as the \
           table shows, and copies of retransmissions alone prevent most of the timeouts that all mechanisms \
           prevent; lost NAKs are few, and matter only at β = 1e-3. With All no timeout remains that more copies \
           could prevent: they only add to the load, which at β = 1e-3 and U = 0.6 already exceeds the link rate",
    runs,
    judge,
};

/// From this β on there are many timeouts even in few flows.
const LOSSY_BETA: f64 = 9e-4;
const NONE_RATIO_MIN: f64 = 10.0;
const OPTIMIZED_TOLERANCE: f64 = 0.1;
const UTILISATION_MIN: f64 = 0.9;
const DEMAND_MIN: f64 = 0.95;
const LOST_TWICE_SHARE_MIN: f64 = 0.7;
/// The lane on which all data leave the sender.
const BOTTLENECK: &str = "h0>edge0-0";

fn all_panels(effort: Effort) -> Vec<Panel> {
    let panels_for = |table, flows| panels(Mode::PointToPoint, table, flows, &[1e-3, 1e-4], &[0.1, 0.6]);
    match effort {
        Effort::Quick => panels_for(Table::WebSearch, super::curves::QUICK_FLOWS),
        Effort::Full => {
            let websearch = panels_for(Table::WebSearch, super::curves::FULL_FLOWS);
            [websearch, panels_for(Table::DataMining, super::curves::FULL_FLOWS)].concat()
        }
    }
}

/// With few flows at β = 1e-4 there is no loss that a single mechanism would not repair.
fn curves(effort: Effort, panel: &Panel) -> &'static [&'static str] {
    const FEW: &[&str] = &[NO_LOSS, ALL, ALL_OPTIMIZED, "Twice"];
    if effort == Effort::Quick && panel.beta < LOSSY_BETA { FEW } else { &CURVES }
}

fn runs(effort: Effort) -> Vec<Run> {
    all_panels(effort).iter().flat_map(|panel| runs_of(&[*panel], curves(effort, panel))).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for panel in all_panels(results.effort()) {
        let curves = curves(results.effort(), &panel);
        rows.extend(curves.iter().map(|curve| summary_row(&panel, results, curve)));
        finished(judgement, &panel, results, curves);
        if panel.is_overloaded() {
            bandwidth(judgement, &panel, results);
        } else {
            close(judgement, &panel, results);
        }
        more_of_each(judgement, &panel, results);
        single(judgement, &panel, results, curves);
        if panel.beta > LOSSY_BETA {
            causes(judgement, &panel, results);
        }
        judgement.plot(&panel.file("j15"), &panel.figure(results, curves));
    }
    judgement.table("| median | 90 % | 99 % | 99.9 % | timeouts | busiest link", rows);
}

fn finished(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>, curves: &[&'static str]) {
    let lost = |curve: &'static str| {
        let summary = &panel.outcome(results, curve).summary;
        summary.flows - summary.finished
    };
    let lost = curves.iter().map(|curve| lost(curve)).sum();
    judgement.none(format!("flows that do not finish, {}", panel.name()), lost);
}

fn close(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    for (what, ratio) in clean_ratios(panel, results, ALL) {
        let what = format!("{what}, All divided by NoLoss, {}", panel.name());
        judgement.printed(what, number(ratio).at_most(TAIL_RATIO_MAX));
    }
}

/// Determines whether bandwidth or timeouts limit the flows with all mechanisms.
fn bandwidth(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let [clean, all, none] = [NO_LOSS, ALL, NONE].map(|curve| panel.outcome(results, curve));
    let name = panel.name();
    let busy = all.utilisation(BOTTLENECK);
    let demand = busy * simulated(all) / simulated(clean);
    let timeouts = all.summary.timeouts.total();
    judgement.must(
        format!("utilisation of the sender's link with All, {name}"),
        fraction(busy).at_least(UTILISATION_MIN),
    );
    judgement.must(
        format!("demand on the sender's link during the arrivals, as a share of its rate, {name}"),
        number(demand).at_least(DEMAND_MIN),
    );
    judgement.none(format!("timeouts with All, {name}"), timeouts);
    if panel.table == Table::WebSearch {
        let ratio = quantile_ns(none, 0.999) / quantile_ns(all, 0.999);
        judgement
            .must(format!("99.9 %, None divided by All, {name}"), number(ratio).at_least(NONE_RATIO_MIN));
    }
}

/// Without loss the last flow ends shortly after the last arrival, so the simulated time is that of the
/// arrivals.
fn simulated(outcome: &Outcome) -> f64 {
    outcome.summary.simulated_ns as f64
}

fn more_of_each(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let [all, more] = [ALL, ALL_OPTIMIZED].map(|curve| panel.outcome(results, curve));
    for (name, quantile) in QUANTILES {
        let numbers = [(ALL_OPTIMIZED, more), (ALL, all)]
            .map(|(name, outcome)| (name, time_ns(quantile_ns(outcome, quantile))));
        judgement.must(format!("{name}, {}", panel.name()), ascending(&numbers, OPTIMIZED_TOLERANCE));
    }
    if panel.is_overloaded() {
        let mean = |outcome: &Outcome| outcome.summary.fct_ns.map_or(f64::INFINITY, |fct| fct.mean);
        judgement.printed(
            format!("mean with AllOptimized, {}", panel.name()),
            time_ns(mean(more)).below(mean(all)),
        );
    }
}

/// Counts the causes of timeouts, which explain why a single mechanism may be enough.
fn causes(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let timeouts = &panel.outcome(results, NONE).summary.timeouts;
    let twice = timeouts.get(TimeoutCause::Retransmission) as f64 / timeouts.total().max(1) as f64;
    let what =
        format!("share of timeouts with None that are caused by a packet lost twice, {}", panel.name());
    judgement.must(what, fraction(twice).at_least(LOST_TWICE_SHARE_MIN));
}

fn single(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>, curves: &[&'static str]) {
    let all = quantile_ns(panel.outcome(results, ALL), 0.999);
    for curve in SINGLE.into_iter().filter(|curve| curves.contains(curve)) {
        let ratio = quantile_ns(panel.outcome(results, curve), 0.999) / all;
        let what = format!("99.9 %, {curve} alone divided by All, {}", panel.name());
        judgement.printed(what, number(ratio).at_least(TAIL_RATIO_MAX));
    }
}
