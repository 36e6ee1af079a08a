//! W5: RACK's reordering window over a link without order.

use super::multi_packet::FLOW_BYTES;
use super::trial::{ALL, HARDENED, HARDENED_NB, RETX_TAIL};
use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "W5",
    title: "RACK's reordering window over a non-blocking link",
    source: source("section 5, left to be investigated"),
    paper: "The effect of the adaptive reordering window of RFC 8985 on the non-blocking mode is left open",
    method: "Link and hosts of L12 over the hardened protocol, which delivers each frame once, so that every \
             retransmission of TCP is unnecessary and causes the DSACKs: 24 387 B on a connection for each flow, and \
             on one for all (60 000 flows; quick: 5000), 2 MB likewise (1000; quick: 40), and a stream (2000 \
             messages of 2 MB, four outstanding; quick: 60), with DCTCP and CUBIC (quick: DCTCP, and CUBIC as a \
             stream). Losses are detected by RACK as in RFC 8985 (adaptive); with a window of a quarter of the \
             minimum round trip, independent of DSACKs (fixed); as adaptive, but by time only: three segments beyond \
             a gap are no loss, even before reordering was seen (time; Linux with tcp_recovery of 5); and by three \
             segments (RFC 6675). Last, 24 387 B on one connection over the prototype at a round trip of 12 µs, a \
             quarter of which is less than a retransmission of the link takes",
    note: "RACK waits only after it has seen reordering, that is, a late segment that was not retransmitted. At 100 \
           Gb/s three later segments overtake a lost frame at once, so that TCP retransmits it and detects no \
           reordering. DSACKs widen the window, but RACK does not use the window before it has seen reordering. If a \
           frame is lost near the end of a burst, fewer than three segments follow it, and RACK sees the reordering. \
           From then on a quarter of the round trip (7.5 µs) is longer than a retransmission of the link (1.6 µs; \
           the prototype 5.4 µs), and no DSACK is needed: the adaptation itself matters only with short round trips. \
           With a new connection for each flow this state is lost. Hosts that use the time-based rule from the first \
           gap on make no unnecessary retransmission, and do as well as over the ordered mode, which needs a buffer \
           and pauses. The exception is a new connection that loses one of its first segments: during the gap its \
           window does not grow, so that a long flow takes longer",
    judge,
    ..Claim::FORM
};

/// Loss detection algorithms: adaptive, fixed, time, segments.
const DETECTIONS: [&str; 4] = ["adaptive", "fixed", "time", "segments"];
const MANY_RETRANSMISSIONS_MIN: f64 = 0.5;
const ORDERED_TOLERANCE: f64 = 0.02;
/// A stream is at least 5 % faster with detection by time.
const SEGMENTS_SHARE_MAX: f64 = 0.95;
/// Retransmissions until reordering is detected: (7/8)^70 is 1e-4.
const UNTIL_DETECTED_MAX: f64 = 70.0;

/// Flow sizes and connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Case {
    ShortEach,
    Short,
    LongEach,
    Long,
    Stream,
    /// Over the prototype, at a round trip of 12 µs.
    Near,
}

impl Case {
    /// Cases that are compared with the ordered mode.
    const ALL: [Self; 5] = [Self::ShortEach, Self::Short, Self::LongEach, Self::Long, Self::Stream];

    const fn name(self) -> &'static str {
        match self {
            Self::ShortEach => "24 387 B, one connection per flow",
            Self::Short => "24 387 B, one connection",
            Self::LongEach => "2 MB, one connection per flow",
            Self::Long => "2 MB, one connection",
            Self::Stream => "stream",
            Self::Near => "24 387 B, one connection, 12 µs",
        }
    }

    fn run(self, effort: Effort, congestion: &str, link: &'static str) -> Run {
        let (flows, flow_bytes) = match self {
            Self::ShortEach | Self::Short | Self::Near => (effort.choose(5_000, 60_000), FLOW_BYTES),
            Self::LongEach | Self::Long => (effort.choose(40, 1_000), 2_000_000),
            Self::Stream => (effort.choose(60, 2_000), 2_000_000),
        };
        let run = Run::new("claims/reordered")
            .variant(link)
            .set("workload.0.message", format!("{flow_bytes}B"))
            .set("workload.0.count", flows)
            .set("transport.tcp.congestion", congestion)
            .seconds(f64::from(flows) * f64::from(flow_bytes) * 3e-9);
        let run = match self {
            Self::ShortEach | Self::LongEach => return run,
            _ => run.set("transport.qp", "per-pair").set("transport.tcp.handshake", false),
        };
        match self {
            Self::Stream => run.set("workload.0.depth", 4),
            Self::Near => run
                .set("topology.host_tx_latency", "2.3us")
                .set("topology.host_rx_latency", "2.3us")
                .set("transport.tcp.stack_latency", "0ns"),
            _ => run,
        }
    }

    /// Runs over a link without order, by loss detection.
    fn detections<'a>(self, results: &'a Results<'_>, congestion: &str) -> [&'a Outcome; 4] {
        let link = if self == Self::Near { RETX_TAIL } else { HARDENED_NB };
        let run = self.run(results.effort(), congestion, link);
        DETECTIONS.map(|detection| results.outcome(&run.clone().set("transport.tcp.reordering", detection)))
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let cubic = effort.choose(&[Case::Stream][..], &Case::ALL).iter().map(|case| (*case, "cubic"));
    for (case, congestion) in Case::ALL.map(|case| (case, "dctcp")).into_iter().chain(cubic) {
        let outcomes = case.detections(results, congestion);
        let ordered = results.outcome(&case.run(effort, congestion, HARDENED));
        let name = format!("{}, {congestion}", case.name());
        for (detection, outcome) in DETECTIONS.iter().zip(outcomes) {
            let name = format!("{name}, {detection}");
            judgement.none(format!("timeouts, {name}"), outcome.summary.timeouts.total());
            judgement.none(format!("flows that do not finish, {name}"), outcome.unfinished());
            let what = format!("frames that the link did not recover, {name}");
            judgement.none(what, outcome.summary.protection.lost);
            row(judgement, name, outcome);
        }
        row(judgement, format!("{name}, {HARDENED}"), ordered);
        unnecessary(judgement, case, &name, outcomes);
        against_order(judgement, case, &name, outcomes, ordered);
    }
    let near = Case::Near.detections(results, "dctcp");
    for (detection, outcome) in DETECTIONS.iter().zip(near) {
        row(judgement, format!("{}, {detection}", Case::Near.name()), outcome);
    }
    let ordered = results.outcome(&Case::Near.run(effort, "dctcp", ALL));
    row(judgement, format!("{}, {ALL}", Case::Near.name()), ordered);
    let [adaptive, fixed, ..] = near.map(per_link_retransmission);
    judgement.must(
        "retransmissions per link retransmission at 12 µs, fixed compared with adaptive",
        fixed.at_least(2.0 * adaptive.value),
    );
    judgement.columns(
        "| recovered by the link | retransmitted by TCP | per recovered frame | recoveries | undone | median | 99.9 % | \
         slowest | goodput",
    );
}

/// Unnecessary retransmissions of TCP for each frame that the link retransmitted.
fn per_link_retransmission(outcome: &Outcome) -> Number {
    count(outcome.summary.retransmitted_packets).per(count(outcome.summary.protection.recovered))
}

fn unnecessary(judgement: &mut Judgement, case: Case, name: &str, outcomes: [&Outcome; 4]) {
    let [adaptive, fixed, time, segments] = outcomes.map(per_link_retransmission);
    let what = |detection: &str| format!("retransmissions per link retransmission, {name}, {detection}");
    judgement.must(what("time"), time.at_most(0.05));
    match case {
        Case::ShortEach | Case::LongEach => {
            judgement.must(what("adaptive"), adaptive.at_least(MANY_RETRANSMISSIONS_MIN));
            judgement.must(what("fixed"), fixed.near(adaptive.value, 0.1));
            judgement.must(what("segments"), segments.at_least(MANY_RETRANSMISSIONS_MIN));
        }
        Case::Short => {
            for (detection, outcome) in DETECTIONS.iter().zip(&outcomes[..2]) {
                let sent = number(outcome.summary.retransmitted_packets as f64);
                let what = format!("retransmissions in total, {name}, {detection}");
                judgement.must(what, sent.at_most(UNTIL_DETECTED_MAX));
            }
            judgement.must(what("segments"), segments.at_least(MANY_RETRANSMISSIONS_MIN));
        }
        Case::Long | Case::Stream | Case::Near => {}
    }
}

fn against_order(
    judgement: &mut Judgement,
    case: Case,
    name: &str,
    [_, _, time, segments]: [&Outcome; 4],
    ordered: &Outcome,
) {
    let [late, order] = [time, ordered].map(|of| time_ns(exact_ns(of, 0.999)));
    let what = format!("99.9 % compared with the ordered mode, {name}, time");
    judgement.must(what, late.at_most(order.value * (1.0 + ORDERED_TOLERANCE)));
    if case == Case::Stream {
        let [time, segments, ordered] = [time, segments, ordered].map(Outcome::goodput);
        let as_fast = time.at_least(ordered.value * (1.0 - ORDERED_TOLERANCE));
        judgement.must(format!("goodput, {name}, time"), as_fast);
        let slower = segments.at_most(time.value * SEGMENTS_SHARE_MAX);
        judgement.must(format!("goodput, {name}, segments"), slower);
    }
}

fn row(judgement: &mut Judgement, name: String, outcome: &Outcome) {
    let [recovered, resent, recoveries, undone] = [
        outcome.summary.protection.recovered,
        outcome.summary.retransmitted_packets,
        outcome.tcp.recoveries,
        outcome.tcp.undone,
    ]
    .map(count);
    let [median, p999, slowest] = [0.5, 0.999, 1.0].map(|quantile| time_ns(exact_ns(outcome, quantile)));
    let per = per_link_retransmission(outcome);
    let goodput = outcome.goodput();
    let cells: [&dyn std::fmt::Display; 9] =
        [&recovered, &resent, &per, &recoveries, &undone, &median, &p999, &slowest, &goodput];
    judgement.row(name, cells);
}
