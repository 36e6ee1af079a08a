//! L6: consecutive losses.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG_NB, Stress, per};

pub(super) const CLAIM: Claim = Claim {
    id: "L6",
    title: "five registers cover consecutive losses",
    source: source("section 3.5 and appendix B.2, Fig. 20"),
    paper: "Five registers, for five consecutive lost frames, cover 99.9999 % of loss events at a loss rate of 5 %; \
           measured at 1 % and 5 %",
    method: "The prototype in non-blocking mode at line rate with independent losses of 1, 5 and 30 %: \
             notifications, frames found missing, and frames without a free register. Losses on fibre need not be \
             independent: if a loss is followed by another with probability 10 %, five registers cover 99.999 %, and \
             with 20 % they cover 99.97 %",
    note: "Six consecutive losses are one event in three million at 5 %, if losses are independent",
    judge,
    ..Claim::FORM
};

/// The loss rates of the paper, and one at which enough events exceed the registers to be counted.
const LOSSES: [f64; 3] = [0.01, 0.05, STRESS];
const STRESS: f64 = 0.3;
const REGISTERS: i32 = 5;

fn run(loss: f64, effort: Effort) -> Run {
    Stress::new(100, loss, LG_NB).run(effort.choose(200_000, 2_000_000)).set("protect.0.copies", 2)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for loss in LOSSES {
        let sum = results.outcome(&run(loss, results.effort())).summary.protection;
        let percent = human::percent(loss);
        if loss < STRESS {
            let covered = fraction(1.0 - loss.powi(REGISTERS));
            judgement.printed(format!("events covered, {percent} %"), covered.at_least(0.999_999));
        }
        let mean = per(sum.missed, sum.notifications);
        judgement
            .must(format!("lost frames per event, {percent} %"), number(mean).near(1.0 / (1.0 - loss), 0.02));
        let expected = sum.notifications as f64 * loss.powi(REGISTERS) / (1.0 - loss);
        judgement
            .must(format!("frames without a register, {percent} %"), count(sum.refused).expected(expected));
    }
}
