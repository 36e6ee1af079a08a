//! J15: completion times with mechanisms, point to point.

use super::curves::{
    ALL, ALL_OPTIMIZED, CURVES, FULL_FLOWS, Mode, NO_LOSS, NONE, Panel, QUANTILES, QUICK_FLOWS, SINGLE,
    TAIL_RATIO_MAX, Table, check_close, figure_and_rows, panels,
};
use crate::papers::gao::source;
use crate::prelude::*;

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
           could prevent: they only add to the load, which at β = 1e-3 and U = 0.6 already exceeds the link rate. Tried: \
           a queue pair for each flow (J31), and by hand 16 queue pairs, WebSearch at U = 0.1. With 16, 99.9 % of each \
           mechanism alone is 13 to 34 times that of All at β = 1e-3, and 8 to 12 times with NAK, Dummy and Repeat at \
           β = 1e-4, but 1.1 times with Twice. There 4 of 10 000 flows lose their tail, with any number of queue pairs, \
           and a quantile of 99.9 % begins with 10",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let flows = results.effort().choose(QUICK_FLOWS, FULL_FLOWS);
    for table in results.effort().choose(&[Table::WebSearch][..], &[Table::WebSearch, Table::DataMining]) {
        for panel in panels(Mode::PointToPoint, *table, flows, &[1e-3, 1e-4], &[0.1, 0.6]) {
            judge_panel(judgement, results, &panel);
        }
    }
}

fn judge_panel(judgement: &mut Judgement, results: &Results<'_>, panel: &Panel) {
    // With few flows at β = 1e-4 there is no loss that a single mechanism would not repair.
    let is_sparse = results.effort() == Effort::Quick && !panel.is_lossy();
    let curves = if is_sparse { &[NO_LOSS, ALL, ALL_OPTIMIZED, "Twice"] } else { &CURVES[..] };
    let (name, of) = (panel.name(), |curve| panel.outcome(results, curve));
    let unfinished = curves.iter().map(|curve| of(curve).unfinished()).sum();
    judgement.none(format!("flows that do not finish, {name}"), unfinished);
    if panel.is_overloaded() {
        bandwidth(judgement, results, panel);
    } else {
        check_close(judgement, results, panel);
    }
    let [all, more] = [ALL, ALL_OPTIMIZED].map(of);
    for (what, quantile) in QUANTILES {
        let numbers = [(ALL_OPTIMIZED, more), (ALL, all)]
            .map(|(name, outcome)| (name, time_ns(quantile_ns(outcome, quantile))));
        judgement.must(format!("{what}, {name}"), ascending(&numbers, 0.1));
    }
    if panel.is_overloaded() {
        let test = more.mean().below(all.mean().value);
        judgement.printed(format!("mean with AllOptimized, {name}"), test);
    }
    for curve in SINGLE.into_iter().filter(|curve| curves.contains(curve)) {
        let ratio = quantile_ns(of(curve), 0.999) / quantile_ns(all, 0.999);
        let what = format!("99.9 %, {curve} alone divided by All, {name}");
        judgement.printed(what, number(ratio).at_least(TAIL_RATIO_MAX));
    }
    // The causes of timeouts explain why a single mechanism may be enough.
    if panel.is_lossy() {
        let none = of(NONE);
        let twice = none.timeouts_by(&[TimeoutCause::Retransmission]).per(none.timeouts());
        let what = format!("share of timeouts with None that are caused by a packet lost twice, {name}");
        judgement.must(what, fraction(twice.value).at_least(0.7));
    }
    figure_and_rows(judgement, results, panel, "j15", curves);
}

/// Determines whether bandwidth or timeouts limit the flows with all mechanisms.
fn bandwidth(judgement: &mut Judgement, results: &Results<'_>, panel: &Panel) {
    let [clean, all, none] = [NO_LOSS, ALL, NONE].map(|curve| panel.outcome(results, curve));
    let name = panel.name();
    // The lane on which all data leave the sender.
    let busy = all.utilisation("h0>edge0-0");
    let what = format!("utilisation of the sender's link with All, {name}");
    judgement.must(what, fraction(busy).at_least(0.9));
    // Without loss the last flow ends shortly after the last arrival, so the simulated time is that of the
    // arrivals.
    let demand = busy * all.summary.simulated_ns as f64 / clean.summary.simulated_ns as f64;
    let what = format!("demand on the sender's link during the arrivals, as a share of its rate, {name}");
    judgement.must(what, number(demand).at_least(0.95));
    judgement.none(format!("timeouts with All, {name}"), all.summary.timeouts.total());
    if panel.table == Table::WebSearch {
        let ratio = quantile_ns(none, 0.999) / quantile_ns(all, 0.999);
        judgement.must(format!("99.9 %, None divided by All, {name}"), number(ratio).at_least(10.0));
    }
}
