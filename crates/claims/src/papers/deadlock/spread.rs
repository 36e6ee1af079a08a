//! P3: a deadlock outlives its loop and spreads.

use wiremend_measure::Metric;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P3",
    title: "the deadlock outlives the routing loop",
    source: source("section 3.1, Fig. 1"),
    paper: "Once buffers wait for each other in a cycle, the deadlock persists even after the loop is eliminated, and \
           more and more devices outside the loop are paused",
    method: "Four leaves, two spines, sixteen hosts; for 5 ms one leaf sends packets for one of its hosts back",
    note: "Packets in the two queues cannot reach the switch that would now forward them correctly, and all hosts \
           that have packets behind them are paused too",
    judge,
    ..Claim::FORM
};

/// Hosts, and their leaves.
const HOSTS: u32 = 16;
const HOSTS_PER_LEAF: u32 = 4;
/// The host that sends into the loop.
const LOOPING: u32 = 0;

fn long() -> Run {
    Run::new("claims/deadlock").variant("none").seconds(2.0)
}

fn short() -> Run {
    long().set("route.0.stop", "2ms")
}

fn uplink(host: u32) -> String {
    format!("h{host}>leaf{}", host / HOSTS_PER_LEAF)
}

/// Hosts outside the loop that were paused at every sample of the second half.
fn paused_hosts(outcome: &Outcome) -> Vec<u32> {
    let is_paused = |host: &u32| {
        let samples = outcome.series(&uplink(*host), Metric::PausedClasses);
        let last = &samples[samples.len() / 2..];
        !last.is_empty() && last.iter().all(|(_, paused)| *paused > 0)
    };
    (0..HOSTS).filter(|host| *host != LOOPING).filter(is_paused).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let (long, short) = (results.outcome(&long()), results.outcome(&short()));
    let deadlocks = long.summary.deadlocks;
    judgement.must("deadlocks", count(deadlocks.found).is(1));
    judgement.none("deadlocks that were resolved", deadlocks.resolved);
    let closed = deadlocks.closed_ns.unwrap_or(0) as f64;
    judgement.must(
        "deadlock last detected, time after the end of the loop",
        time_ns(closed + deadlocks.duration_ns as f64 - 6e6).at_least(50e6),
    );
    let paused = paused_hosts(long);
    judgement
        .must("hosts outside the loop that are paused to the end", number(paused.len() as f64).at_least(3.0));
    judgement.none("deadlocks of the short loop", short.summary.deadlocks.found);
    judgement.none("hosts paused at the end, short loop", paused_at_end(short));
    let (sent, got) = traffic(short);
    judgement.must(
        "share of the sent frames that were delivered, short loop",
        fraction(got as f64 / sent.max(1) as f64).at_least(0.98),
    );
    judgement.plot("p3", &figure(long, short));
}

fn paused_at_end(outcome: &Outcome) -> u64 {
    let is_paused = |host: &u32| {
        outcome.series(&uplink(*host), Metric::PausedClasses).last().is_some_and(|last| last.1 > 0)
    };
    (0..HOSTS).filter(is_paused).count() as u64
}

/// Frames that hosts sent, and frames that hosts received.
fn traffic(outcome: &Outcome) -> (u64, u64) {
    let leaf = |host: u32| host / HOSTS_PER_LEAF;
    let sent = (0..HOSTS).map(|host| outcome.lane(&uplink(host)).tx_frames).sum();
    // PFC frames use the same lanes, but they are few.
    let got = (0..HOSTS).map(|host| outcome.lane(&format!("leaf{}>h{host}", leaf(host))).tx_frames).sum();
    (sent, got)
}

fn figure(long: &Outcome, short: &Outcome) -> Plot {
    let curve = |name: &str, outcome: &Outcome| {
        let series: Vec<_> =
            (0..HOSTS).map(|host| outcome.series(&uplink(host), Metric::PausedClasses)).collect();
        let samples = series.first().map_or(0, |first| first.len());
        let paused =
            |at: usize| series.iter().filter(|one| one.get(at).is_some_and(|sample| sample.1 > 0)).count();
        let point = |at: usize| (series[0][at].0 as f64, paused(at) as f64);
        Curve::steps(name, (0..samples).map(point))
    };
    Plot::new(
        "Paused hosts: a loop from 1 to 6 ms, and one from 1 to 2 ms",
        "Number of paused hosts, of sixteen, over time.",
        Axis::new("time", Scale::Linear, Unit::TimeNs).with_range(0.0, 30e6),
        Axis::new("paused hosts", Scale::Linear, Unit::Number).with_range(0.0, 16.0),
        vec![curve("loop of 5 ms", long), curve("loop of 1 ms", short)],
    )
}
