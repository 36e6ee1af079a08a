//! W3: DCP over corrupting links.

use super::source;
use crate::ledger::number::spread;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "W3",
    title: "DCP over a corrupting link",
    source: source("not measured in the paper"),
    paper: "DCP retransmits packets that switches trimmed, because their headers reach the receiver. Nothing of a \
           corrupted packet does. The paper leaves this case to a timer and does not measure it",
    method: "One connection, messages of 1 MB, two at a time, over two switches whose link corrupts frames in both \
             directions (100 ms from each of 5 seeds; quick: 10 ms from 2). Goodput is the payload of finished \
             messages divided by the simulated time, as a share of the same scheme's goodput without corruption",
    note: "A message that lost one packet waits for the timer and is then retransmitted completely, like go-back-0: \
           the longer the message, the less likely a round succeeds. Hints report packets that were overtaken by \
           later ones, and probes reveal a loss at the tail. With short units less is retransmitted where sums \
           cannot tell which packet is missing. RACK-TLP, which keeps a list of all packets that it sent, does as \
           well without additional headers. The window of the bitmap fills while its oldest gap is being repaired",
    judge,
    ..Claim::FORM
};

const GO_BACK_N: &str = "go-back-N";
const IRN: &str = "IRN";
const PUBLISHED: &str = "DCP as published";
const BITMAP: &str = "DCP, bitmap, hints";
const SHORT_UNITS: &str = "DCP, sums, hints, units of 64";
const PROTECTED: &str = "DCP as published, link protected";
const SCHEMES: [&str; 8] =
    [SHORT_UNITS, "DCP, sums, hints", BITMAP, PROTECTED, PUBLISHED, "RACK-TLP", IRN, GO_BACK_N];

const LOW_RATE: f64 = 1e-4;
const MIDDLE_RATE: f64 = 1e-3;
const HIGH_RATE: f64 = 1e-2;
const RATES: [f64; 5] = [1e-5, LOW_RATE, MIDDLE_RATE, 3e-3, HIGH_RATE];
const COLUMNS: &str = "| no corruption | 1e-5 | 1e-4 | 1e-3 | 3e-3 | 1e-2 | timeouts at 1e-3";
/// Least goodput of the best scheme by loss rate, as a share of clean.
const SHARE_MIN: [(f64, f64); 3] = [(LOW_RATE, 0.99), (MIDDLE_RATE, 0.98), (HIGH_RATE, 0.9)];
const PROTECTED_SHARE_MIN: f64 = 0.97;
const PUBLISHED_SHARE_MAX: [(f64, f64); 2] = [(LOW_RATE, 0.5), (MIDDLE_RATE, 0.1)];

fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    1..=effort.choose(2, 5)
}

fn run(scheme: &str, rate: f64, seed: u64, effort: Effort) -> Run {
    Run::new("claims/corrupted")
        .variant(scheme)
        .set("impair.0.rate", rate)
        .set("stop.after", effort.choose("10ms", "100ms"))
        .seed(seed)
        .seconds(effort.choose(0.05, 0.5))
}

fn outcomes<'a>(results: &'a Results<'_>, scheme: &str, rate: f64) -> Vec<&'a Outcome> {
    seeds(results.effort()).map(|seed| results.outcome(&run(scheme, rate, seed, results.effort()))).collect()
}

/// Mean, minimum and maximum over seeds.
fn goodput(results: &Results<'_>, scheme: &str, rate: f64) -> [f64; 3] {
    let all = outcomes(results, scheme, rate);
    spread(all.iter().map(|outcome| outcome.summary.whole_run_goodput_bps as f64))
}

fn share_of_clean(results: &Results<'_>, scheme: &str, rate: f64) -> f64 {
    goodput(results, scheme, rate)[0] / goodput(results, scheme, 0.0)[0]
}

fn timeouts(results: &Results<'_>, scheme: &str, rate: f64) -> u64 {
    outcomes(results, scheme, rate).iter().map(|outcome| outcome.summary.timeouts.total()).sum()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let share_of_clean = |scheme, rate| share_of_clean(results, scheme, rate);
    for (rate, bound) in PUBLISHED_SHARE_MAX {
        let what = format!("goodput of DCP as published at {rate:e}, as a share of clean");
        judgement.must(what, fraction(share_of_clean(PUBLISHED, rate)).at_most(bound));
    }
    for (rate, bound) in SHARE_MIN {
        let what = format!("goodput with sums, hints and units of 64 at {rate:e}, as a share of clean");
        judgement.must(what, fraction(share_of_clean(SHORT_UNITS, rate)).at_least(bound));
    }
    for rate in RATES.into_iter().filter(|&rate| rate <= MIDDLE_RATE) {
        let timeouts = timeouts(results, SHORT_UNITS, rate) as f64;
        judgement.must(
            format!("timeouts with sums, hints and units of 64 at {rate:e}"),
            number(timeouts).at_most(0.0),
        );
    }
    for rival in [BITMAP, IRN, GO_BACK_N] {
        let what = format!("goodput at 1e-2, as a share of clean, {rival}");
        judgement.must(
            what,
            fraction(share_of_clean(rival, HIGH_RATE)).below(share_of_clean(SHORT_UNITS, HIGH_RATE)),
        );
    }
    judgement.must(
        "goodput of DCP as published over a protected link at 1e-3, as a share of clean",
        fraction(share_of_clean(PROTECTED, MIDDLE_RATE)).at_least(PROTECTED_SHARE_MIN),
    );
    judgement.table(COLUMNS, SCHEMES.map(|scheme| row(results, scheme)).to_vec());
    judgement.plot("w3", &figure(results));
}

fn row(results: &Results<'_>, scheme: &str) -> Vec<String> {
    let cell = |rate: f64| {
        let [mean, least, most] = goodput(results, scheme, rate).map(|bps| bps / 1e9);
        format!("{mean:.1} ({least:.1} to {most:.1})")
    };
    let cells = [0.0].into_iter().chain(RATES).map(cell);
    let timeouts = human::count(timeouts(results, scheme, MIDDLE_RATE));
    [scheme.to_owned()].into_iter().chain(cells).chain([timeouts]).collect()
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |scheme: &'static str| {
        let points = RATES.map(|rate| (rate, goodput(results, scheme, rate)[0]));
        // A logarithmic axis has no zero.
        let points = points.into_iter().filter(|(_, goodput)| *goodput > 0.0);
        Curve::marked(scheme, points)
    };
    Plot {
        title: "Goodput of one connection over a corrupting link".to_owned(),
        description:
            "Payload of finished messages per second on a link of 100 Gb/s against the share of corrupted frames."
                .to_owned(),
        x: Axis::new("frames corrupted", Scale::Log, Unit::Number),
        y: Axis::new("goodput", Scale::Log, Unit::RateBps),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
