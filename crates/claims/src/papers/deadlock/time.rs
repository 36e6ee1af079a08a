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
    note: "A deadlock needs a number of buffered bytes that grows with α, and buffers fill at the injection \
           rate minus the rate at which packets reach the end of their TTL. The first packets of a loop reveal \
           it long before buffers are full: routing protocols detect it too late, a switch that looks at \
           packets does not. The draft does not print which α its curves have. Tried: less memory to share, as \
           headroom leaves it, which is enough at α = 1/16; at 1/4 only 3.5 of the 12 MB would do. By hand: one \
           host that sends, or hosts at both switches, changes the time by less than 1 %; frames of 256 to 9000 \
           bytes by less than 12 %. The pairs that are not in order are those at the highest rates: buffers are \
           full before any TTL, or only a few, have ended, so that the TTL has no effect",
    judge,
    ..Claim::FORM
};

const ALPHAS: [&str; 3] = ["1/64", "1/16", "1/4"];
const TTLS: [u8; 3] = [16, 32, 64];
const MBPS: [u32; 7] = [1500, 1900, 3000, 5500, 8000, 12_000, 20_000];
const QUICK_MBPS: [u32; 3] = [1900, 5500, 12_000];
const SOURCES: u64 = 4;
/// Buffer that the switches of the draft share after headroom, by the paper on DCQCN that it cites, which has the same
/// switch: 12 MB less 22.4 KB for each of 8 classes of 32 ports.
const SHARED: &str = "6265600B";
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

/// A point, and the mean time to deadlock with its interval; `None` unless every run reached the deadlock.
type Measured = (Point, Option<(f64, Interval)>);

/// Whether the first point must take longer.
type Longer = fn(Point, Point) -> bool;

impl Point {
    fn all(effort: Effort) -> impl Iterator<Item = Self> {
        let rates = effort.choose(&QUICK_MBPS[..], &MBPS[..]);
        let settings = ALPHAS.into_iter().flat_map(|alpha| TTLS.map(|ttl| (alpha, ttl)));
        let all = settings.flat_map(|(alpha, ttl)| rates.iter().map(move |&mbps| Self { alpha, ttl, mbps }));
        all.filter(|point| point.fills())
    }

    /// Whether packets arrive clearly faster than the TTL drops them.
    fn fills(self) -> bool {
        self.bps() > 1.05 * 40e9 / f64::from(u32::from(self.ttl).div_ceil(2))
    }

    fn bps(self) -> f64 {
        f64::from(self.mbps) * 1e6
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

    fn estimate_ns(self) -> Option<f64> {
        let (alpha, ttl): (Alpha, _) = (self.alpha.parse().ok()?, self.ttl.try_into().ok()?);
        let rate = Rate::from_bits_per_s(u64::from(self.mbps) * 1_000_000);
        let fill = TWO_SWITCHES.time_to_fill(rate, ttl, alpha, Bytes::new(12_000_000))?;
        Some(fill.as_ns() as f64)
    }
}

/// Number of pairs of which the first must take longer and does beyond the intervals, and of all pairs.
fn ordered(measured: &[Measured], longer: Longer) -> (u64, u64) {
    let pairs = measured.iter().flat_map(|a| measured.iter().map(move |b| (a, b)));
    let pairs: Vec<_> = pairs.filter(|(a, b)| longer(a.0, b.0)).collect();
    let holds =
        |(a, b): &&(&Measured, &Measured)| a.1.zip(b.1).is_some_and(|((_, a), (_, b))| a.low > b.high);
    (pairs.iter().filter(holds).count() as u64, pairs.len() as u64)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let (mut core_s, mut alarm, mut shortest) = (0.0, 0.0_f64, f64::INFINITY);
    let mut measure = |point: Point, buffer: Option<&str>| {
        let seeds = 1..=results.effort().choose(3, 6);
        let sample = |number: u64| {
            let run = point.run(number);
            let run = buffer.into_iter().fold(run, |run, bytes| run.set("switch.lossless.buffer", bytes));
            let outcome = results.outcome(&run);
            let counts = outcome.summary.deadlocks;
            if buffer.is_none() {
                core_s += outcome.took_s;
                alarm = alarm.max(counts.return_alarm_ns.map_or(f64::INFINITY, |ns| ns as f64));
            }
            let closed = counts.closed_ns?;
            shortest = shortest.min(closed as f64);
            // From the first packet of all sources.
            let first = (0..SOURCES).map(|source| Point::start_ns(number, source)).min()?;
            Some((closed - first.min(closed)) as f64)
        };
        let samples: Vec<Option<f64>> = seeds.map(sample).collect();
        let samples: Option<Vec<f64>> = samples.into_iter().collect();
        (point, samples.and_then(|samples| interval::mean(&samples, 0.95)))
    };
    let measured: Vec<Measured> = Point::all(results.effort()).map(|point| measure(point, None)).collect();
    let less = ALPHAS.map(|alpha| {
        let slow = Point { alpha, ttl: 64, mbps: 1900 };
        let interval = measured.iter().find(|(point, _)| *point == slow).and_then(|(_, interval)| *interval);
        let what = format!("upper end of the interval at 1.9 Gb/s, α = {alpha}, TTL 64");
        let at_slow = interval.map_or(f64::INFINITY, |(_, interval)| interval.high);
        let (_, shared) = measure(slow, Some(SHARED));
        let shared = shared.map_or(f64::INFINITY, |(_, interval)| interval.high);
        (judgement.printed(what, time_ns(at_slow).below(10e6)), time_ns(shared))
    });
    let cause = "Headroom leaves 6.27 of the 12 MB to share (22.4 KB for each of 8 classes of 32 ports, as published for \
                 this switch)";
    judgement.explain(cause, 0, &less);
    let orders: [(&str, Longer); 3] = [
        ("rate", |a, b| (a.alpha, a.ttl) == (b.alpha, b.ttl) && a.mbps < b.mbps),
        ("α", |a, b| {
            let place = |alpha: &str| ALPHAS.iter().position(|other| *other == alpha);
            (a.ttl, a.mbps) == (b.ttl, b.mbps) && place(a.alpha) > place(b.alpha)
        }),
        ("TTL", |a, b| (a.alpha, a.mbps) == (b.alpha, b.mbps) && a.ttl < b.ttl),
    ];
    for (what, longer) in orders {
        let (holds, of) = ordered(&measured, longer);
        let what = format!("pairs that differ only in {what} and are in order with disjoint intervals");
        judgement.printed(what, count(holds).is(of));
    }
    judgement.must("computing time of the grid, in core seconds", number(core_s).at_most(CORE_S_MAX));
    judgement.must(
        "time to the first returning packet divided by the shortest time to deadlock",
        number(alarm / shortest).at_most(0.1),
    );
    judgement.table(
        "α | TTL | rate | time to deadlock | 95 % interval | n·αm/(1 + α)/(r − B/⌈h/n⌉)",
        measured.iter().map(row).collect(),
    );
    let alphas = figure(&measured, "TTL 64, several α", |point| {
        (point.ttl == 64).then(|| format!("α = {}", point.alpha))
    });
    judgement.plot("p2-alpha", &alphas);
    let ttls = figure(&measured, "α = 1/16, several TTLs", |point| {
        (point.alpha == "1/16").then(|| format!("TTL {}", point.ttl))
    });
    judgement.plot("p2-ttl", &ttls);
}

fn row((point, measured): &Measured) -> Vec<String> {
    let none = || "–".to_owned();
    let [mean, range] = measured.map_or([none(), none()], |(mean, interval)| {
        let [low, high] = [interval.low, interval.high].map(human::time_ns);
        [human::time_ns(mean), format!("{low} to {high}")]
    });
    let estimate = point.estimate_ns().map_or_else(none, human::time_ns);
    vec![point.alpha.to_owned(), point.ttl.to_string(), human::rate_bps(point.bps()), mean, range, estimate]
}

fn figure(measured: &[Measured], which: &str, name: impl Fn(&Point) -> Option<String>) -> Plot {
    let mut curves: Vec<Curve> = Vec::new();
    for (point, measured) in measured {
        let (Some(name), Some((mean, _))) = (name(point), measured) else { continue };
        let at = (point.bps(), *mean);
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
