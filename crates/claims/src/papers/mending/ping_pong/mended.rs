//! J12: the ping-pong of J11 with dummies and copies.

use wiremend_model::MendCounts;

use super::{PingPong, RATES, table_and_plot};
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J12",
    title: "the ping-pong with dummies and copies",
    source: source("section 6.3, Fig. 11(b)"),
    paper: "With 2 dummies, 1 copy of each NAK and 1 copy of each retransmission no timeout occurs at any rate up to \
           1/128, and the largest latency stays below 10 µs",
    method: "As J11, with the three mechanisms. At 1/128 the exact model expects 0.095 timeouts in 100 000 \
             iterations, so that a test of that length without a timeout proves little",
    note: "A dummy after a lost packet reveals the loss, the NAK is sent twice, and the retransmission is sent \
           twice: only three losses lead to a timeout",
    judge,
    ..Claim::FORM
};

/// A rate at which the effect of every mechanism can be counted.
const STRESS: u32 = 16;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let at = |one_in| PingPong::new(one_in, MendCounts::TESTBED);
    for one_in in RATES {
        at(one_in).agree(judgement, results, &format!("1/{one_in}"));
        let per_100_000 = number(at(one_in).per_100_000(results));
        judgement.must(format!("timeouts in 100 000 iterations, 1/{one_in}"), per_100_000.below(1.0));
        let outcome = at(one_in).outcome(results);
        if outcome.summary.timeouts.total() == 0 {
            judgement.must(format!("largest latency, 1/{one_in}"), outcome.longest().below(10e3));
        }
    }
    at(STRESS).agree(judgement, results, &format!("1/{STRESS}"));
    let title = "Ping-pong with 2 dummies, 1 NAK copy, 1 retransmission copy";
    table_and_plot(judgement, results, "j12", title, MendCounts::TESTBED);
    at(STRESS).row(judgement, results, format!("1/{STRESS}"));
}
