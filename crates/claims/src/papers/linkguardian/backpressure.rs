//! L8: the effect of backpressure.

use wiremend_measure::Metric;

use super::stream::{self, INTO, OUT};
use super::timeline::{self, DCTCP, LONG_DCTCP, Phase, StreamSamples, Transport};
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
const SAMPLED: [&str; 3] = [WITHOUT, WITH, HARDENED];
const BUFFER_BYTES: f64 = 200e3;
/// Largest reordering buffer of the paper at 25G (L4).
const REORDER_BYTES_MAX: f64 = 60e3;

fn run(variant: &'static str, effort: Effort) -> Run {
    Run::new("claims/backpressure")
        .variant(variant)
        .set("workload.0.count", effort.choose(30, 200))
        .seconds(1.0)
}

/// The first milliseconds, with a short sampling interval.
fn sampled(variant: &'static str, effort: Effort) -> Run {
    run(variant, effort).set("stop.after", "3ms").set("series.every", "5us").set("series.links", "switches")
}

/// Round trip of a stream: the one that the paper gives, or a longer one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RoundTrip {
    Given,
    Longer,
}

/// With backpressure and without.
const BOTH: [&str; 2] = [stream::LG, stream::NO_BACKPRESSURE];

impl RoundTrip {
    const ALL: [Self; 2] = [Self::Longer, Self::Given];

    const fn name(self) -> &'static str {
        match self {
            Self::Given => "30 µs",
            Self::Longer => "100 µs",
        }
    }

    /// Long enough for several overflows: there are about twenty per second.
    fn transport(self) -> Transport {
        match self {
            Self::Given => DCTCP,
            Self::Longer => LONG_DCTCP,
        }
    }

    fn run(self, variant: &'static str, effort: Effort) -> Run {
        let run = timeline::run(self.transport(), variant, effort);
        match self {
            Self::Given => run,
            Self::Longer => run.set("transport.tcp.stack_latency", "47us"),
        }
    }

    fn samples<'a>(self, results: &'a Results<'_>, variant: &'static str) -> StreamSamples<'a> {
        StreamSamples::new(results, self.transport(), &self.run(variant, results.effort()))
    }
}

/// Occupancy of the reordering buffer over time.
fn buffer(results: &Results<'_>, variant: &'static str) -> Vec<(f64, f64)> {
    let outcome = results.outcome(&sampled(variant, results.effort()));
    let samples = outcome.series(FORWARD, Metric::RxBufferBytes);
    samples.iter().map(|&(ns, bytes)| (ns as f64, bytes as f64)).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let outcome = |variant| results.outcome(&run(variant, results.effort()));
    for variant in [WITH, HARDENED] {
        judgement.none(format!("overflows, {variant}"), outcome(variant).summary.protection.overflowed);
        judgement.none(
            format!("retransmissions of the host, {variant}"),
            outcome(variant).summary.retransmitted_packets,
        );
    }
    let overflowed = outcome(WITHOUT).summary.protection.overflowed;
    judgement.some("overflows without backpressure", overflowed);
    let (with, without) = (retransmission_share(outcome(LOSS)), retransmission_share(outcome(WITHOUT)));
    judgement.must(
        "retransmissions per packet without backpressure, divided by those without protection",
        number(without / with.max(1e-9)).at_least(1.0),
    );
    let goodput = outcome(WITHOUT).summary.whole_run_goodput_bps as f64;
    judgement.must(
        "goodput without backpressure",
        rate_bps(goodput).below(outcome(WITH).summary.whole_run_goodput_bps as f64),
    );
    over_time(judgement, results);
    streams(judgement, results);
    let row = |variant: &'static str| {
        let summary = &outcome(variant).summary;
        vec![
            format!("WRITEs, {variant}"),
            human::rate_bps(summary.whole_run_goodput_bps as f64),
            human::count(summary.retransmitted_packets),
            human::count(summary.protection.overflowed),
            human::bytes(summary.protection.rx_buffer_bytes_max as f64),
        ]
    };
    let all = [WITH, WITHOUT, LOSS, HARDENED];
    let rows = stream_rows(results).into_iter().chain(all.map(row)).collect();
    judgement.table("| goodput | retransmitted | overflowed | largest buffer", rows);
    let bar = |variant: &'static str| Bar {
        name: variant.to_owned(),
        counts: vec![
            outcome(variant).summary.retransmitted_packets,
            outcome(variant).summary.protection.overflowed,
        ],
    };
    judgement.bars(
        "l8",
        &Bars {
            title: "Retransmissions of the host, and overflows of the link".to_owned(),
            description: "End-to-end retransmissions and overflowed frames, with and without backpressure."
                .to_owned(),
            parts: vec!["packets retransmitted".to_owned(), "frames overflowed".to_owned()],
            bars: all.map(bar).to_vec(),
        },
    );
}

/// Checks the streams of Fig. 9b.
fn streams(judgement: &mut Judgement, results: &Results<'_>) {
    let more = |at: RoundTrip| {
        let without = at.samples(results, stream::NO_BACKPRESSURE);
        let [corrupting, protected] =
            [Phase::Corrupting, Phase::Protected].map(|phase| without.retransmissions_per_s(phase));
        number(protected / corrupting.max(1e-9))
    };
    for at in RoundTrip::ALL {
        let [with, without] = BOTH.map(|variant| at.samples(results, variant));
        let name = at.name();
        judgement.none(format!("overflows, DCTCP, {name}, with backpressure"), with.overflowed());
        let bps = [&with, &without].map(|samples| samples.throughput_bps(Phase::Protected));
        judgement
            .must(format!("throughput without backpressure, DCTCP, {name}"), rate_bps(bps[1]).below(bps[0]));
    }
    let figure = judgement.printed(
        "retransmissions per second without backpressure, divided by those with corruption alone, DCTCP, 30 µs",
        more(RoundTrip::Given).at_least(1.0),
    );
    judgement.explain("a round trip of 100 µs, borrowed from L14", 1, &[(figure, more(RoundTrip::Longer))]);
    let curve = |variant: &'static str| {
        let samples = RoundTrip::Longer.samples(results, variant);
        let name = if variant == stream::LG { "with backpressure" } else { "without" };
        samples.curve(name.to_owned(), INTO, Metric::TxBytes, 8.0 * samples.samples_per_s())
    };
    judgement.plot(
        "l8-stream",
        &Plot::new(
            "A DCTCP stream over a protected link, with and without backpressure",
            "Throughput over time, before and during corruption, and with protection.",
            Axis::new("time", Scale::Linear, Unit::TimeNs),
            Axis::new("throughput", Scale::Linear, Unit::RateBps).with_range(0.0, 25e9),
            BOTH.map(curve).to_vec(),
        ),
    );
    let retransmitted = |variant: &'static str| {
        let samples = RoundTrip::Longer.samples(results, variant);
        let name = if variant == stream::LG { "with backpressure" } else { "without" };
        samples.curve(name.to_owned(), OUT, Metric::RetransmittedPackets, 1.0)
    };
    judgement.plot(
        "l8-again",
        &Plot::new(
            "Retransmissions of the host",
            "Packets retransmitted between two samples, over time.",
            Axis::new("time", Scale::Linear, Unit::TimeNs),
            Axis::new("packets retransmitted", Scale::Linear, Unit::Number),
            BOTH.map(retransmitted).to_vec(),
        ),
    );
}

fn stream_rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let row = |at: RoundTrip, variant: &'static str| {
        let samples = at.samples(results, variant);
        vec![
            format!("DCTCP, {}, {variant}", at.name()),
            human::rate_bps(samples.throughput_bps(Phase::Protected)),
            human::count(samples.sum(OUT, Metric::RetransmittedPackets, Phase::Protected)),
            human::count(samples.overflowed()),
            human::bytes(samples.reorder_bytes_max() as f64),
        ]
    };
    RoundTrip::ALL.into_iter().flat_map(|at| BOTH.map(|variant| row(at, variant))).collect()
}

/// Checks WRITEs with a short sampling interval.
fn over_time(judgement: &mut Judgement, results: &Results<'_>) {
    let most = |variant| buffer(results, variant).iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    judgement.must(
        "largest reordering buffer without backpressure",
        bytes(most(WITHOUT)).at_least(0.95 * BUFFER_BYTES),
    );
    for variant in [WITH, HARDENED] {
        judgement.must(
            format!("largest reordering buffer, {variant}"),
            bytes(most(variant)).at_most(REORDER_BYTES_MAX),
        );
    }
    let curve = |variant: &'static str| Curve::steps(variant, buffer(results, variant));
    judgement.plot(
        "l8-buffer",
        &Plot::new(
            "Reordering buffer with and without backpressure",
            "Bytes in the reordering buffer of a link of 25 Gb/s over time.",
            Axis::new("time", Scale::Linear, Unit::TimeNs),
            Axis::new("reordering buffer", Scale::Linear, Unit::Bytes).with_range(0.0, BUFFER_BYTES),
            SAMPLED.map(curve).to_vec(),
        ),
    );
}

/// Share of the sent packets that are retransmissions.
fn retransmission_share(outcome: &Outcome) -> f64 {
    outcome.summary.retransmitted_packets as f64 / outcome.summary.packets_sent.max(1) as f64
}
