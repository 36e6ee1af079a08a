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
             flows of 64 KiB to random hosts at load 0.2, for 60 ms, with five seeds (quick: two). Hosts stopped at \
             the end, and bytes that any host receives in the last 20 ms",
    note: "Every host soon has a packet for a path that waits, and all later packets of its class are behind it",
    judge,
    ..Claim::FORM
};

const HOSTS: u32 = 16;

/// Hosts that receive nothing in the last third of the run.
fn silent(outcome: &Outcome) -> u64 {
    let is_silent = |host: &u32| {
        let samples = outcome.series(&format!("edge{}-{}>h{host}", host / 4, host / 2 % 2), Metric::TxBytes);
        !samples.is_empty() && samples.iter().filter(|(at, _)| *at > 40_000_000).all(|(_, bytes)| *bytes == 0)
    };
    (0..HOSTS).filter(is_silent).count() as u64
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("seed | closed after | hosts paused | silent hosts | silent hosts without a loop");
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
        let what = format!("hosts that receive nothing at the end, seed {seed}");
        judgement.printed(what, count(silent(looped)).is(u64::from(HOSTS)));
        judgement.none(format!("the same without a loop, seed {seed}"), silent(without));
        let closed = counts.closed_ns.map_or("never".to_owned(), |ns| human::time_ns(ns as f64));
        judgement.row(seed, [&closed, &paused, &count(silent(looped)), &count(silent(without))]);
    }
}
