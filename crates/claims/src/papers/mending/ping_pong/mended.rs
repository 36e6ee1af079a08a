//! J12: the ping-pong of J11 with dummies and copies.

use wiremend_model::MendCounts;

use super::{COLUMNS, PingPong, RATES, latencies, per_100_000, row};
use crate::ledger::number::{number, shown, time_ns};
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J12",
    title: "the ping-pong with dummies and copies",
    source: source("section 6.3, Fig. 11(b)"),
    paper: "With 2 dummies, 1 copy of each NAK and 1 copy of each retransmission no timeout occurs at any rate up to \
           1/128, and the largest latency stays below 10 µs",
    method: "As J11, with the three mechanisms. At 1/128 the exact model expects 0.095 timeouts in 100 000 iterations, \
            so that a test of that length without a timeout proves little. Reproduced if at each rate, and at 1/16 as \
            a stress test, the Poisson interval of the timeouts of each cause contains the expectation of the model; \
            fewer than one timeout occurs in 100 000 iterations at the paper's rates; and the largest latency is \
            below 10 µs at rates without a timeout",
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

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let (mut rows, mut timeouts, mut iterations, mut slowest) = (Vec::new(), 0, 0, 0.0_f64);
    for one_in in RATES {
        let summary = at(one_in).summary(results);
        at(one_in).agree(&mut judgement, results, &format!("1/{one_in}"));
        judgement.must(
            format!("timeouts in 100 000 iterations, 1/{one_in}"),
            number(per_100_000(summary)).below(1.0),
        );
        if summary.timeouts.total() == 0 {
            let max = summary.fct_ns.map_or(f64::INFINITY, |fct| fct.max);
            judgement.must(format!("largest latency, 1/{one_in}"), time_ns(max).below(LATENCY_NS_MAX));
            slowest = slowest.max(max);
        }
        timeouts += summary.timeouts.total();
        iterations += summary.flows;
        rows.push(row(format!("1/{one_in}"), at(one_in), results));
    }
    at(STRESS).agree(&mut judgement, results, &format!("1/{STRESS}"));
    rows.push(row(format!("1/{STRESS}"), at(STRESS), results));
    let expected: f64 = at(128).exact().timeouts.iter().sum();
    judgement.table(COLUMNS, rows);
    let title = "Ping-pong with 2 dummies, 1 NAK copy, 1 retransmission copy";
    judgement.plot("j12", &latencies(title, results, MendCounts::TESTBED));
    judgement.finding(
        format!(
            "{timeouts} timeouts in {} iterations at seven rates ({} expected in 100 000 at 1/128); largest latency \
             at rates without a timeout {}",
            wiremend_report::human::count(iterations),
            shown(expected * 1e5),
            time_ns(slowest).text()
        ),
        "A dummy after a lost packet reveals the loss, the NAK is sent twice, and the retransmission is sent twice: \
         only three losses lead to a timeout",
    )
}
