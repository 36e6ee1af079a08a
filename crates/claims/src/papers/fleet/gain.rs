//! L18: share of the time in which protection reduces the penalty.

use super::years::{CONSTRAINTS, all, constraint_name, mean_text, over_seeds};
use crate::papers::joshi::source;
use crate::prelude::*;
use wiremend_runner::years::figures::{ChangeQuantity, distributions};

pub(super) const CLAIM: Claim = Claim {
    id: "L18",
    title: "how often protection helps a fleet",
    source: source("section 4.8, Fig. 16a"),
    paper: "At a constraint of 50 % there is no gain about 35 % of the time, because all corrupting links are taken \
           out. At 75 % there is nearly always a gain",
    method: "The years of L17. Measured is the share of the time, and of the events, in which the ratio of both \
             penalties is 1, where each healthy link counts 1e-18",
    note: "CorrOpt can take out all corrupting links at 50 % unless three uplinks of one ToR, or similar links, \
           corrupt at the same time; at 75 % two are enough, and some of the 261 pods always has two",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    let years = all(results);
    let [half, three_quarters] = &years.by_constraint;
    for (what, of) in [("time", 0), ("events", 1)] {
        let part = |year: &super::years::Year| if of == 0 { year.no_gain.0 } else { year.no_gain.1 };
        judgement.must(
            format!("share of the {what} without a gain at 50 %"),
            fraction(over_seeds(half, part).0).between(0.3, 0.4),
        );
        judgement.must(
            format!("share of the {what} without a gain at 75 %"),
            fraction(over_seeds(three_quarters, part).0).at_most(0.01),
        );
    }
    let percent = |value: f64| format!("{} %", human::percent(value.max(0.0)));
    let rows = CONSTRAINTS.into_iter().zip(&years.by_constraint).map(|(constraint, of)| {
        vec![
            constraint_name(constraint),
            mean_text(of, percent, |year| year.no_gain.0),
            mean_text(of, percent, |year| year.no_gain.1),
            mean_text(of, percent, |year| year.corropt.time.clean),
        ]
    });
    judgement.table(
        "constraint | no gain, share of the time | no gain, share of the events | no corrupting link, share of the \
         time",
        rows.collect(),
    );
    judgement.plot("l18", &distributions(ChangeQuantity::Gain, &years.changes()));
}
