//! D13: link and switch failures.

use super::scheme::{DCP, Memory};
use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D13",
    title: "failures of links and switches",
    source: source("bitmap-free packet tracking, combination of design modules"),
    paper: "Counting packets relies on headers that return. A failed link or switch loses packets without a header: \
           there a timer for the oldest message is the fallback",
    method: "Web search flows load 16 hosts of four racks by 30 %, for 5 ms. At 1 ms a link between a rack and a \
             spine, or a whole spine, fails for 1 ms; 50 µs later it is detected, and 20 µs after that all switches \
             avoid it. DCP counts packets as published (10 seeds; quick: 3). In addition, the hints that this \
             program adds: units of 64 packets, an allowance of 32, probes after 30 µs",
    note: "Nothing but the timer of 8 ms notices a packet that was lost without a header, and the whole message is \
           sent again. Until then the sender counts the packet as one in flight: a flow that loses most of its window \
           goes on with the rest, as slowly, and its timer starts when the last packet has arrived. One flow of 28 MB \
           took 40 ms for this reason, with a single timeout. Hints find the gaps within a round trip",
    judge,
    ..Claim::FORM
};

fn outcomes<'a>(results: &'a Results<'_>, variant: &str, has_hints: bool) -> Vec<&'a Outcome> {
    let run = DCP.on(Run::new("claims/failures").variant(variant), Memory::LARGE);
    let run = run.set("transport.dcp.tracking", if has_hints { "sums" } else { "counter" });
    let run = if has_hints {
        let hints = [("unit", "64"), ("allowance", "32"), ("probe", "30us")];
        hints.iter().fold(run, |run, (name, value)| run.set(&format!("transport.dcp.{name}"), value))
    } else {
        run
    };
    let seeds = 1..=results.effort().choose(3, 10);
    seeds.map(|seed| results.outcome(&run.clone().seed(seed).seconds(0.5))).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| messages | timeouts | retransmitted | longest completion time");
    for failure in ["none", "link", "switch"] {
        for has_hints in [false, true] {
            let outcomes = outcomes(results, failure, has_hints);
            let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(|outcome| of(outcome)).sum::<u64>();
            let name = format!("{failure}{}", if has_hints { ", with hints" } else { "" });
            let [flows, delivered, timeouts, resent] = [
                sum(|outcome| outcome.summary.flows),
                sum(|outcome| outcome.tracking.delivered_messages),
                sum(|outcome| outcome.summary.timeouts.total()),
                sum(|outcome| outcome.summary.retransmitted_packets),
            ];
            let longest = outcomes.iter().map(|outcome| outcome.longest().value).fold(0.0, f64::max);
            let unfinished = sum(Outcome::unfinished);
            judgement.none(format!("flows that do not finish, failure: {name}"), unfinished);
            judgement.must(format!("messages delivered, failure: {name}"), count(delivered).is(flows));
            match (failure, has_hints) {
                ("none", _) => judgement.none(format!("timeouts, failure: {name}"), timeouts),
                (_, false) => judgement.some(format!("timeouts, failure: {name}"), timeouts),
                (_, true) => (),
            }
            let name = format!("failure: {name}");
            judgement.row(name, [&count(flows), &count(timeouts), &count(resent), &time_ns(longest)]);
        }
    }
}
