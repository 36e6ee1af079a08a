//! L8: what backpressure is for.

use wiremend_measure::Metric;
use wiremend_report::human;
use wiremend_report::plot::{Axis, Bar, Bars, Curve, Line, Plot, Scale, Unit};

use super::stress::FORWARD;
use crate::claims::joshi::source;
use crate::ledger::number::{bytes, count, number, rate_bps};
use crate::ledger::{Claim, Effort, Finding, Judgement, Outcome, Results, Run};

pub(super) const CLAIM: Claim = Claim {
    id: "L8",
    title: "without backpressure the buffer overflows",
    source: source!("section 4.2, Fig. 9b"),
    paper: "Without backpressure the reordering buffer builds up and overflows again and again, so that end-to-end retransmissions return, more of them \
            than corruption caused, and throughput is lower (DCTCP, 25G, 1e-3)",
    method: "WRITEs with go-back-N, a window of 400 packets, 25G, 1e-3, a buffer of 200 KB. Reproduced if with backpressure nothing overflows and the host sends nothing \
             again, and without it frames overflow, the host sends more packets again for each that it sends than it does without protection, \
             and goodput is below that with backpressure; and if the buffer, sampled every 5 µs of the first 3 ms, fills to 95 % without it, and \
             with it stays within the 60 KB of L4",
    runs,
    judge,
};

const WITH: &str = "LG";
const WITHOUT: &str = "LG without backpressure";
const LOSS: &str = "loss";
const OURS: &str = "hardened";
const MENDED: [&str; 3] = [WITHOUT, WITH, OURS];
const ROOM_BYTES: f64 = 200e3;
/// The most that the paper's receiver kept at 25G (L4).
const KEPT_BYTES: f64 = 60e3;

fn run(variant: &'static str, effort: Effort) -> Run {
    Run::of("claims/backpressure")
        .variant(variant)
        .set("workload.0.count", effort.choose(30, 200))
        .seconds(1.0)
}

/// The begin of it, looked at closely.
fn sampled(variant: &'static str, effort: Effort) -> Run {
    run(variant, effort).set("stop.after", "3ms").set("series.every", "5us").set("series.links", "switches")
}

fn runs(effort: Effort) -> Vec<Run> {
    let counted = [WITH, WITHOUT, LOSS, OURS].map(|variant| run(variant, effort));
    counted.into_iter().chain(MENDED.map(|variant| sampled(variant, effort))).collect()
}

/// What waits for an earlier frame, over time.
fn buffer(results: &Results<'_>, variant: &'static str) -> Vec<(f64, f64)> {
    let outcome = results.of(&sampled(variant, results.effort()));
    let samples = outcome.series(FORWARD, Metric::RxBufferBytes);
    samples.iter().map(|&(ns, bytes)| (ns as f64, bytes as f64)).collect()
}

fn judge(results: &Results<'_>) -> Finding {
    let mut judgement = Judgement::new();
    let of = |variant| results.of(&run(variant, results.effort()));
    for variant in [WITH, OURS] {
        judgement
            .must(format!("overflows, {variant}"), count(of(variant).summary.protection.overflowed).is(0));
        judgement
            .must(format!("sent again, {variant}"), count(of(variant).summary.retransmitted_packets).is(0));
    }
    let overflowed = of(WITHOUT).summary.protection.overflowed;
    judgement.must("overflows without backpressure", number(overflowed as f64).at_least(1.0));
    let (with, without) = (again(of(LOSS)), again(of(WITHOUT)));
    judgement.must(
        "sent again for each packet, against no protection",
        number(without / with.max(1e-9)).at_least(1.0),
    );
    let goodput = of(WITHOUT).summary.goodput_bps as f64;
    judgement
        .must("goodput without backpressure", rate_bps(goodput).below(of(WITH).summary.goodput_bps as f64));
    over_time(&mut judgement, results);
    let row = |variant: &'static str| {
        let summary = &of(variant).summary;
        vec![
            variant.to_owned(),
            human::rate_bps(summary.goodput_bps as f64),
            human::count(summary.retransmitted_packets),
            human::count(summary.protection.overflowed),
            format!("{} of {}", summary.finished, summary.flows),
        ]
    };
    let all = [WITH, WITHOUT, LOSS, OURS];
    judgement.table(&["", "goodput", "sent again", "overflowed", "finished"], all.map(row).to_vec());
    let bar = |variant: &'static str| Bar {
        name: variant.to_owned(),
        counts: vec![of(variant).summary.retransmitted_packets, of(variant).summary.protection.overflowed],
    };
    judgement.bars(
        "l8",
        &Bars {
            title: "What the end host sends again, and what overflows in the link".to_owned(),
            description:
                "Packets sent again end to end and frames that overflowed, with and without backpressure."
                    .to_owned(),
            parts: vec!["packets sent again".to_owned(), "frames that overflowed".to_owned()],
            bars: all.map(bar).to_vec(),
        },
    );
    judgement.finding(
        format!(
            "{} overflows and {} packets sent again without backpressure, none of either with it; goodput {} instead of {}",
            human::count(overflowed),
            human::count(of(WITHOUT).summary.retransmitted_packets),
            human::rate_bps(goodput),
            human::rate_bps(of(WITH).summary.goodput_bps as f64)
        ),
        "Frames that overflow are holes that nobody asks for: each stalls the link for a whole ackNoTimeout, so that more pile up. Go-back-N does not slow down as \
         DCTCP does, so that here the connection breaks",
    )
}

/// Fig. 9b.
fn over_time(judgement: &mut Judgement, results: &Results<'_>) {
    let most = |variant| buffer(results, variant).iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    judgement.must("most that waits without backpressure", bytes(most(WITHOUT)).at_least(0.95 * ROOM_BYTES));
    for variant in [WITH, OURS] {
        judgement.must(format!("most that waits, {variant}"), bytes(most(variant)).at_most(KEPT_BYTES));
    }
    let curve = |variant: &'static str| Curve {
        name: variant.to_owned(),
        points: buffer(results, variant),
        line: Line::StepAfter,
    };
    judgement.plot(
        "l8-buffer",
        &Plot {
            title: "What waits for an earlier frame, with and without backpressure".to_owned(),
            description: "Bytes in the reordering buffer of a link of 25 Gb/s over time.".to_owned(),
            x: Axis::new("time", Scale::Linear, Unit::TimeNs),
            y: Axis::new("reordering buffer", Scale::Linear, Unit::Bytes).with_range(0.0, ROOM_BYTES),
            curves: MENDED.map(curve).to_vec(),
        },
    );
}

/// Packets sent again of all that were sent.
fn again(outcome: &Outcome) -> f64 {
    outcome.summary.retransmitted_packets as f64 / outcome.summary.packets_sent.max(1) as f64
}
