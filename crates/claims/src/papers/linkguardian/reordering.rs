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

/// Loss detection algorithms.
const ADAPTIVE: &str = "adaptive";
const FIXED: &str = "fixed";
const TIME: &str = "time";
const SEGMENTS: &str = "segments";
const DETECTIONS: [&str; 4] = [ADAPTIVE, FIXED, TIME, SEGMENTS];

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

    fn flows(self, effort: Effort) -> u32 {
        match self {
            Self::ShortEach | Self::Short | Self::Near => effort.choose(5_000, 60_000),
            Self::LongEach | Self::Long => effort.choose(40, 1_000),
            Self::Stream => effort.choose(60, 2_000),
        }
    }

    fn flow_bytes(self) -> u32 {
        match self {
            Self::ShortEach | Self::Short | Self::Near => FLOW_BYTES,
            Self::LongEach | Self::Long | Self::Stream => 2_000_000,
        }
    }

    fn run(self, effort: Effort, congestion: &str, link: &'static str) -> Run {
        let (flows, flow_bytes) = (self.flows(effort), self.flow_bytes());
        let run = Run::new("claims/reordered")
            .variant(link)
            .set("workload.0.message", format!("{flow_bytes}B"))
            .set("workload.0.count", flows)
            .set("transport.tcp.congestion", congestion)
            .seconds(f64::from(flows) * f64::from(flow_bytes) * 3e-9);
        let run = match self {
            Self::ShortEach | Self::LongEach => run,
            Self::Short | Self::Long | Self::Stream | Self::Near => {
                run.set("transport.qp", "per-pair").set("transport.tcp.handshake", false)
            }
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

    /// A run over a link without order.
    fn with_detection(self, effort: Effort, congestion: &str, detection: &str) -> Run {
        let link = if self == Self::Near { RETX_TAIL } else { HARDENED_NB };
        self.run(effort, congestion, link).set("transport.tcp.reordering", detection)
    }
}

/// All cases, each with a congestion control.
fn cases(effort: Effort) -> Vec<(Case, &'static str)> {
    let dctcp = Case::ALL.map(|case| (case, "dctcp"));
    let cubic = Case::ALL.map(|case| (case, "cubic"));
    match effort {
        Effort::Quick => dctcp.into_iter().chain([(Case::Stream, "cubic")]).collect(),
        Effort::Full => dctcp.into_iter().chain(cubic).collect(),
    }
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let effort = results.effort();
    let mut rows = Vec::new();
    for (case, congestion) in cases(effort) {
        let detections =
            DETECTIONS.map(|detection| results.outcome(&case.with_detection(effort, congestion, detection)));
        let ordered = results.outcome(&case.run(effort, congestion, HARDENED));
        let name = format!("{}, {congestion}", case.name());
        for (detection, outcome) in DETECTIONS.iter().zip(detections) {
            check_no_timeouts(judgement, &format!("{name}, {detection}"), outcome);
            rows.push(row(&format!("{name}, {detection}"), outcome));
        }
        rows.push(row(&format!("{name}, {HARDENED}"), ordered));
        check_unnecessary(judgement, case, &name, detections);
        against_order(judgement, case, &name, detections, ordered);
    }
    let near =
        DETECTIONS.map(|detection| results.outcome(&Case::Near.with_detection(effort, "dctcp", detection)));
    for (detection, outcome) in DETECTIONS.iter().zip(near) {
        rows.push(row(&format!("{}, {detection}", Case::Near.name()), outcome));
    }
    rows.push(row(
        &format!("{}, {ALL}", Case::Near.name()),
        results.outcome(&Case::Near.run(effort, "dctcp", ALL)),
    ));
    let [adaptive, fixed] = [near[0], near[1]].map(per_link_retransmission);
    judgement.must(
        "retransmissions per link retransmission at 12 µs, fixed compared with adaptive",
        number(fixed).at_least(2.0 * adaptive),
    );
    judgement.table(COLUMNS, rows);
}

/// Unnecessary retransmissions of TCP for each frame that the link retransmitted.
fn per_link_retransmission(outcome: &Outcome) -> f64 {
    outcome.summary.retransmitted_packets as f64 / outcome.summary.protection.recovered.max(1) as f64
}

fn check_no_timeouts(judgement: &mut Judgement, name: &str, outcome: &Outcome) {
    let summary = &outcome.summary;
    judgement.none(format!("timeouts, {name}"), summary.timeouts.total());
    judgement.none(format!("flows that do not finish, {name}"), summary.flows - summary.finished);
    judgement.none(format!("frames that the link did not recover, {name}"), summary.protection.lost);
}

fn check_unnecessary(judgement: &mut Judgement, case: Case, name: &str, detections: [&Outcome; 4]) {
    let [adaptive, fixed, time, segments] = detections.map(per_link_retransmission);
    let what = |detection: &str| format!("retransmissions per link retransmission, {name}, {detection}");
    judgement.must(what(TIME), number(time).at_most(0.05));
    match case {
        Case::ShortEach | Case::LongEach => {
            judgement.must(what(ADAPTIVE), number(adaptive).at_least(MANY_RETRANSMISSIONS_MIN));
            judgement.must(what(FIXED), number(fixed).near(adaptive, 0.1));
            judgement.must(what(SEGMENTS), number(segments).at_least(MANY_RETRANSMISSIONS_MIN));
        }
        Case::Short => {
            for (detection, outcome) in [(ADAPTIVE, detections[0]), (FIXED, detections[1])] {
                let sent = outcome.summary.retransmitted_packets as f64;
                judgement.must(
                    format!("retransmissions in total, {name}, {detection}"),
                    number(sent).at_most(UNTIL_DETECTED_MAX),
                );
            }
            judgement.must(what(SEGMENTS), number(segments).at_least(MANY_RETRANSMISSIONS_MIN));
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
    let [late, order] = [time, ordered].map(|of| exact_ns(of, 0.999));
    let what = format!("99.9 % compared with the ordered mode, {name}, {TIME}");
    judgement.must(what, time_ns(late).at_most(order * (1.0 + ORDERED_TOLERANCE)));
    if case == Case::Stream {
        let [time, segments, ordered] =
            [time, segments, ordered].map(|of| of.summary.whole_run_goodput_bps as f64);
        judgement.must(
            format!("goodput, {name}, {TIME}"),
            rate_bps(time).at_least(ordered * (1.0 - ORDERED_TOLERANCE)),
        );
        judgement.must(
            format!("goodput, {name}, {SEGMENTS}"),
            rate_bps(segments).at_most(time * SEGMENTS_SHARE_MAX),
        );
    }
}

const COLUMNS: &str = "| recovered by the link | retransmitted by TCP | per recovered frame | recoveries | undone | \
                       median | 99.9 % | slowest | goodput";

fn row(name: &str, outcome: &Outcome) -> Vec<String> {
    let summary = &outcome.summary;
    let mut row = vec![
        name.to_owned(),
        human::count(summary.protection.recovered),
        human::count(summary.retransmitted_packets),
        shown(per_link_retransmission(outcome)),
        human::count(outcome.tcp.recoveries),
        human::count(outcome.tcp.undone),
    ];
    row.extend([0.5, 0.999, 1.0].map(|quantile| human::time_ns(exact_ns(outcome, quantile))));
    row.push(human::rate_bps(summary.whole_run_goodput_bps as f64));
    row
}
