//! P8: a loop in the core stops the fabric.

use wiremend_measure::Metric;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P8",
    title: "a loop in the core stops the fabric",
    source: source("section 3.1"),
    paper: "If a deadlock is created in the core of the network, it is very likely to bring the whole data centre into \
            a deadlock",
    method: "A fat-tree of sixteen hosts at 40 Gb/s with 12 MB of buffer per switch. For 5 ms the two upper switches of \
             a pod send packets for one of its hosts back to the core; one host sends it 5 Gb/s. All hosts send \
             flows of 64 KiB to random hosts at load 0.2, for 60 ms, with five seeds (quick: two). Hosts paused at \
             the end, and bytes that a host receives in the last 20 ms (PFC frames included), relative to a run \
             without the loop: at most 1 %",
    note: "Every host soon has a packet for a path that waits, and all later packets of its class are behind it",
    judge,
    ..Claim::FORM
};

const HOSTS: u32 = 16;

/// Bytes that a host receives in the last third of the run, PFC frames included.
fn received(outcome: &Outcome, host: u32) -> u64 {
    let samples = outcome.series(&format!("edge{}-{}>h{host}", host / 4, host / 2 % 2), Metric::TxBytes);
    samples.iter().filter(|(at, _)| *at > 40_000_000).map(|(_, bytes)| bytes).sum()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("seed | closed after | hosts paused | most that a host receives at the end");
    for seed in 1..=results.effort().choose(2, 5) {
        let run = Run::new("claims/core-loop").seed(seed).seconds(0.7);
        let (looped, without) =
            (results.outcome(&run), results.outcome(&run.clone().set("route", "[]").seconds(2.0)));
        let counts = looped.summary.deadlocks;
        judgement.must(
            format!("deadlocks that persist, seed {seed}"),
            count(counts.found - counts.resolved).is(1),
        );
        let paused = count(looped.summary.flow_control.paused_hosts);
        judgement.printed(format!("hosts that are paused, seed {seed}"), paused.is(u64::from(HOSTS)));
        let rest = |host| fraction(received(looped, host) as f64 / received(without, host).max(1) as f64);
        let most = (0..HOSTS).map(rest).max_by(|a, b| a.value.total_cmp(&b.value)).expect("there are hosts");
        let what = format!("most that a host still receives, relative to no loop, seed {seed}");
        judgement.printed(what, most.at_most(0.01));
        let closed = counts.closed_ns.map_or("never".to_owned(), |ns| human::time_ns(ns as f64));
        judgement.row(seed, [&closed, &paused, &most]);
    }
}
