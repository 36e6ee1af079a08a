//! P2: time until a routing loop becomes a deadlock.

use wiremend_fabric::deadlock::{Alpha, RoutingLoop};
use wiremend_measure::Interval;
use wiremend_measure::interval;
use wiremend_units::{Bytes, Rate, mix};

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "P2",
    title: "time until a routing loop becomes a deadlock",
    source: source("section 3.3, Fig. 3"),
    paper: "Two switches with 32 ports of 40 Gb/s and 12 MB of shared buffer, t = α(m − m'): a deadlock takes a few \
           milliseconds even below 2 Gb/s, less with a higher rate, less with a smaller α, and more with a smaller \
           TTL. Loop detection is too slow for that",
    method: "The same two switches; four hosts send into the loop, and their first packets start at random within 2 \
             µs. The time runs from then to the closure of the cycle; it is a mean of several runs with Student's \
             interval at 95 %. The grid must take at most 3 minutes on two cores. The signals that a switch gets \
             from the loop are measured too: a returning packet (a table of 16 384 fingerprints), or ten packets \
             whose TTL ended. The first must come within a tenth of the shortest time to deadlock",
    note: "A deadlock needs a number of buffered bytes that grows with α, and buffers fill at the injection rate \
           minus the rate at which packets reach the end of their TTL. The first packets of a loop reveal it long \
           before buffers are full: routing protocols detect it too late, a switch that looks at packets does not",
    judge,
    ..Claim::FORM
};

const ALPHAS: [&str; 3] = ["1/64", "1/16", "1/4"];
const TTLS: [u8; 3] = [16, 32, 64];
const MBPS: [u32; 7] = [1500, 1900, 3000, 5500, 8000, 12_000, 20_000];
const QUICK_MBPS: [u32; 3] = [1900, 5500, 12_000];
const SOURCES: u64 = 4;
const TWO_SWITCHES: RoutingLoop = RoutingLoop { switches: 2, rate: Rate::gbps(40) };
/// Three minutes on each of two cores, in seconds.
const CORE_S_MAX: f64 = 360.0;

/// A point of the grid.
#[derive(Clone, Copy, PartialEq)]
struct Point {
    alpha: &'static str,
    ttl: u8,
    mbps: u32,
}

impl Point {
    /// Whether packets arrive clearly faster than the TTL drops them.
    fn fills(self) -> bool {
        f64::from(self.mbps) * 1e6 > 1.05 * 40e9 / f64::from(u32::from(self.ttl).div_ceil(2))
    }

    fn start_ns(number: u64, source: u64) -> u64 {
        mix(number << 8 | source) % 2_000
    }

    fn run(self, number: u64) -> Run {
        let mut run = Run::new("claims/loop-time").set("switch.lossless.alpha", self.alpha);
        for source in 0..SOURCES {
            let at = |field: &str| format!("workload.{source}.{field}");
            run = run
                .set(&at("rate"), format!("{}kbps", u64::from(self.mbps) * 1_000 / SOURCES))
                .set(&at("ttl"), u32::from(self.ttl) + 1)
                .set(&at("start"), format!("{}ns", Self::start_ns(number, source)));
        }
        run.seed(number).seconds(0.3)
    }

    /// Times to deadlock, each from its first packet.
    fn samples(self, results: &Results<'_>) -> Vec<f64> {
        let sample = |number: u64| {
            let closed = results.outcome(&self.run(number)).summary.deadlocks.closed_ns?;
            let first = (0..SOURCES).map(|source| Self::start_ns(number, source)).min()?;
            Some((closed - first.min(closed)) as f64)
        };
        seeds(results.effort()).filter_map(sample).collect()
    }

    fn measured(self, results: &Results<'_>) -> Option<(f64, Interval)> {
        let samples = self.samples(results);
        // Every run must have reached the deadlock.
        (samples.len() == seeds(results.effort()).count()).then(|| interval::mean(&samples, 0.95))?
    }

    fn estimate_ns(self) -> Option<f64> {
        let alpha: Alpha = self.alpha.parse().ok()?;
        let rate = Rate::from_bits_per_s(u64::from(self.mbps) * 1_000_000);
        let fill =
            TWO_SWITCHES.time_to_fill(rate, self.ttl.try_into().ok()?, alpha, Bytes::new(12_000_000))?;
        Some(fill.as_ns() as f64)
    }
}

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(3, 6)
}

fn rates(effort: Effort) -> Vec<u32> {
    effort.choose(QUICK_MBPS.to_vec(), MBPS.to_vec())
}

fn points(effort: Effort) -> Vec<Point> {
    let rates = rates(effort);
    let points_at = |alpha, ttl| rates.clone().into_iter().map(move |mbps| Point { alpha, ttl, mbps });
    let all = ALPHAS.into_iter().flat_map(|alpha| TTLS.into_iter().flat_map(move |ttl| [(alpha, ttl)]));
    all.flat_map(|(alpha, ttl)| points_at(alpha, ttl)).filter(|point| point.fills()).collect()
}

fn runs(effort: Effort) -> Vec<Run> {
    points(effort).into_iter().flat_map(|point| seeds(effort).map(move |number| point.run(number))).collect()
}

/// Number of pairs of which the first must take longer, and of those that do beyond the intervals.
fn ordered(results: &Results<'_>, longer: impl Fn(Point, Point) -> bool) -> (u64, u64) {
    let points = points(results.effort());
    let pairs =
        points.iter().flat_map(|a| points.iter().map(move |b| (*a, *b))).filter(|(a, b)| longer(*a, *b));
    let holds = |(a, b): &(Point, Point)| match (a.measured(results), b.measured(results)) {
        (Some((_, a)), Some((_, b))) => a.low > b.high,
        _ => false,
    };
    let pairs: Vec<_> = pairs.collect();
    (pairs.iter().filter(|pair| holds(pair)).count() as u64, pairs.len() as u64)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for alpha in ALPHAS {
        let slow = Point { alpha, ttl: 64, mbps: 1900 };
        let at_slow = slow.measured(results).map_or(f64::INFINITY, |(_, interval)| interval.high);
        let what = format!("upper end of the interval at 1.9 Gb/s, α = {alpha}, TTL 64");
        judgement.printed(what, time_ns(at_slow).below(10e6));
    }
    let place = |alpha: &str| ALPHAS.iter().position(|other| *other == alpha);
    let same = |a: Point, b: Point| [a.alpha == b.alpha, a.ttl == b.ttl, a.mbps == b.mbps];
    for (what, longer) in [
        (
            "rate",
            &(|a: Point, b: Point| same(a, b) == [true, true, false] && a.mbps < b.mbps)
                as &dyn Fn(_, _) -> _,
        ),
        ("α", &|a: Point, b: Point| same(a, b) == [false, true, true] && place(a.alpha) > place(b.alpha)),
        ("TTL", &|a: Point, b: Point| same(a, b) == [true, false, true] && a.ttl < b.ttl),
    ] {
        let (holds, of) = ordered(results, longer);
        judgement.printed(
            format!("pairs that differ only in {what} and are in order with disjoint intervals"),
            count(holds).is(of),
        );
    }
    let core_s: f64 = runs(results.effort()).iter().map(|run| results.outcome(run).took_s).sum();
    judgement.must("computing time of the grid, in core seconds", number(core_s).at_most(CORE_S_MAX));
    let (alarm, shortest) = alarms(results);
    judgement.must(
        "time to the first returning packet divided by the shortest time to deadlock",
        number(alarm / shortest).at_most(0.1),
    );
    judgement.table(
        "α | TTL | rate | time to deadlock | 95 % interval | n·αm/(1 + α)/(r − B/⌈h/n⌉)",
        rows(results),
    );
    judgement.plot(
        "p2-alpha",
        &figure(results, "TTL 64, several α", |point| {
            (point.ttl == 64).then(|| format!("α = {}", point.alpha))
        }),
    );
    judgement.plot(
        "p2-ttl",
        &figure(results, "α = 1/16, several TTLs", |point| {
            (point.alpha == "1/16").then(|| format!("TTL {}", point.ttl))
        }),
    );
}

/// The latest first alarm by a returning packet, and the shortest time to deadlock.
fn alarms(results: &Results<'_>) -> (f64, f64) {
    let all = runs(results.effort());
    let counts = || all.iter().map(|run| results.outcome(run).summary.deadlocks);
    let alarm = counts()
        .map(|counts| counts.return_alarm_ns.map_or(f64::INFINITY, |ns| ns as f64))
        .fold(0.0, f64::max);
    let closed =
        counts().filter_map(|counts| counts.closed_ns).map(|ns| ns as f64).fold(f64::INFINITY, f64::min);
    (alarm, closed)
}

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let row = |point: &Point| {
        let measured = point.measured(results);
        let [mean, range] = measured.map_or(["–".to_owned(), "–".to_owned()], |(mean, interval)| {
            let [low, high] = [interval.low, interval.high].map(human::time_ns);
            [human::time_ns(mean), format!("{low} to {high}")]
        });
        vec![
            point.alpha.to_owned(),
            point.ttl.to_string(),
            human::rate_bps(f64::from(point.mbps) * 1e6),
            mean,
            range,
            point.estimate_ns().map_or("–".to_owned(), human::time_ns),
        ]
    };
    points(results.effort()).iter().map(row).collect()
}

fn figure(results: &Results<'_>, which: &str, name: impl Fn(&Point) -> Option<String>) -> Plot {
    let mut curves: Vec<Curve> = Vec::new();
    for point in points(results.effort()) {
        let (Some(name), Some((mean, _))) = (name(&point), point.measured(results)) else { continue };
        let at = (f64::from(point.mbps) * 1e6, mean);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(at),
            None => curves.push(Curve::marked(name, vec![at])),
        }
    }
    Plot::new(
        format!("Time until a loop of two switches becomes a deadlock: {which}"),
        "Time to deadlock against the rate at which packets enter the loop.",
        Axis::new("injection rate", Scale::Linear, Unit::RateBps),
        Axis::new("time to deadlock", Scale::Log, Unit::TimeNs),
        curves,
    )
}
