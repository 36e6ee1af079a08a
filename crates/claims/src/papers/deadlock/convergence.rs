//! P10: transient loops while routing converges.

use wiremend_measure::Metric;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P10",
    title: "transient loops of a routing change that spreads by hops",
    source: source("sections 2.1 and 3.1"),
    paper: "Transient loops arise because switches converge at different speed when a network failure occurs; their \
            duration is that of the convergence. With PFC even a transient loop can bring the network into a permanent \
            deadlock; in a lossy network its impact ends with it",
    method: "Four leaves, two spines, sixteen hosts. A link between a leaf and a spine fails; its ends use new routes \
             after 100 µs, switches one hop away later by the time given. Twelve hosts send 2.5 Gb/s each to the leaf. \
             Packets whose TTL ended, over the lossy network, for the duration of the loop; deadlocks over the \
             lossless one at the longest delay, 20 ms, and hosts of which no packet moves at the end (60 ms)",
    note: "The spine at the failed link sends packets for the leaf to another leaf, which returns those that it hashes \
           to the same spine until it knows better",
    judge,
    ..Claim::FORM
};

const HOPS_US: [u32; 6] = [0, 100, 500, 2_000, 5_000, 20_000];
const HOSTS: u32 = 16;

/// Hosts whose uplink carries nothing in the last third of the run.
fn stopped(outcome: &Outcome) -> u64 {
    let is_stopped = |host: &u32| {
        let samples = outcome.series(&format!("h{host}>leaf{}", host / 4), Metric::TxBytes);
        !samples.is_empty() && samples.iter().filter(|(at, _)| *at > 40_000_000).all(|(_, bytes)| *bytes == 0)
    };
    (0..HOSTS).filter(is_stopped).count() as u64
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns(
        "delay of a hop | TTL ended, lossy | deadlocks, lossy | deadlocks, lossless | stopped hosts",
    );
    let mut ended = Vec::new();
    for us in HOPS_US {
        let [lossy, lossless] = [7, 3].map(|class| {
            let run = Run::new("claims/convergence").set("switch.lossless.classes", format!("[{class}]"));
            results.outcome(&run.set("fail.0.reroute_per_hop", format!("{us}us")).seconds(1.0))
        });
        let name = human::time_ns(f64::from(us) * 1e3);
        let [dry, wet] =
            [lossy, lossless].map(|of| of.summary.deadlocks.found - of.summary.deadlocks.resolved);
        judgement.none(format!("deadlocks, lossy, {name}"), dry);
        judgement.none(format!("stopped hosts, lossy, {name}"), stopped(lossy));
        let expired = count(lossy.summary.dropped_frames.ttl);
        let cells: [&dyn std::fmt::Display; 4] =
            [&expired, &count(dry), &count(wet), &count(stopped(lossless))];
        judgement.row(&name, cells);
        if us == 0 {
            judgement
                .none("packets whose TTL ended while all switches change together", expired.value() as u64);
            judgement.none("deadlocks while all switches change together", wet);
        } else {
            judgement.some(format!("packets whose TTL ended, {name}"), lossy.summary.dropped_frames.ttl);
            ended.push((name.clone(), number(expired.value())));
        }
        if us == HOPS_US[5] {
            judgement.printed(format!("deadlocks that outlive the loop, {name}"), count(wet).is(1));
            judgement
                .printed(format!("stopped hosts, {name}"), number(stopped(lossless) as f64).at_least(1.0));
        }
    }
    let ended: Vec<_> = ended.iter().map(|(name, number)| (name.as_str(), *number)).collect();
    judgement.printed("packets whose TTL ended, by delay of a hop", ascending(&ended, 0.0));
}
