//! D7: a lossless control plane, and recovery without timeouts.

use super::scheme::{DCP, Memory};
use super::source;
use wiremend_report::plot::Line;

use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D7",
    title: "every trimmed packet is retransmitted without a timeout",
    source: source("key idea, lossless control plane"),
    paper: "Switches forward the headers of packets that they drop, in a queue that loses nothing if the weight of its \
           class is right. So every dropped packet is retransmitted at once; the timer is only for a control plane \
           that does lose headers, and for failures",
    method: "N hosts send at line rate to one, through one switch with a control queue of 20 kB: N from 4 to 24, \
             weights 1 and 4. A data packet is r = 13.4 times as long on the wire as a header, and headers get w \
             parts of the link for one part of data. Then a fraction 1 − r·w/(1+w) / (N − 1/(1+w)) of the headers \
             must be lost, or none if this is negative. Then N hosts send 300 kB each with a window of one \
             bandwidth-delay product, and web search flows load 32 hosts by half. The table also shows switches that \
             drop acknowledgements above the threshold",
    note: "A header identifies the lost packet. If the retransmission is trimmed too, its header identifies it \
           again. Acknowledgements have no such header: no later acknowledgement can replace that of the last \
           message of a connection, so a switch that drops it leaves the sender waiting for its timer. In the \
           control class acknowledgements cost as little as headers",
    judge,
    ..Claim::FORM
};

const WEIGHTS: [u32; 2] = [1, 4];
/// Bytes on the wire of a packet in the middle of a WRITE, over those of a header-only packet.
const RATIO: f64 = (1024.0 + 62.0 + 20.0 + 20.0) / 84.0;
const TOLERANCE: f64 = 0.03;
/// Number of hosts that send 300 kB each; with weight 1 the control queue is lossless for up to seven inputs.
const FEW_INPUTS: u32 = 4;
const MANY_INPUTS: u32 = 12;

fn inputs(effort: Effort) -> &'static [u32] {
    effort.choose(&[4, 7, 10, 16], &[4, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24])
}

fn flood(inputs: u32, weight: u32) -> Run {
    Run::new("claims/trim-incast")
        .set("workload.0.src", format!("h1..h{inputs}"))
        .set("switch.trim.weight", weight)
}

/// An incast of finite flows.
fn incast(inputs: u32, weight: &str) -> Run {
    Run::new("claims/trim-incast")
        .set("workload.0.src", format!("h1..h{inputs}"))
        .set("switch.trim.weight", weight)
        .set("workload.0.bytes", "300kB")
        .set("transport.window", 100)
        .set("stop.after", "200ms")
}

fn web(effort: Effort, acks: &str) -> Run {
    let run = Run::new("claims/websearch")
        .set("topology.leaves", 4)
        .set("topology.spines", 8)
        .set("topology.hosts_per_leaf", 8)
        .set("workload.0.duration", effort.choose("1ms", "10ms"));
    DCP.on(run, Memory::BDP).set("switch.trim.acks", acks).seconds(effort.choose(0.5, 4.0))
}

fn incasts() -> [(u32, &'static str); 4] {
    [(FEW_INPUTS, "1"), (FEW_INPUTS, "fan-in"), (MANY_INPUTS, "1"), (MANY_INPUTS, "fan-in")]
}

/// Expected share of header-only packets that are dropped.
fn predicted(inputs: u32, weight: u32) -> f64 {
    let (inputs, weight) = (f64::from(inputs), f64::from(weight));
    let trimmed = inputs - 1.0 / (1.0 + weight);
    (1.0 - RATIO * weight / (1.0 + weight) / trimmed).max(0.0)
}

fn lost(outcome: &Outcome) -> f64 {
    let trims = outcome.summary.trims;
    trims.headers_dropped as f64 / trims.trimmed.max(1) as f64
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for weight in WEIGHTS {
        for &inputs in inputs(results.effort()) {
            let (outcome, wanted) = (results.outcome(&flood(inputs, weight)), predicted(inputs, weight));
            let what = format!("headers lost, {inputs} inputs, weight {weight}");
            if wanted == 0.0 {
                judgement.none(what, outcome.summary.trims.headers_dropped);
            } else {
                judgement.must(
                    what,
                    fraction(lost(outcome)).between((wanted - TOLERANCE).max(0.0), wanted + TOLERANCE),
                );
            }
        }
    }
    let mut rows = Vec::new();
    for (inputs, weight) in incasts() {
        let name = format!("{inputs} hosts send 300 kB to one, weight {weight}");
        check(judgement, &mut rows, &name, results.outcome(&incast(inputs, weight)));
    }
    let (kept, dropped) =
        (results.outcome(&web(results.effort(), "control")), results.outcome(&web(results.effort(), "drop")));
    check(judgement, &mut rows, "web search, acknowledgements kept", kept);
    rows.push(row("web search, acknowledgements dropped", dropped));
    let without = dropped.summary.trims;
    judgement.none("headers lost if switches drop acknowledgements", without.headers_dropped);
    judgement.some("timeouts if switches drop acknowledgements", dropped.summary.timeouts.total());
    let timeouts = dropped.summary.timeouts;
    let others = timeouts.total() - timeouts.get(TimeoutCause::TailAck);
    judgement.none(
        "timeouts with another cause than a lost acknowledgement, if switches drop acknowledgements",
        others,
    );
    judgement.table(
        "| trimmed | headers lost | acknowledgements lost | retransmitted | timeouts | slowest flow",
        rows,
    );
    judgement.plot("d7", &figure(results));
}

/// Checks a run of finite flows: timeouts occur if and only if headers are lost.
fn check(judgement: &mut Judgement, rows: &mut Vec<Vec<String>>, name: &str, outcome: &Outcome) {
    let (trims, timeouts) = (outcome.summary.trims, outcome.summary.timeouts.total());
    if trims.headers_dropped == 0 {
        judgement.none(format!("timeouts, {name}"), timeouts);
        let retransmitted = count(outcome.summary.retransmitted_packets);
        let what = format!("retransmitted of {} trimmed packets, {name}", trims.trimmed);
        judgement.must(what, retransmitted.is(trims.trimmed));
        judgement.some(format!("trimmed, {name}"), trims.trimmed);
    } else {
        judgement.some(format!("timeouts with headers lost, {name}"), timeouts);
    }
    rows.push(row(name, outcome));
}

fn row(name: &str, outcome: &Outcome) -> Vec<String> {
    let trims = outcome.summary.trims;
    vec![
        name.to_owned(),
        human::count(trims.trimmed),
        human::count(trims.headers_dropped),
        human::count(trims.acks_dropped),
        human::count(outcome.summary.retransmitted_packets),
        human::count(outcome.summary.timeouts.total()),
        human::time_ns(outcome.summary.fct_ns.map_or(0.0, |fct| fct.max)),
    ]
}

fn figure(results: &Results<'_>) -> Plot {
    let curve = |name: String, line, of: &dyn Fn(u32) -> f64| {
        let points = inputs(results.effort()).iter().map(|&inputs| (f64::from(inputs), of(inputs)));
        Curve { name, points: points.collect(), line }
    };
    let both = |&weight: &u32| {
        [
            curve(format!("weight {weight}"), Line::Marked, &|inputs| {
                lost(results.outcome(&flood(inputs, weight)))
            }),
            curve(format!("weight {weight}, formula"), Line::Straight, &|inputs| predicted(inputs, weight)),
        ]
    };
    Plot {
        title: "Lost header-only packets against the number of hosts that send to one at line rate"
            .to_owned(),
        description:
            "Share of header-only packets that do not fit into the control queue, measured and by the formula, \
             against the fan-in."
                .to_owned(),
        x: Axis::new("hosts that send to one", Scale::Linear, Unit::Number),
        y: Axis::new("headers lost", Scale::Linear, Unit::Percent),
        curves: WEIGHTS.iter().flat_map(both).collect(),
    }
}
