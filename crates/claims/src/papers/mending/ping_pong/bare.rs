//! J11: a ping-pong over a lossy link, without mechanisms.

use wiremend_model::MendCounts;

use super::{COLUMNS, PingPong, RATES, latencies, row};
use crate::ledger::number::time_ns;
use crate::ledger::{Claim, Effort, Finding, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J11",
    title: "a ping-pong over a corrupting link",
    source: source("section 6.2, Fig. 11(a)"),
    paper: "1024 B WRITEs in both directions, timer 266 ms, one packet in 8192 to 128 lost: the largest latency is \
           above 266 ms whenever packets are lost, the 99.9th percentile from one in 1024 on. At one in 128 the mean \
           is 3.8e3 µs (4e3 by the model)",
    method: "The ping-pong over a switch that loses packets at its egress ports, without loss and at seven rates. \
            Reproduced if the largest latency and, from one in 1024 on, the 99.9th percentile are above 266 ms; both \
            are below 10 µs without loss; the mean at one in 128 is 3.8 ms within 25 %; and at each rate the Poisson \
            interval of the timeouts of each cause contains the expectation of the exact model",
    runs,
    judge,
};

/// The value of the timer in the paper; 4.096 µs · 2^16 is slightly more.
const TIMER_NS: f64 = 266e6;
const MEAN_NS: f64 = 3.8e6;
const MEAN_TOLERANCE: f64 = 0.25;
const LOSSLESS_NS_MAX: f64 = 10e3;

const LOSSLESS: PingPong = PingPong { one_in: None, mend: MendCounts::NONE };

fn at(one_in: u32) -> PingPong {
    PingPong::new(one_in, MendCounts::NONE)
}

fn runs(effort: Effort) -> Vec<Run> {
    let lossy = RATES.into_iter().map(|one_in| at(one_in).run(effort));
    lossy.chain([LOSSLESS.run(effort)]).collect()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let lossless_max = LOSSLESS.summary(results).fct_ns.map_or(f64::INFINITY, |fct| fct.max);
    judgement.must("largest latency without loss", time_ns(lossless_max).below(LOSSLESS_NS_MAX));
    let mut rows = Vec::new();
    for one_in in RATES {
        let fct = at(one_in).summary(results).fct_ns;
        let (p999, max) = fct.map_or((0.0, 0.0), |fct| (fct.p999, fct.max));
        judgement.must(format!("largest latency, 1/{one_in}"), time_ns(max).at_least(TIMER_NS));
        if one_in <= 1024 {
            judgement.must(format!("99.9th percentile, 1/{one_in}"), time_ns(p999).at_least(TIMER_NS));
        }
        at(one_in).agree(&mut judgement, results, &format!("1/{one_in}"));
        rows.push(row(format!("1/{one_in}"), at(one_in), results));
    }
    let mean = at(128).summary(results).fct_ns.map_or(0.0, |fct| fct.mean);
    judgement.must("mean latency, 1/128", time_ns(mean).near(MEAN_NS, MEAN_TOLERANCE));
    judgement.table(COLUMNS, rows);
    judgement.plot("j11", &latencies("Ping-pong without protection", results, MendCounts::NONE));
    judgement.finding(
        format!(
            "largest latency {} without loss and above the timer of 268 ms at every rate; mean {} at 1/128",
            time_ns(lossless_max).text(),
            time_ns(mean).text()
        ),
        "The only packet of each message is a tail: each lost packet, and each lost ACK, delays the ping-pong until \
         the timer expires",
    )
}
