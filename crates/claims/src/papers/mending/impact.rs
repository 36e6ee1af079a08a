//! J14: completion times over corrupting links, without mechanisms.

use wiremend_report::human;
use wiremend_report::plot::Plot;

use super::curves::{Mode, NO_LOSS, NONE, Panel, Table, axes, panels, runs as runs_of};
use crate::ledger::number::{ascending, number, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::completion::{distribution, quantile_ns, share_above};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J14",
    title: "long completion times over corrupting links",
    source: source("section 6.2, Fig. 10"),
    paper: "10 000 flows of WebSearch at a load of 10 % and 60 %: even a low corruption (β = 1e-3) causes extremely \
           long completion times and distorts their distribution, more so at the higher load",
    method: "Clos with k = 4, point to point across pods, all links between switches corrupt, one queue pair, \
             timeout code 14",
    note: "A timeout of 67 ms stops the queue pair and delays all later flows: at a higher load more flows are \
           delayed, and the backlog takes longer to clear",
    runs,
    judge,
};

const LOADS: [f64; 2] = [0.1, 0.6];
/// The β that the paper names.
const PRINTED_BETA: f64 = 1e-3;
const TAIL_RATIO_MIN: f64 = 10.0;
const TOLERANCE: f64 = 0.1;
const LONG_NS: f64 = 1e7;

fn betas(effort: Effort) -> &'static [f64] {
    effort.choose(&[1e-4, 1e-3], &[1e-6, 1e-5, 1e-4, 1e-3])
}

fn at(effort: Effort, load: f64) -> Vec<Panel> {
    let flows = effort.choose(super::curves::QUICK_FLOWS, super::curves::FULL_FLOWS);
    panels(Mode::PointToPoint, Table::WebSearch, flows, betas(effort), &[load])
}

fn runs(effort: Effort) -> Vec<Run> {
    LOADS.iter().flat_map(|&load| runs_of(&at(effort, load), &[NO_LOSS, NONE])).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let (mut rows, mut worst) = (Vec::new(), Vec::new());
    for load in LOADS {
        let panels = at(results.effort(), load);
        let clean = panels[0].outcome(results, NO_LOSS);
        let mut rising = vec![(NO_LOSS.to_owned(), quantile_ns(clean, 0.999))];
        for panel in &panels {
            let outcome = panel.outcome(results, NONE);
            let tail = quantile_ns(outcome, 0.999);
            rising.push((format!("β = {:e}", panel.beta), tail));
            rows.push(vec![
                panel.name(),
                human::time_ns(quantile_ns(outcome, 0.5)),
                human::time_ns(tail),
                format!("{} %", human::percent(share_above(outcome, LONG_NS))),
                human::count(outcome.summary.timeouts.total()),
            ]);
            let unfinished = outcome.summary.flows - outcome.summary.finished;
            judgement.none(format!("flows that do not finish, {}", panel.name()), unfinished);
            if panel.beta == PRINTED_BETA {
                let ratio = tail / quantile_ns(clean, 0.999);
                let what = format!("99.9 % divided by that without loss, U = {load}, β = 1e-3");
                judgement.must(what, number(ratio).at_least(TAIL_RATIO_MIN));
                let slowest = outcome.summary.fct_ns.map_or(0.0, |fct| fct.max);
                let what = format!("slowest flow, U = {load}, β = 1e-3");
                judgement.must(what, time_ns(slowest).at_least(super::curves::RTO_NS));
                worst.push([quantile_ns(outcome, 0.5), tail]);
            }
        }
        let rising: Vec<_> = rising.iter().map(|(name, ns)| (name.as_str(), time_ns(*ns))).collect();
        judgement.must(format!("99.9 %, U = {load}"), ascending(&rising, TOLERANCE));
        judgement.plot(&format!("j14-u{:.0}", load * 100.0), &figure(results, load));
    }
    for (quantile, name) in ["median", "99.9 %"].iter().enumerate() {
        let numbers = [("U = 0.1", time_ns(worst[0][quantile])), ("U = 0.6", time_ns(worst[1][quantile]))];
        judgement.must(format!("{name} at β = 1e-3"), ascending(&numbers, 0.0));
    }
    judgement.table("| median | 99.9 % | above 10 ms | timeouts", rows);
}

fn figure(results: &Results<'_>, load: f64) -> Plot {
    let panels = at(results.effort(), load);
    let mut curves = vec![distribution(NO_LOSS, panels[0].outcome(results, NO_LOSS))];
    let curve = |panel: &Panel| distribution(&format!("β = {:e}", panel.beta), panel.outcome(results, NONE));
    curves.extend(panels.iter().map(curve));
    Plot {
        title: format!("Completion times: WebSearch, U = {load}, no mechanism"),
        description: "Cumulative distribution of completion times at several corruption rates.".to_owned(),
        curves,
        ..axes(panels[0].flows)
    }
}
