//! J11: a ping-pong over a lossy link, without mechanisms.

use wiremend_model::MendCounts;

use super::{LOSSLESS, PingPong, RATES, table_and_plot};
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J11",
    title: "a ping-pong over a corrupting link",
    source: source("section 6.2, Fig. 11(a)"),
    paper: "1024 B WRITEs in both directions, timer 266 ms, one packet in 8192 to 128 lost: the largest latency is \
           above 266 ms whenever packets are lost, the 99.9th percentile from one in 1024 on. At one in 128 the mean \
           is 3.8e3 µs (4e3 by the model)",
    method: "The ping-pong over a switch that loses packets at its egress ports, without loss and at seven rates",
    note: "The only packet of each message is a tail: each lost packet, and each lost ACK, delays the ping-pong \
           until the timer expires. The mean follows from the counts: 1666 timeouts in 100 000 iterations of \
           268 ms. Without lost ACKs it would be 4.19 ms, by the 1562 timeouts that the paper expects for J13. \
           The printed 3.8 ms would be 1416 timeouts, fewer than the printed drop rate causes in data packets \
           alone; no timer between the printed 266 ms and 268 ms explains that",
    judge,
    ..Claim::FORM
};

/// The value of the timer in the paper; 4.096 µs · 2^16 is slightly more.
const TIMER_NS: f64 = 266e6;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.must("largest latency without loss", LOSSLESS.outcome(results).longest().below(10e3));
    let at = |one_in| PingPong::new(one_in, MendCounts::NONE);
    for one_in in RATES {
        let outcome = at(one_in).outcome(results);
        judgement.must(format!("largest latency, 1/{one_in}"), outcome.longest().at_least(TIMER_NS));
        if one_in <= 1024 {
            judgement.must(format!("99.9th percentile, 1/{one_in}"), outcome.p999().at_least(TIMER_NS));
        }
        at(one_in).agree(judgement, results, &format!("1/{one_in}"));
    }
    // Variation of a mean of rare timeouts; the paper prints two digits.
    let mean = at(128).outcome(results).mean();
    judgement.printed("mean latency, 1/128", mean.near(3.8e6, 0.08));
    judgement.derived(
        "mean latency by the model, 1/128",
        mean.near(4e6, 0.08),
        "The paper's model leaves out lost ACKs, which delay a ping-pong too: 6 % more timeouts",
        at(128).exact_ns(),
        0.08,
    );
    table_and_plot(judgement, results, "j11", "Ping-pong without protection", MendCounts::NONE);
}
