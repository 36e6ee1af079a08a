//! L37: corrupting links that cannot be taken out.

use super::years::{CONSTRAINTS, Year, all, constraint_name, mean_text, over_seeds};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L37",
    title: "corrupting links that cannot be taken out",
    source: source("sections 1 and 2, from Zhuo et al. 2017"),
    paper: "About 15 % of the corrupting links cannot be disabled under realistic capacity constraints (in Microsoft's \
           data centres)",
    method: "The years of L17, a fabric of Facebook's shape and links that fail independently: of the links that start \
             to corrupt while in service, the share that the fast checker keeps, at the higher constraint, 75 %. 14.5 \
             to 15.5 %. Tried too: 50 %, and the share of the time that a corrupting link is in service",
    note: "The shape of the fabric and failures with a common cause decide this number; neither is published for the \
           networks in which it was measured",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    for (constraint, years) in CONSTRAINTS.into_iter().zip(&all(results).by_constraint) {
        let at = constraint_name(constraint);
        let kept = |year: &Year| {
            let counters = year.corropt.counters;
            counters.refused as f64 / (counters.refused + counters.disabled_on_arrival).max(1) as f64
        };
        let in_service = |year: &Year| {
            let time = year.corropt.time;
            time.active / (time.active + time.disabled)
        };
        if constraint > 0.5 {
            let found = fraction(over_seeds(years, kept).0);
            judgement.printed(format!("links kept in service at {at}"), found.between(0.145, 0.155));
        }
        let percent = |value: f64| format!("{} %", human::percent(value));
        judgement.row(at, [&mean_text(years, percent, kept), &mean_text(years, percent, in_service)]);
    }
    judgement
        .columns("constraint | kept on arrival | share of the corrupting links in service, mean over time");
}
