//! J12: the ping-pong of J11 with dummies and copies.

use wiremend_model::MendCounts;

use super::{COLUMNS, PingPong, RATES, latencies, per_100_000, row};
use crate::ledger::number::{number, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::source;

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
    runs,
    judge,
};

const LATENCY_NS_MAX: f64 = 10e3;
/// A rate at which the effect of every mechanism can be counted.
const STRESS: u32 = 16;

fn at(one_in: u32) -> PingPong {
    PingPong::new(one_in, MendCounts::TESTBED)
}

fn runs(effort: Effort) -> Vec<Run> {
    RATES.into_iter().chain([STRESS]).map(|one_in| at(one_in).run(effort)).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for one_in in RATES {
        let summary = at(one_in).summary(results);
        at(one_in).agree(judgement, results, &format!("1/{one_in}"));
        judgement.must(
            format!("timeouts in 100 000 iterations, 1/{one_in}"),
            number(per_100_000(summary)).below(1.0),
        );
        if summary.timeouts.total() == 0 {
            let max = summary.fct_ns.map_or(f64::INFINITY, |fct| fct.max);
            judgement.must(format!("largest latency, 1/{one_in}"), time_ns(max).below(LATENCY_NS_MAX));
        }
        rows.push(row(format!("1/{one_in}"), at(one_in), results));
    }
    at(STRESS).agree(judgement, results, &format!("1/{STRESS}"));
    rows.push(row(format!("1/{STRESS}"), at(STRESS), results));
    judgement.table(COLUMNS, rows);
    let title = "Ping-pong with 2 dummies, 1 NAK copy, 1 retransmission copy";
    judgement.plot("j12", &latencies(title, results, MendCounts::TESTBED));
}
