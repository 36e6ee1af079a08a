//! J14: completion times over corrupting links, without mechanisms.

use super::curves::{FULL_FLOWS, Mode, NO_LOSS, NONE, QUICK_FLOWS, RTO_NS, Table, axes, panels};
use crate::papers::gao::source;
use crate::prelude::*;

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
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let betas = results.effort().choose(&[1e-4, 1e-3][..], &[1e-6, 1e-5, 1e-4, 1e-3]);
    let flows = results.effort().choose(QUICK_FLOWS, FULL_FLOWS);
    let mut worst = Vec::new();
    for load in [0.1, 0.6] {
        let panels = panels(Mode::PointToPoint, Table::WebSearch, flows, betas, &[load]);
        let clean = panels[0].outcome(results, NO_LOSS);
        let at_999 = |outcome| time_ns(quantile_ns(outcome, 0.999));
        let mut rising = vec![(NO_LOSS.to_owned(), at_999(clean))];
        let mut curves = vec![distribution(NO_LOSS, clean)];
        for panel in &panels {
            let outcome = panel.outcome(results, NONE);
            let (median, tail) = (time_ns(quantile_ns(outcome, 0.5)), at_999(outcome));
            let beta = format!("β = {:e}", panel.beta);
            rising.push((beta.clone(), tail));
            curves.push(distribution(&beta, outcome));
            let long = fraction(share_above(outcome, 1e7));
            judgement.row(panel.name(), [&median, &tail, &long, &outcome.timeouts()]);
            judgement.none(format!("flows that do not finish, {}", panel.name()), outcome.unfinished());
            // The β that the paper names.
            if panel.is_lossy() {
                let what = format!("99.9 % divided by that without loss, U = {load}, β = 1e-3");
                judgement.must(what, (tail / at_999(clean)).at_least(10.0));
                let what = format!("slowest flow, U = {load}, β = 1e-3");
                judgement.must(what, outcome.longest().at_least(RTO_NS));
                worst.push([median, tail]);
            }
        }
        let rising: Vec<_> = rising.iter().map(|(name, tail)| (name.as_str(), *tail)).collect();
        judgement.must(format!("99.9 %, U = {load}"), ascending(&rising, 0.1));
        let plot = Plot {
            title: format!("Completion times: WebSearch, U = {load}, no mechanism"),
            description: "Cumulative distribution of completion times at several corruption rates."
                .to_owned(),
            curves,
            ..axes(flows)
        };
        judgement.plot(&format!("j14-u{:.0}", load * 100.0), &plot);
    }
    for (quantile, name) in ["median", "99.9 %"].iter().enumerate() {
        let numbers = [("U = 0.1", worst[0][quantile]), ("U = 0.6", worst[1][quantile])];
        judgement.must(format!("{name} at β = 1e-3"), ascending(&numbers, 0.0));
    }
    judgement.columns("| median | 99.9 % | above 10 ms | timeouts");
}
