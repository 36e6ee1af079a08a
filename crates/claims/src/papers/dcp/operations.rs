//! D12: SEND in any order.

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D12",
    title: "SEND over reordering paths",
    source: source("order-tolerant packet reception"),
    paper: "The extended headers let a NIC write every packet to its place in memory, in order or not, without a \
           reorder buffer: the address in each packet of a WRITE, and the number of the receive buffer (SSN) and the \
           offset in each packet of a SEND",
    method: "Messages of 1 MB over two randomly chosen paths, one of them 10 and 40 µs longer, as WRITE and as SEND, \
             with a counter per message as published; without loss, and with 1 % of the packets trimmed in each port \
             (400 messages; quick: 40)",
    note: "A packet of a SEND is 8 bytes shorter than one of a WRITE, so that SEND is slightly faster. READ is in D16",
    judge,
    ..Claim::FORM
};

const EXTRA_DELAY_US: [u32; 2] = [10, 40];
const TRIMMED: [f64; 2] = [0.0, 0.01];

fn outcome<'a>(
    results: &'a Results<'_>,
    operation: &str,
    extra_us: u32,
    trimmed: f64,
    more: &str,
) -> &'a Outcome {
    let run = Run::new("claims/disorder")
        .variant(more)
        .set("topology.link.0.delay", format!("{}ns", 500 + 1000 * extra_us))
        .set("switch.trim.share", trimmed)
        .set("transport.operation", operation)
        .set("workload.0.count", results.effort().choose(40, 400));
    results.outcome(&run.seconds(1.0))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| goodput | disorder, packets | retransmitted | memory of tracking");
    for extra_us in EXTRA_DELAY_US {
        // A counter does not measure reordering; a bitmap on the same paths does.
        let disorder = count(outcome(results, "send", extra_us, 0.0, "bitmap").tracking.disorder_max);
        judgement.must(format!("disorder of SEND, {extra_us} µs"), number(disorder.value()).at_least(50.0));
        for trimmed in TRIMMED {
            let [write, send] =
                ["write", "send"].map(|operation| outcome(results, operation, extra_us, trimmed, "counter"));
            let name = format!("{extra_us} µs, {} % trimmed", human::percent(trimmed));
            let missing = send.summary.flows - send.tracking.delivered_messages;
            judgement.none(format!("messages that did not arrive exactly once, {name}"), missing);
            judgement.none(format!("duplicate packets, {name}"), send.tracking.duplicates);
            judgement.none(format!("bytes to hold reordered packets, {name}"), send.tracking.peak_bytes);
            let trims = send.summary.trims.trimmed;
            let resent = count(send.summary.retransmitted_packets);
            judgement.must(format!("retransmitted, {name}"), resent.is(trims));
            judgement.none(format!("timeouts, {name}"), send.summary.timeouts.total());
            let what = format!("goodput of SEND divided by that of WRITE, {name}");
            judgement.must(what, (send.goodput() / write.goodput()).at_least(0.98));
            for (operation, outcome) in [("WRITE", write), ("SEND", send)] {
                let resent = count(outcome.summary.retransmitted_packets);
                let memory = bytes(outcome.tracking.peak_bytes as f64);
                judgement
                    .row(format!("{operation}, {name}"), [&outcome.goodput(), &disorder, &resent, &memory]);
            }
        }
    }
}
