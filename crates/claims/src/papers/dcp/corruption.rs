//! W3: DCP over corrupting links.

use wiremend_report::human;
use wiremend_report::plot::{Axis, Curve, Line, Plot, Scale, Unit};

use super::source;
use crate::ledger::number::{fraction, number, shown, spread};
use crate::ledger::{Claim, Effort, Finding, Judgement, Outcome, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "W3",
    title: "DCP over a link that corrupts",
    source: source("not asked there"),
    paper: "DCP retransmits packets that switches trimmed, because their headers reach the receiver. Nothing of a \
           corrupted packet does. The paper leaves this case to a timer and does not measure it",
    method: "One connection, messages of 1 MB, two at a time, over two switches whose link corrupts frames in both \
            directions (100 ms from each of 5 seeds; quick: 10 ms from 2). Goodput is the payload of finished \
            messages divided by the simulated time, as a share of the same scheme's goodput without corruption. \
            Corruption breaks DCP and the hosts can repair it (reproduced) if DCP as published keeps at most 50 % at \
            1e-4 and 10 % at 1e-3; if with sums, hints (allowance 32, probe 30 µs) and units of 64 packets it keeps \
            at least 99 %, 98 % and 90 % at 1e-4, 1e-3 and 1e-2 and no timer expires up to 1e-3; if at 1e-2 it keeps \
            more than a bitmap with hints, than IRN and than go-back-N; and if a protected link alone gives DCP as \
            published at least 97 % at 1e-3",
    runs,
    judge,
};

const GO_BACK_N: &str = "go-back-N";
const IRN: &str = "IRN";
const PUBLISHED: &str = "DCP as published";
const BITMAP: &str = "DCP, bitmap, hints";
const MENDED: &str = "DCP, sums, hints, units of 64";
const PROTECTED: &str = "DCP as published, link protected";
const SCHEMES: [&str; 8] =
    [MENDED, "DCP, sums, hints", BITMAP, PROTECTED, PUBLISHED, "RACK-TLP", IRN, GO_BACK_N];

const FEW: f64 = 1e-4;
const SOME: f64 = 1e-3;
const MANY: f64 = 1e-2;
const RATES: [f64; 5] = [1e-5, FEW, SOME, 3e-3, MANY];
const COLUMNS: &str = "| no corruption | 1e-5 | 1e-4 | 1e-3 | 3e-3 | 1e-2 | timeouts at 1e-3";
/// Least goodput of the best scheme by loss rate, as a share of clean.
const KEPT: [(f64, f64); 3] = [(FEW, 0.99), (SOME, 0.98), (MANY, 0.9)];
const KEPT_BY_LINK: f64 = 0.97;
const BROKEN: [(f64, f64); 2] = [(FEW, 0.5), (SOME, 0.1)];

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

fn runs(effort: Effort) -> Vec<Run> {
    let at = |scheme: &'static str, rate: f64| seeds(effort).map(move |seed| run(scheme, rate, seed, effort));
    let of = |scheme| [0.0].into_iter().chain(RATES).flat_map(move |rate| at(scheme, rate));
    SCHEMES.into_iter().flat_map(of).collect()
}

fn outcomes<'a>(results: &'a Results<'_>, scheme: &str, rate: f64) -> Vec<&'a Outcome> {
    seeds(results.effort()).map(|seed| results.outcome(&run(scheme, rate, seed, results.effort()))).collect()
}

/// Mean, minimum and maximum over seeds.
fn goodput(results: &Results<'_>, scheme: &str, rate: f64) -> [f64; 3] {
    let all = outcomes(results, scheme, rate);
    spread(all.iter().map(|outcome| outcome.summary.goodput_bps as f64))
}

fn kept(results: &Results<'_>, scheme: &str, rate: f64) -> f64 {
    goodput(results, scheme, rate)[0] / goodput(results, scheme, 0.0)[0]
}

fn timeouts(results: &Results<'_>, scheme: &str, rate: f64) -> u64 {
    outcomes(results, scheme, rate).iter().map(|outcome| outcome.summary.timeouts.total()).sum()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let kept = |scheme, rate| kept(results, scheme, rate);
    for (rate, bound) in BROKEN {
        let what = format!("kept by DCP as published at {rate:e}");
        judgement.must(what, fraction(kept(PUBLISHED, rate)).at_most(bound));
    }
    for (rate, bound) in KEPT {
        let what = format!("kept with sums, hints and units of 64 at {rate:e}");
        judgement.must(what, fraction(kept(MENDED, rate)).at_least(bound));
    }
    for rate in RATES.into_iter().filter(|&rate| rate <= SOME) {
        let fired = timeouts(results, MENDED, rate) as f64;
        judgement.must(format!("timeouts of it at {rate:e}"), number(fired).at_most(0.0));
    }
    for rival in [BITMAP, IRN, GO_BACK_N] {
        let what = format!("kept at 1e-2, {rival}");
        judgement.must(what, fraction(kept(rival, MANY)).below(kept(MENDED, MANY)));
    }
    judgement.must(
        "kept by DCP as published over a protected link at 1e-3",
        fraction(kept(PROTECTED, SOME)).at_least(KEPT_BY_LINK),
    );
    judgement.table(COLUMNS, SCHEMES.map(|scheme| row(results, scheme)).to_vec());
    judgement.plot("w3", &figure(results));
    let text = |rate| {
        let list = SCHEMES.map(|scheme| format!("{} % {scheme}", human::percent(kept(scheme, rate))));
        format!("at {} of what they have without corruption: {}", shown(rate), list.join(", "))
    };
    judgement.finding(
        [text(SOME), text(MANY)].join("; "),
        "A message of which one packet is gone waits for the timer and is then repeated whole, which is go-back-0: the longer the message, the less likely a round succeeds. Hints name what later packets have passed, and probes what none follows; short units keep a round short where sums cannot name what is missing. \
         RACK-TLP, which keeps a list of all that it has sent, does as well without any header; the bitmap fills while its oldest hole is mended",
    )
}

fn row(results: &Results<'_>, scheme: &str) -> Vec<String> {
    let cell = |rate: f64| {
        let [mean, least, most] = goodput(results, scheme, rate).map(|bps| bps / 1e9);
        format!("{mean:.1} ({least:.1} to {most:.1})")
    };
    let cells = [0.0].into_iter().chain(RATES).map(cell);
    let fired = human::count(timeouts(results, scheme, SOME));
    [scheme.to_owned()].into_iter().chain(cells).chain([fired]).collect()
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |scheme: &'static str| {
        let points = RATES.map(|rate| (rate, goodput(results, scheme, rate)[0]));
        // A logarithmic axis has no zero.
        let points = points.into_iter().filter(|(_, goodput)| *goodput > 0.0).collect();
        Curve { name: scheme.to_owned(), points, line: Line::Marked }
    };
    Plot {
        title: "Goodput of one connection over a link that corrupts".to_owned(),
        description: "Payload of finished messages a second on a link of 100 Gb/s against the share of frames that is corrupted."
            .to_owned(),
        x: Axis::new("frames corrupted", Scale::Log, Unit::Number),
        y: Axis::new("goodput", Scale::Log, Unit::RateBps),
        curves: SCHEMES.map(curve).to_vec(),
    }
}
