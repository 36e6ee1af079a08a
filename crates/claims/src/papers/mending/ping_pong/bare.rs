//! J11: a ping-pong over a lossy link, without mechanisms.

use wiremend_model::MendCounts;

use super::{COLUMNS, PingPong, RATES, latencies, row};
use crate::ledger::number::time_ns;
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::source;

pub(super) const CLAIM: Claim = Claim {
    id: "J11",
    title: "a ping-pong over a corrupting link",
    source: source("section 6.2, Fig. 11(a)"),
    paper: "1024 B WRITEs in both directions, timer 266 ms, one packet in 8192 to 128 lost: the largest latency is \
           above 266 ms whenever packets are lost, the 99.9th percentile from one in 1024 on. At one in 128 the mean \
           is 3.8e3 µs (4e3 by the model)",
    method: "The ping-pong over a switch that loses packets at its egress ports, without loss and at seven rates",
    note: "The only packet of each message is a tail: each lost packet, and each lost ACK, delays the ping-pong \
           until the timer expires",
    runs,
    judge,
};

/// The value of the timer in the paper; 4.096 µs · 2^16 is slightly more.
const TIMER_NS: f64 = 266e6;
const MEAN_NS: f64 = 3.8e6;
/// The value of the paper's model.
const MODEL_MEAN_NS: f64 = 4e6;
/// Variation of a mean of rare timeouts; the paper prints two digits.
const MEAN_TOLERANCE: f64 = 0.08;
const LOSSLESS_NS_MAX: f64 = 10e3;

const LOSSLESS: PingPong = PingPong { one_in: None, mend: MendCounts::NONE };

fn at(one_in: u32) -> PingPong {
    PingPong::new(one_in, MendCounts::NONE)
}

fn runs(effort: Effort) -> Vec<Run> {
    let lossy = RATES.into_iter().map(|one_in| at(one_in).run(effort));
    lossy.chain([LOSSLESS.run(effort)]).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
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
        at(one_in).agree(judgement, results, &format!("1/{one_in}"));
        rows.push(row(format!("1/{one_in}"), at(one_in), results));
    }
    let mean = at(128).summary(results).fct_ns.map_or(0.0, |fct| fct.mean);
    judgement.printed("mean latency, 1/128", time_ns(mean).near(MEAN_NS, MEAN_TOLERANCE));
    judgement.derived(
        "mean latency by the model, 1/128",
        time_ns(mean).near(MODEL_MEAN_NS, MEAN_TOLERANCE),
        "The paper's model leaves out lost ACKs, which delay a ping-pong too: 6 % more timeouts",
        at(128).exact().timeouts.iter().sum::<f64>() * 4096.0 * 65_536.0,
        MEAN_TOLERANCE,
    );
    judgement.table(COLUMNS, rows);
    judgement.plot("j11", &latencies("Ping-pong without protection", results, MendCounts::NONE));
}
