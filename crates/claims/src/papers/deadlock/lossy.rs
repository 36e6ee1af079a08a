//! P5: a routing loop in a network that drops.

use wiremend_measure::Metric;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P5",
    title: "a routing loop in a lossy network",
    source: source("section 3.1"),
    paper: "In a lossy network the impact of a loop is not fatal and is completely eliminated as soon as the loop is \
            removed. In a lossless network the deadlock persists",
    method: "The fault of P3, a loop from 1 to 6 ms with four leaves and sixteen hosts, with the class of the traffic \
             lossless and lossy on the same switches. Bytes that hosts receive in each millisecond, relative to a \
             run without the loop: while it lasts, and from 1 ms after its end on, up to 60 ms",
    note: "A lossy switch drops what exceeds its buffer, and so the queues of the loop drain at the rate of their \
           links as soon as packets leave the loop",
    judge,
    ..Claim::FORM
};

const HOSTS: u32 = 16;
const LOOP_MS: std::ops::Range<u64> = 1..6;
const AFTER_MS: std::ops::Range<u64> = 7..60;

/// Bytes that arrived at all hosts in a time.
fn received(outcome: &Outcome, ms: std::ops::Range<u64>) -> f64 {
    let lanes = (0..HOSTS).map(|host| format!("leaf{}>h{host}", host / 4));
    let is_in = |at: u64| ms.start * 1_000_000 < at && at <= ms.end * 1_000_000;
    let bytes = |lane: String| {
        let samples = outcome.series(&lane, Metric::TxBytes).iter();
        samples.filter(|(at, _)| is_in(*at)).map(|(_, bytes)| *bytes).sum::<u64>()
    };
    lanes.map(bytes).sum::<u64>() as f64
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let run = |class: u8, routes: Option<&str>| {
        let run =
            Run::new("claims/deadlock").variant("none").set("switch.lossless.classes", format!("[{class}]"));
        let run = routes.map_or(run.clone(), |routes| run.set("route", routes));
        results.outcome(&run.seconds(1.0))
    };
    judgement.columns(
        "| while the loop lasts | least of a millisecond after it | dropped | TTL ended | deadlocks",
    );
    for (name, class) in [("lossy", 7), ("lossless", 3)] {
        let (looped, without) = (run(class, None), run(class, Some("[]")));
        let part = |ms: std::ops::Range<u64>| received(looped, ms.clone()) / received(without, ms).max(1.0);
        let during = fraction(part(LOOP_MS));
        let after = fraction(AFTER_MS.map(|ms| part(ms..ms + 1)).fold(f64::INFINITY, f64::min));
        let persisting = looped.summary.deadlocks.found - looped.summary.deadlocks.resolved;
        let dropped = looped.summary.dropped_frames;
        let cells: [&dyn std::fmt::Display; 5] =
            [&during, &after, &count(dropped.buffer), &count(dropped.ttl), &count(persisting)];
        judgement.row(name, cells);
        let what = format!("least part of the bytes of a millisecond after the loop, {name}");
        if name == "lossy" {
            judgement.printed(what, after.between(0.99, 1.01));
            judgement.none("deadlocks, lossy", persisting);
            judgement.must("part of the bytes while the loop lasts, lossy", during.below(0.99));
        } else {
            judgement.printed(what, after.below(0.9));
            judgement.must("deadlocks that persist, lossless", count(persisting).is(1));
        }
    }
}
