//! L19: capacity that protection costs a fleet.

use super::years::{CONSTRAINTS, Year, all, constraint_name, mean_text, over_seeds};
use crate::papers::joshi::source;
use crate::prelude::*;
use wiremend_runner::years::figures::{ChangeQuantity, distributions};

pub(super) const CLAIM: Claim = Claim {
    id: "L19",
    title: "capacity that protection costs a fleet",
    source: source("sections 4.8 and 5, Fig. 16b"),
    paper: "The minimum capacity of a pod falls only slightly. At most 2 links of one switch pipeline are protected at \
           the same time at a constraint of 50 %, and 4 at 75 %",
    method: "The years of L17. Measured are the largest difference, without and with protection, of the capacity of \
             the worst pod (the minimum of its two tiers, at effective speeds), and the largest number of protected \
             links of one pipeline (2 pipelines of a ToR, 6 of a fabric switch, 17 of a spine, ports by number)",
    note: "A pod has 192 links in each tier, so that a link at 60 % of its speed costs 0.2 % of the capacity. \
           The largest number in a pipeline is a maximum over years, one more than printed; the paper shows one \
           year. No other assignment of ports to pipelines was tried",
    judge,
    ..Claim::FORM
};

const PROTECTED_MAX: [u32; 2] = [2, 4];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    let years = all(results);
    let mut rows = Vec::new();
    for ((constraint, of), pipes) in CONSTRAINTS.into_iter().zip(&years.by_constraint).zip(PROTECTED_MAX) {
        let at = constraint_name(constraint);
        let lost_max = of.iter().map(|year| year.capacity_lost_max).fold(0.0, f64::max);
        judgement.must(
            format!("capacity lost by the worst pod at {at}, maximum"),
            fraction(lost_max).at_most(0.01),
        );
        let lost = |year: &Year| year.corropt.time.least_capacity - year.both.time.least_capacity;
        let what = format!("capacity lost by the worst pod at {at}, mean");
        judgement.must(what, fraction(over_seeds(of, lost).0).at_most(0.001));
        let most = of.iter().map(|year| year.both.most_per_pipe_max).max().unwrap_or(0);
        judgement.printed(
            format!("largest number of protected links in a pipeline at {at}"),
            number(f64::from(most)).at_most(f64::from(pipes)),
        );
        let percent = |value: f64| format!("{} %", human::percent(value.clamp(0.0, 1.0)));
        rows.push(vec![
            at,
            mean_text(of, percent, |year| year.corropt.time.least_capacity),
            mean_text(of, percent, |year| year.both.time.least_capacity),
            percent(lost_max),
            mean_text(of, percent, |year| year.corropt.least_capacity_min),
            most.to_string(),
        ]);
    }
    judgement.table(
        "constraint | mean minimum capacity, CorrOpt | with LinkGuardian | largest loss of capacity | lowest \
         capacity, CorrOpt | most protected links in a pipeline",
        rows,
    );
    judgement.plot("l19", &distributions(ChangeQuantity::CapacityLost, &years.changes()));
}
