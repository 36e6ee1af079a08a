//! L19: what protection costs a fleet.

use wiremend_report::human;

use super::years::{CONSTRAINTS, Year, all, named, over_seeds, seeds, told};
use crate::ledger::number::{fraction, number};
use crate::ledger::{Claim, Finding, Judgement, Results};
use crate::papers::joshi::source;
use wiremend_runner::years::figures::{Distributed, distributions};

pub(super) const CLAIM: Claim = Claim {
    id: "L19",
    title: "what protection costs a fleet",
    source: source!("sections 4.8 and 5, Fig. 16b"),
    paper: "The least capacity of a pod falls only slightly; at most 2 links of one pipeline of a switch are protected at once at 50 %, and 4 at 75 %",
    method: "The years of L17. The worst pod's capacity (the lesser of its two tiers, at effective speeds) without protection less that with it, at its greatest; and the most protected links of one pipe (2 pipes of a \
             ToR, 6 of a fabric switch, 17 of a spine, ports by number). Reproduced if capacity falls by at most 1 % at any time of any seed, by at most 0.1 % on average, and most seeds have at most 2 links a pipe at 50 % and 4 at 75 %, none more than one more",
    runs: |_| Vec::new(),
    judge,
};

const PIPES: [u32; 2] = [2, 4];

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let years = all(results);
    let mut told_pipes = Vec::new();
    let mut rows = Vec::new();
    for ((constraint, of), pipes) in CONSTRAINTS.into_iter().zip(&years.by_constraint).zip(PIPES) {
        let at = named(constraint);
        let lost_max = of.iter().map(|year| year.capacity_lost_max).fold(0.0, f64::max);
        judgement
            .must(format!("worst pod's capacity lost at {at}, at most"), fraction(lost_max).at_most(0.01));
        let lost = |year: &Year| year.corropt.time.least_capacity - year.both.time.least_capacity;
        let what = format!("worst pod's capacity lost at {at}, on average");
        judgement.must(what, fraction(over_seeds(of, lost).0).at_most(0.001));
        let within = |most: u32| of.iter().filter(|year| year.both.most_per_pipe_max <= most).count();
        let part = within(pipes) as f64 / of.len().max(1) as f64;
        judgement.must(format!("seeds with at most {pipes} in a pipe at {at}"), fraction(part).at_least(0.5));
        let most = of.iter().map(|year| year.both.most_per_pipe_max).max().unwrap_or(0);
        judgement
            .must(format!("most in a pipe at {at}"), number(f64::from(most)).at_most(f64::from(pipes + 1)));
        told_pipes.push(format!("{most} at {at} ({} of {} seeds at most {pipes})", within(pipes), of.len()));
        let percent = |value: f64| format!("{} %", human::percent(value.clamp(0.0, 1.0)));
        rows.push(vec![
            at,
            told(of, percent, |year| year.corropt.time.least_capacity),
            told(of, percent, |year| year.both.time.least_capacity),
            percent(lost_max),
            told(of, percent, |year| year.corropt.least_capacity_min),
            most.to_string(),
        ]);
    }
    judgement.table(
        "constraint | least capacity, CorrOpt | with LinkGuardian | lost at most | least ever | most in a pipe",
        rows,
    );
    let changes: Vec<_> = CONSTRAINTS
        .into_iter()
        .zip(&years.by_constraint)
        .filter_map(|(constraint, of)| Some((named(constraint), of.first()?.changes.clone())))
        .collect();
    judgement.plot("l19", &distributions(Distributed::CapacityLost, &changes));
    judgement.finding(
        format!(
            "most protected links in one pipe: {}; over {} seeds",
            told_pipes.join(", "),
            seeds(results.effort())
        ),
        "A pod has 192 links in each tier, so that one at 60 % of its speed takes 0.2 %",
    )
}
