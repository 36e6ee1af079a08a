//! L17: total penalty with and without protection.

use super::years::{CONSTRAINTS, WINDOW, Year, all, constraint_name, mean_text, over_seeds};
use crate::papers::joshi::source;
use crate::prelude::*;
use wiremend_runner::years::figures::{StateQuantity, middle_week, over_time};

pub(super) const CLAIM: Claim = Claim {
    id: "L17",
    title: "total penalty of a fleet",
    source: source("section 4.8, Fig. 15"),
    paper: "In a fabric of about 100 000 links, LinkGuardian and CorrOpt together have a total penalty about 6 orders of magnitude below CorrOpt alone if every ToR keeps \
            50 % of its paths, and 4 orders if it keeps 75 %",
    method: "Years of a fabric of 100 224 links, each with CorrOpt alone and with both. The loss rates with \
             protection are those of the published table (nearest row); repairs take 2 and 4 days. The ratio of the \
             penalties is averaged over time. An optimizer that uses the loss rates with protection must not be \
             worse",
    note: "For every loss rate of the table protection reduces the loss by four to six orders of magnitude. \
           Tried: an optimizer that uses the loss rates with protection, which changes the ratio by less than \
           0.3 %. The highest loss rates decide the total, and the table's rows from 1e-3 on are reduced by six \
           orders: four at 75 % would need corrupting links of which nearly all lose less than 6e-4, while an \
           eighth of the links loses 1e-3 or more (L16)",
    judge,
    ..Claim::FORM
};

const PAPER_ORDERS: [f64; 2] = [6.0, 4.0];
const FIGURES: [&str; 2] = ["l17-50", "l17-75"];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    if results.is_listing() {
        return;
    }
    let years = all(results);
    let mut rows = Vec::new();
    for ((constraint, of), paper) in CONSTRAINTS.into_iter().zip(&years.by_constraint).zip(PAPER_ORDERS) {
        let (orders, interval) = over_seeds(of, Year::orders);
        let what = format!("orders of magnitude at {}", constraint_name(constraint));
        judgement.must(format!("{what}, lower end of the interval"), number(interval.low).at_least(4.0));
        judgement.must(format!("{what}, upper end of the interval"), number(interval.high).below(6.0));
        judgement.printed(what, number(orders).between(paper - 0.5, paper + 0.5));
        let aware = over_seeds(of, |year| year.aware.time.penalty / year.both.time.penalty).0;
        let what = format!(
            "penalty of the optimizer that uses protected loss rates, divided by that of both, at {}",
            constraint_name(constraint)
        );
        judgement.must(what, number(aware).at_most(1.02));
        rows.push(vec![
            constraint_name(constraint),
            mean_text(of, shown, |year| year.corropt.time.penalty),
            mean_text(of, shown, |year| year.both.time.penalty),
            mean_text(of, shown, |year| year.aware.time.penalty),
            mean_text(of, shown, Year::orders),
            mean_text(of, shown, |year| year.corropt.time.active),
            mean_text(of, shown, |year| year.corropt.time.disabled),
        ]);
    }
    judgement
        .table("constraint | penalty, CorrOpt | with LinkGuardian | with protected loss rates | orders of magnitude | \
                corrupting links | under repair", rows);
    for (name, (constraint, of)) in FIGURES.iter().zip(CONSTRAINTS.into_iter().zip(&years.by_constraint)) {
        let Some(first) = of.first() else { continue };
        let outcomes = [first.corropt.clone(), first.both.clone()];
        let what = format!(", a week at {}", constraint_name(constraint));
        judgement.plot(name, &over_time(StateQuantity::Penalty, &outcomes, middle_week(WINDOW), &what));
        judgement.plot(
            &format!("{name}-paths"),
            &over_time(StateQuantity::LeastPaths, &outcomes[..1], middle_week(WINDOW), &what),
        );
    }
}
