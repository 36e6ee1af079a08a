//! L43: recovery from failures of links against recovery from corruption.

use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L43",
    title: "SQR recovers from failed links, not from corruption",
    source: source("section 2"),
    paper: "SQR retransmits on the link's switch what a link that fails has lost, but does not work for corrupting links",
    method: "Flows of one packet (1000 B, RDMA) at 30 % load; one uplink of four fails at 0.2 ms and is avoided 30 µs \
             later, or it corrupts 1e-3 (10 seeds of 20 000 flows; quick: 2). The port keeps up to 1 MB of what the failed link loses, \
             and sends it over the other uplinks (`fail.cache`). With this cache no flow may have a timeout after the \
             failure; with corruption there must be as many as without it. Link-local retransmission: none with corruption, at \
             least half as many after the failure",
    note: "The cache is an ideal one: it has only what was lost. SQR keeps copies of all frames that were sent within the time \
           to detect a failure",
    judge,
    ..Claim::FORM
};

/// Sums over seeds.
struct Sums {
    timeouts: u64,
    lost: u64,
    rerouted: u64,
    unfinished: u64,
    slowest: f64,
}

fn sums(results: &Results<'_>, variant: &str) -> Sums {
    let run = Run::new("claims/rerouted").variant(variant).seconds(0.2);
    let seeds = 1..=results.effort().choose(2, 10);
    let all: Vec<_> = seeds.map(|seed| results.outcome(&run.clone().seed(seed))).collect();
    let sum = |of: fn(&Outcome) -> u64| all.iter().map(|outcome| of(outcome)).sum::<u64>();
    Sums {
        timeouts: sum(|outcome| outcome.summary.timeouts.total()),
        lost: sum(|of| of.summary.failures.lost_frames + of.lane("leaf0>spine0").corrupted),
        rerouted: sum(|outcome| outcome.summary.failures.rerouted),
        unfinished: sum(Outcome::unfinished),
        slowest: all.iter().map(|outcome| outcome.longest().value).fold(0.0, f64::max),
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| timeouts | frames lost | frames sent over other uplinks | slowest");
    for cause in ["failure", "corruption"] {
        let [bare, cache, protected] = ["", ", cache", ", protected"].map(|more| {
            let name = format!("{cause}{more}");
            let of = sums(results, &name);
            judgement.none(format!("flows that do not finish, {name}"), of.unfinished);
            let cells: [&dyn std::fmt::Display; 4] =
                [&count(of.timeouts), &count(of.lost), &count(of.rerouted), &time_ns(of.slowest)];
            judgement.row(name, cells);
            of.timeouts
        });
        judgement.some(format!("timeouts, {cause}"), bare);
        let what = |more| format!("timeouts, {cause}, {more}");
        if cause == "failure" {
            judgement.printed(what("cache"), count(cache).is(0));
            let left = count(protected).per(count(bare));
            judgement.must(format!("{} relative to none", what("protected")), left.at_least(0.5));
        } else {
            judgement.printed(what("cache"), count(cache).is(bare));
            judgement.printed(what("protected"), count(protected).is(0));
        }
    }
}
