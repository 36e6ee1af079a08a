//! P1: the injection rate at which a routing loop becomes a deadlock.

use wiremend_report::plot::Line;

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P1",
    title: "lowest rate that turns a routing loop into a deadlock",
    source: source("section 3.2, Fig. 2"),
    paper: "A loop of n switches with links of rate B drains at most nB/TTL. Above that rate it becomes a deadlock. \
           For n = 2 and 40 Gb/s this is 5 Gb/s with TTL 16 (measured: about 6) and 1.25 Gb/s with TTL 64 (measured: \
           about 1.3); measured rates are slightly above nB/TTL",
    method: "A ring of n = 2, 3, 4 switches at 40 Gb/s, and a source without transport at rates around B/⌈h/n⌉, \
             where h is the number of lanes of the ring that a packet crosses: its TTL on the first of them. Below \
             that rate the first lane of the ring, which each packet crosses ⌈h/n⌉ times, can carry all packets. The \
             measured rate is the lowest at which the global deadlock detector of the simulator found a deadlock. \
             The table also has the fluid formula nB/TTL. The rates that the draft measured are compared too, and \
             with a TTL that is smaller by 2",
    judge,
    ..Claim::FORM
};

const SWITCHES: [u32; 3] = [2, 3, 4];
const TTLS: [u32; 3] = [16, 32, 64];
const B_BPS: f64 = 40e9;
/// Tried rates, relative to B/⌈h/n⌉.
const QUICK: &[f64] = &[0.98, 1.02, 1.04];
const FULL: &[f64] = &[0.9, 0.95, 0.98, 0.99, 0.995, 1.005, 1.01, 1.02, 1.03, 1.04, 1.05];
const EXCESS_MAX: f64 = 0.05;
/// Measurements of the draft with two switches: TTL, and the rates that round to the printed 6 and 1.3 Gb/s.
const PAPER: [(u32, [f64; 2]); 2] = [(16, [5.5e9, 6.5e9]), (64, [1.25e9, 1.35e9])];
/// Hops of the draft's packets outside the loop.
const OUTSIDE: u32 = 2;

fn exact(n: u32, ttl: u32) -> f64 {
    B_BPS / f64::from(ttl.div_ceil(n))
}

fn fluid(n: u32, ttl: u32) -> f64 {
    f64::from(n) * B_BPS / f64::from(ttl)
}

fn factors(effort: Effort) -> &'static [f64] {
    effort.choose(QUICK, FULL)
}

/// The switch of the source decrements the TTL once before the first lane of the ring.
fn run(n: u32, ttl: u32, factor: f64) -> Run {
    let rate = (exact(n, ttl) * factor).round();
    // A run above the threshold stops at the deadlock, one below it never does.
    let stop = if factor > 1.0 { "1s" } else { "100ms" };
    Run::new("claims/loop-rate")
        .variant(format!("n = {n}"))
        .set("workload.0.rate", format!("{rate}bps"))
        .set("workload.0.ttl", ttl + 1)
        .set("stop.after", stop)
        .seconds(0.5)
}

fn all() -> impl Iterator<Item = (u32, u32)> {
    SWITCHES.into_iter().flat_map(|n| TTLS.map(|ttl| (n, ttl)))
}

fn is_deadlocked(results: &Results<'_>, n: u32, ttl: u32, factor: f64) -> bool {
    results.outcome(&run(n, ttl, factor)).summary.deadlocks.found > 0
}

/// The lowest rate that caused a deadlock, relative to B/⌈h/n⌉.
fn lowest_factor(results: &Results<'_>, n: u32, ttl: u32) -> Option<f64> {
    factors(results.effort()).iter().copied().find(|factor| is_deadlocked(results, n, ttl, *factor))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for (n, ttl) in all() {
        let what = format!("n = {n}, TTL {ttl}");
        let found = lowest_factor(results, n, ttl);
        let excess = found.map_or(1.0, |factor| factor - 1.0);
        judgement.must(
            format!("excess of the lowest deadlock rate over B/⌈h/n⌉, {what}"),
            fraction(excess).between(0.0, EXCESS_MAX),
        );
        let tried = factors(results.effort()).iter();
        let below = tried.clone().filter(|factor| **factor < 1.0 && is_deadlocked(results, n, ttl, **factor));
        judgement.none(format!("deadlocks at rates below B/⌈h/n⌉, {what}"), below.count() as u64);
        let over = tried.clone().filter(|factor| **factor > 1.0);
        let missed = over.clone().filter(|factor| !is_deadlocked(results, n, ttl, **factor));
        judgement.none(format!("rates above B/⌈h/n⌉ without a deadlock, {what}"), missed.count() as u64);
        let measured = exact(n, ttl) * (1.0 + excess);
        judgement.derived(
            format!("lowest deadlock rate compared with nB/TTL, {what}"),
            rate_bps(measured).at_least(fluid(n, ttl)),
            "nB/TTL assumes that a packet loads all lanes of the loop evenly. If n does not divide the TTL, the first \
             lane is crossed once more than the others, and it is full already at B/⌈h/n⌉",
            exact(n, ttl),
            EXCESS_MAX,
        );
        let rates = [exact(n, ttl), fluid(n, ttl), measured].map(human::rate_bps);
        rows.push([vec![n.to_string(), ttl.to_string()], rates.to_vec()].concat());
    }
    judgement.table("n | TTL | B/⌈h/n⌉ | nB/TTL | lowest rate measured", rows);
    judgement.plot("p1", &figure(results));
    let lowest = |ttl| exact(2, ttl) * lowest_factor(results, 2, ttl).unwrap_or(f64::INFINITY);
    let applied = PAPER.map(|(ttl, band)| {
        let what = format!("lowest deadlock rate that the draft measured, n = 2, TTL {ttl}");
        let figure = judgement.printed(what, rate_bps(lowest(ttl)).between(band[0], band[1]));
        (figure, rate_bps(lowest(ttl - OUTSIDE)))
    });
    judgement.explain("packets lose 2 of their TTL before the first lane of the loop", 1, &applied);
}

fn figure(results: &Results<'_>) -> Plot {
    let measured = |n: u32| {
        Curve::marked(
            format!("measured, n = {n}"),
            TTLS.iter()
                .filter_map(|ttl| Some((f64::from(*ttl), exact(n, *ttl) * lowest_factor(results, n, *ttl)?))),
        )
    };
    let ttls = || 12..=80;
    let formula = |name: String, of: &dyn Fn(u32) -> f64, line: Line| Curve {
        name,
        points: ttls().map(|ttl| (f64::from(ttl), of(ttl))).collect(),
        line,
    };
    let formulas =
        SWITCHES.map(|n| formula(format!("nB/TTL, n = {n}"), &move |ttl| fluid(n, ttl), Line::Straight));
    let exact = formula("B/⌈h/n⌉, n = 3".to_owned(), &|ttl| exact(3, ttl), Line::Straight);
    let paper = Curve::marked(
        "draft, n = 2",
        PAPER.map(|(ttl, [low, high])| (f64::from(ttl), f64::midpoint(low, high))),
    );
    Plot::new(
        "Lowest injection rate that turns a loop into a deadlock",
        "Lowest injection rate against the TTL with which packets enter the loop.",
        Axis::new("TTL", Scale::Log, Unit::Number).with_range(10.0, 100.0),
        Axis::new("lowest injection rate", Scale::Log, Unit::RateBps),
        SWITCHES.map(measured).into_iter().chain([paper]).chain(formulas).chain([exact]).collect(),
    )
}
