//! L23: the distribution of retransmission delays.

use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::{LG, Stress};

pub(super) const CLAIM: Claim = Claim {
    id: "L23",
    title: "retransmission delays come in steps of a frame",
    source: source("section 5, Fig. 19, and 10 000 recoveries published with the prototype"),
    paper: "A recovery at 100G takes up to 5.25 µs. Published are 10 000 recoveries at 10G: 6.150 µs at least, 6.164 µs \
           at the median, 6.168 at 90 %, 7.395 at 99 %, 8.636 at most: one frame of 1.23 µs more for each lost copy",
    method: "The stress test at 10G, for which no value of the model was chosen: 10 000 recoveries (quick: 2500) with \
             three copies at a loss rate of 5 %, at which, as published, one recovery in a hundred and not one in ten \
             needs the second copy. Quantiles are upper ends of buckets of 250 ns, and printed values must be in \
             them. At 100G the longest of L5, within half a digit of 5.25 µs",
    note: "The steps follow from the copies, which are sent back to back. The time before the first copy is that of \
           the switch: one latency for all rates was chosen with 25G and 100G in view (L5)",
    judge,
    ..Claim::FORM
};

const FRAME_NS: f64 = 1538.0 * 8.0 / 10.0;
/// Quantile and delay.
const PUBLISHED: [(f64, f64); 3] = [(0.5, 6_164.0), (0.9, 6_168.0), (0.99, 7_395.0)];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let run = Stress::new(10, 0.05, LG).run(results.effort().choose(50_000, 200_000));
    let sum = results.outcome(&run.set("protect.0.copies", 3)).summary.protection;
    let delays = sum.recovery_delays;
    let bucket = wiremend_measure::DelayHistogram::BUCKET_NS as f64;
    let at_most =
        |step: usize| delays.buckets[..=step].iter().sum::<u64>() as f64 / delays.count().max(1) as f64;
    let quantile = |part: f64| (0..delays.buckets.len()).find(|step| at_most(*step) >= part).unwrap_or(31);
    for (part, published) in PUBLISHED {
        let found = time_ns((quantile(part) + 1) as f64 * bucket);
        let what = format!("delay of {} % at 10G", human::percent(part));
        judgement.printed(what.clone(), found.between(published, published + bucket));
        judgement.row(what, [&found, &time_ns(published)]);
    }
    let longest = time_ns(delays.max_ns as f64);
    judgement.printed("longest delay at 10G", longest.near(8_636.0, 0.03));
    // Two buckets, and a frame on the wire between copies.
    let step = time_ns((quantile(0.99) - quantile(0.9)) as f64 * bucket);
    judgement
        .printed("from 90 % to 99 % at 10G: a lost copy", step.between(FRAME_NS - bucket, FRAME_NS + bucket));
    let tilted = results.outcome(&Stress::new(100, 1e-3, LG).tilted(results.effort()));
    let at_100 = time_ns(tilted.summary.protection.recovery_delays.max_ns as f64);
    judgement.printed("longest delay at 100G", at_100.between(5_200.0, 5_300.0));
    judgement.row("longest delay at 10G", [&longest, &time_ns(8_636.0)]);
    judgement.columns("| measured | published");
    judgement.must("recoveries", number(delays.count() as f64).at_least(2_000.0));
}
