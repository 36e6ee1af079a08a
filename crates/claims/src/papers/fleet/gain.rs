//! L18: how often protection makes a difference.

use wiremend_report::human;

use super::years::{CONSTRAINTS, all, named, over_seeds, seeds, told};
use crate::ledger::number::fraction;
use crate::ledger::{Claim, Finding, Judgement, Results};
use crate::papers::joshi::source;
use wiremend_runner::years::figures::{Distributed, distributions};

pub(super) const CLAIM: Claim = Claim {
    id: "L18",
    title: "how often protection makes a difference to a fleet",
    source: source!("section 4.8, Fig. 16a"),
    paper: "At a constraint of 50 % there is no gain about 35 % of the time, since all corrupting links are out; at 75 % there is one nearly always",
    method: "The years of L17. The part of the time, and of the events, in which the ratio of both penalties is 1, links that are well counting 1e-18 each. Reproduced if the mean \
             over seeds is 30 % to 40 % at 50 % and at most 1 % at 75 %, both by time, as the text says, and by event, as the published figure was made",
    runs: |_| Vec::new(),
    judge,
};

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let years = all(results);
    let [half, three_quarters] = &years.by_constraint;
    for (what, of) in [("time", 0), ("events", 1)] {
        let part = |year: &super::years::Year| if of == 0 { year.no_gain.0 } else { year.no_gain.1 };
        judgement.must(
            format!("no gain at 50 %, of the {what}"),
            fraction(over_seeds(half, part).0).between(0.3, 0.4),
        );
        judgement.must(
            format!("no gain at 75 %, of the {what}"),
            fraction(over_seeds(three_quarters, part).0).at_most(0.01),
        );
    }
    let percent = |value: f64| format!("{} %", human::percent(value.max(0.0)));
    let rows = CONSTRAINTS.into_iter().zip(&years.by_constraint).map(|(constraint, of)| {
        vec![
            named(constraint),
            told(of, percent, |year| year.no_gain.0),
            told(of, percent, |year| year.no_gain.1),
            told(of, percent, |year| year.corropt.time.clean),
        ]
    });
    judgement.table(
        "constraint | no gain, of the time | of the events | no corrupting link, of the time",
        rows.collect(),
    );
    let changes: Vec<_> = CONSTRAINTS
        .into_iter()
        .zip(&years.by_constraint)
        .filter_map(|(constraint, of)| Some((named(constraint), of.first()?.changes.clone())))
        .collect();
    judgement.plot("l18", &distributions(Distributed::Gain, &changes));
    judgement.finding(
        format!(
            "no gain {} of the time at 50 % and {} at 75 % ({} seeds); of the events {} and {}",
            told(half, percent, |year| year.no_gain.0),
            told(three_quarters, percent, |year| year.no_gain.0),
            seeds(results.effort()),
            told(half, percent, |year| year.no_gain.1),
            told(three_quarters, percent, |year| year.no_gain.1),
        ),
        "Three uplinks of one ToR, or their like, must corrupt at once before a link has to stay at 50 %; at 75 % two do, and some of 261 pods always has them",
    )
}
