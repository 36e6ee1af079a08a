//! L8: the effect of backpressure.

use wiremend_measure::Metric;

use super::stream::{self, INTO, OUT};
use super::timeline::{DCTCP, LONG_DCTCP, Phase, StreamSamples, Transport, over_time};
use crate::papers::joshi::source;
use crate::prelude::*;
use crate::stress::FORWARD;

pub(super) const CLAIM: Claim = Claim {
    id: "L8",
    title: "without backpressure the reordering buffer overflows",
    source: source("section 4.2, Fig. 9b"),
    paper: "Without backpressure the reordering buffer repeatedly fills and overflows. End-to-end retransmissions \
           return, more of them than corruption caused, and throughput is lower (DCTCP, 25G, 1e-3)",
    method: "A DCTCP stream at 25G, loss rate 1e-3, a buffer of 200 KB, corruption from 2 s and protection from 7 s \
             to 10 s (L15; quick: 20, 60 and 260 ms), with a round trip of 100 µs, like the streams of the testbed \
             (L14). The same must hold for WRITEs with go-back-N and a window of 400 packets: no retransmission with \
             backpressure, and without it more for each packet than without protection. Their buffer, sampled every \
             5 µs of the first 3 ms, must fill to 95 % without backpressure and stay within the 60 KB of L4 with it",
    note: "With a round trip of 30 µs the bytes in flight of a DCTCP stream, 94 KB on the path and 100 KB before \
           frames are marked, just fit into the buffer of 200 KB: it fills, throughput falls, but nearly no frame \
           overflows. With 100 µs, the round trip of the paper's own streams (L14), 312 KB are on the path alone, \
           and the buffer overflows repeatedly, as printed",
    judge,
    ..Claim::FORM
};

const WITH: &str = "LG";
const WITHOUT: &str = "LG without backpressure";
const LOSS: &str = "loss";
const HARDENED: &str = "hardened";
const BUFFER_BYTES: f64 = 200e3;
/// Largest reordering buffer of the paper at 25G (L4).
const REORDER_BYTES_MAX: f64 = 60e3;
/// The stream at a longer round trip, and at the paper's.
const STREAMS: [(&str, Transport); 2] = [("100 µs", LONG_DCTCP), ("30 µs", DCTCP)];
/// With backpressure and without.
const BOTH: [&str; 2] = [stream::LG, stream::NO_BACKPRESSURE];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    streams(judgement, results);
    writes(judgement, results);
    judgement.columns("| goodput | retransmitted | overflowed | largest buffer");
}

/// The streams of Fig. 9b.
fn streams(judgement: &mut Judgement, results: &Results<'_>) {
    let mut more = Vec::new();
    for (name, transport) in STREAMS {
        let [with, without] = BOTH.map(|variant| StreamSamples::new(results, transport, variant));
        judgement.none(format!("overflows, DCTCP, {name}, with backpressure"), with.overflowed());
        let bps = [&with, &without].map(|samples| samples.throughput_bps(Phase::Protected));
        let what = format!("throughput without backpressure, DCTCP, {name}");
        judgement.must(what, rate_bps(bps[1]).below(bps[0]));
        let [corrupting, protected] =
            [Phase::Corrupting, Phase::Protected].map(|phase| without.retransmissions_per_s(phase));
        more.push(number(protected / corrupting.max(1e-9)));
        for (variant, samples) in BOTH.iter().zip([&with, &without]) {
            let resent = samples.sum(OUT, Metric::RetransmittedPackets, Phase::Protected);
            let cells: [&dyn std::fmt::Display; 4] = [
                &rate_bps(samples.throughput_bps(Phase::Protected)),
                &count(resent),
                &count(samples.overflowed()),
                &bytes(samples.reorder_bytes_max() as f64),
            ];
            judgement.row(format!("DCTCP, {name}, {variant}"), cells);
        }
    }
    let figure = judgement.printed(
        "retransmissions per second without backpressure, divided by those with corruption alone, DCTCP, 30 µs",
        more[1].at_least(1.0),
    );
    judgement.explain("a round trip of 100 µs, borrowed from L14", 1, &[(figure, more[0])]);
    let curves = |lane: &str, metric| {
        let named = BOTH.into_iter().zip(["with backpressure", "without"]);
        named
            .map(|(variant, name)| StreamSamples::new(results, LONG_DCTCP, variant).curve(name, lane, metric))
            .collect()
    };
    let title = "A DCTCP stream over a protected link, with and without backpressure";
    let y = Axis::new("throughput", Scale::Linear, Unit::RateBps).with_range(0.0, 25e9);
    judgement.plot("l8-stream", &over_time(title, y, curves(INTO, Metric::TxBytes)));
    let y = Axis::new("packets retransmitted", Scale::Linear, Unit::Number);
    let resent = curves(OUT, Metric::RetransmittedPackets);
    judgement.plot("l8-again", &over_time("Retransmissions of the host", y, resent));
}

/// WRITEs, and their buffer in the first milliseconds.
fn writes(judgement: &mut Judgement, results: &Results<'_>) {
    let run = |variant: &'static str| {
        let flows = results.effort().choose(30, 200);
        Run::new("claims/backpressure").variant(variant).set("workload.0.count", flows)
    };
    let outcome = |variant| results.outcome(&run(variant));
    let buffer = |variant| {
        let run = run(variant).set("stop.after", "3ms").set("series.every", "5us");
        let samples =
            results.outcome(&run.set("series.links", "switches")).series(FORWARD, Metric::RxBufferBytes);
        samples.iter().map(|&(ns, bytes)| (ns as f64, bytes as f64)).collect::<Vec<_>>()
    };
    let most = |variant| bytes(buffer(variant).iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max));
    for variant in [WITH, HARDENED] {
        let summary = &outcome(variant).summary;
        judgement.none(format!("overflows, {variant}"), summary.protection.overflowed);
        judgement.none(format!("retransmissions of the host, {variant}"), summary.retransmitted_packets);
        let what = format!("largest reordering buffer, {variant}");
        judgement.must(what, most(variant).at_most(REORDER_BYTES_MAX));
    }
    judgement.some("overflows without backpressure", outcome(WITHOUT).summary.protection.overflowed);
    let resent = |variant| {
        let summary = &outcome(variant).summary;
        summary.retransmitted_packets as f64 / summary.packets_sent.max(1) as f64
    };
    judgement.must(
        "retransmissions per packet without backpressure, divided by those without protection",
        number(resent(WITHOUT) / resent(LOSS).max(1e-9)).at_least(1.0),
    );
    let slower = outcome(WITHOUT).goodput().below(outcome(WITH).goodput().value);
    judgement.must("goodput without backpressure", slower);
    let what = "largest reordering buffer without backpressure";
    judgement.must(what, most(WITHOUT).at_least(0.95 * BUFFER_BYTES));
    for variant in [WITH, WITHOUT, LOSS, HARDENED] {
        let (goodput, summary) = (outcome(variant).goodput(), &outcome(variant).summary);
        let [resent, overflowed] = [summary.retransmitted_packets, summary.protection.overflowed].map(count);
        let largest = bytes(summary.protection.rx_buffer_bytes_max as f64);
        judgement.row(format!("WRITEs, {variant}"), [&goodput, &resent, &overflowed, &largest]);
    }
    let y = Axis::new("reordering buffer", Scale::Linear, Unit::Bytes).with_range(0.0, BUFFER_BYTES);
    let curves = [WITHOUT, WITH, HARDENED].map(|variant| Curve::steps(variant, buffer(variant)));
    let title = "Reordering buffer with and without backpressure";
    judgement.plot("l8-buffer", &over_time(title, y, curves.to_vec()));
}
