//! L38: protection in a part of the pods.

use wiremend_fleet::{DisableRule, Objective, Policy, PolicyOutcome, Protection};

use super::years::{CONSTRAINTS, constraint_name, simulate};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L38",
    title: "incremental deployment",
    source: source("section 5"),
    paper: "LinkGuardian can be deployed incrementally as switches are replaced. Which links yield most is left open",
    method: "Years as in L17 (6 seeds) with CorrOpt, and protection of the ToRs' links in a quarter, a half, three \
             quarters and all of the pods, or of all links. The penalty must fall with each step. At 75 %, where many links \
             stay in service, the links of a share of the pods must remove that share of what those of all pods remove, \
             within 10 %",
    note: "",
    judge,
    ..Claim::FORM
};

const PARTS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    let policy = |protection| Policy { disable_rule: DisableRule::CorrOpt(Objective::RawLoss), protection };
    let pods = PARTS.map(|part| policy(Protection::Pods(part)));
    let policies = [&[Policy::CORROPT], &pods[..], &[Policy::LINKGUARDIAN_CORROPT]].concat();
    for constraint in CONSTRAINTS {
        let at = constraint_name(constraint);
        let penalties = |_, outcomes: Vec<PolicyOutcome>| {
            outcomes.iter().map(|outcome| outcome.time.penalty).collect::<Vec<_>>()
        };
        let years = simulate(results, constraint, &policies, 6, penalties);
        let mean =
            |place: usize| number(years.iter().map(|year| year[place]).sum::<f64>() / years.len() as f64);
        let [none, quarter, half, most, pods, all] = [0, 1, 2, 3, 4, 5].map(mean);
        let order = [
            ("all links", all),
            ("pods", pods),
            ("3/4", most),
            ("1/2", half),
            ("1/4", quarter),
            ("none", none),
        ];
        judgement.printed(format!("penalty by protected pods at {at}"), ascending(&order, 0.0));
        for (part, penalty) in PARTS.into_iter().zip([quarter, half, most]).filter(|_| constraint > 0.5) {
            let gone = (none - penalty) / (none - pods);
            let what =
                format!("share of the removed penalty that {} % of the pods remove at {at}", part * 100.0);
            judgement.must(what, gone.between(part - 0.1, part + 0.1));
        }
        judgement.row(at, [&none, &quarter, &half, &most, &pods, &all]);
    }
    judgement.columns("constraint | CorrOpt | 1/4 of the pods | 1/2 | 3/4 | all pods | all links");
}
