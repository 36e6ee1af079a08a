//! P9: time to deadlock in rings of three and four switches.

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P9",
    title: "time to deadlock in rings of more switches",
    source: source("section 3.3"),
    paper: "The measurement of Fig. 3 was repeated with many other TTLs and α and other numbers of switches. All \
            results comply: a few milliseconds even below 2 Gb/s, less with a higher rate, less with a smaller α, \
            more with a smaller TTL",
    method: "Rings of 3 and 4 switches at 40 Gb/s with 12 MB of buffer, one source, and every rate of 1.9, 3, 5.5, 8, \
             12 and 20 Gb/s (quick: 1.9, 5.5 and 12) that is at least 5 % above B/⌈h/n⌉. All pairs that differ in one \
             value are compared",
    note: "A packet whose TTL has not ended has made no room. Where the cycle closes before that, the TTL has no \
           effect: the times are equal, and not in order",
    judge,
    ..Claim::FORM
};

const ALPHAS: [&str; 3] = ["1/64", "1/16", "1/4"];
const TTLS: [u32; 3] = [32, 64, 128];
const MBPS: [u32; 6] = [1900, 3000, 5500, 8000, 12_000, 20_000];
const QUICK_MBPS: [u32; 3] = [1900, 5500, 12_000];

/// Switches, position of α, TTL and rate; then the time to deadlock and the packets whose TTL ended.
type Point = ([u32; 4], f64, u64);

fn measured(results: &Results<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    for (n, alpha, ttl) in
        [3, 4].into_iter().flat_map(|n| (0..3).flat_map(move |alpha| TTLS.map(|ttl| (n, alpha, ttl))))
    {
        let fills = |mbps: &&u32| f64::from(**mbps) * 1e6 > 1.05 * 40e9 / f64::from(ttl.div_ceil(n));
        for &mbps in results.effort().choose(&QUICK_MBPS[..], &MBPS[..]).iter().filter(fills) {
            let run = Run::new("claims/loop-rate")
                .variant(format!("n = {n}"))
                .set("switch.lossless.buffer", "12MB")
                .set("switch.lossless.alpha", ALPHAS[alpha as usize])
                .set("workload.0.rate", format!("{mbps}Mbps"))
                .set("workload.0.ttl", ttl + 1)
                .set("stop.after", "1s");
            let summary = &results.outcome(&run.seconds(0.05)).summary;
            let closed = summary.deadlocks.closed_ns.map_or(f64::INFINITY, |ns| ns as f64);
            points.push(([n, alpha, ttl, mbps], closed, summary.dropped_frames.ttl));
        }
    }
    points
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let points = measured(results);
    judgement.none(
        "points without a deadlock",
        points.iter().filter(|point| point.1.is_infinite()).count() as u64,
    );
    for &([n, alpha, ttl, _], closed, _) in points.iter().filter(|(of, ..)| of[2] == 128 && of[3] == 1900) {
        let what =
            format!("time to deadlock at 1.9 Gb/s, n = {n}, α = {}, TTL {ttl}", ALPHAS[alpha as usize]);
        judgement.printed(what, time_ns(closed).below(10e6));
    }
    // Pairs that differ in one value: the first has the smaller one.
    let pairs = |differs: usize| {
        let same = move |a: &Point, b: &Point| (0..4).all(|of| (a.0[of] == b.0[of]) == (of != differs));
        let pairs = points.iter().flat_map(|a| points.iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| same(a, b) && a.0[differs] < b.0[differs]).collect::<Vec<_>>()
    };
    let in_order = |pairs: &[(&Point, &Point)], longer: fn(f64, f64) -> bool| {
        count(pairs.iter().filter(|(a, b)| longer(a.1, b.1)).count() as u64)
    };
    let what = |name: &str| format!("pairs that differ only in {name} and are in order");
    let (rates, alphas, ttls) = (pairs(3), pairs(1), pairs(2));
    judgement.printed(what("rate"), in_order(&rates, |low, high| low > high).is(rates.len() as u64));
    judgement.printed(what("α"), in_order(&alphas, |small, large| small < large).is(alphas.len() as u64));
    let effective = ttls.iter().filter(|(small, _)| small.2 > 0).count();
    judgement.derived(
        what("TTL"),
        in_order(&ttls, |small, large| small > large).is(ttls.len() as u64),
        "the TTL matters only if some packet reaches its end before the cycle closes, and at high rates none does",
        effective as f64,
        0.0,
    );
    let row = |&([n, alpha, ttl, mbps], closed, ended): &Point| {
        let rate = human::rate_bps(f64::from(mbps) * 1e6);
        let alpha = ALPHAS[alpha as usize].to_owned();
        vec![n.to_string(), alpha, ttl.to_string(), rate, human::time_ns(closed), human::count(ended)]
    };
    judgement.table("n | α | TTL | rate | time to deadlock | TTL ended", points.iter().map(row).collect());
}
