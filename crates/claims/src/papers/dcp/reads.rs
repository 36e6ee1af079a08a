//! D16: READ.

use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D16",
    title: "READ over trimming switches",
    source: source("proposal and order-tolerant packet reception"),
    paper: "DCP needs no PFC, is compatible with packet-level load balancing, and retransmits any lost packet quickly, \
            without a timeout and exactly once. One-sided operations (\"e.g., Write\") carry an address in each packet. \
            Nothing is said about READ, whose data are responses",
    method: "READs and WRITEs of 1 MB, eight at a time, over two randomly chosen paths, one of them 10 and 40 µs \
             longer, with a counter per message as published; without loss, and with 1 % of the packets trimmed in each \
             port (800 messages; quick: 80). What the paper says of any packet must hold for the data of a READ: one \
             retransmission for each trimmed packet, no timeout. The goodput is at least 95 % of that of WRITE. \
             Go-back-N on the same paths retransmits without any loss",
    note: "The responder sends the data of a READ like those of a SEND, into the buffer that the READ names, with a queue, a \
           window and a timer of its own. Headers return to it from the requester",
    judge,
    ..Claim::FORM
};

fn outcome<'a>(results: &'a Results<'_>, operation: &str, extra_us: u32, trimmed: f64) -> &'a Outcome {
    let run = Run::new("claims/reads")
        .variant("DCP")
        .set("topology.link.0.delay", format!("{}ns", 500 + 1000 * extra_us))
        .set("switch.trim.share", trimmed)
        .set("transport.operation", operation)
        .set("workload.0.count", results.effort().choose(80, 800));
    results.outcome(&run.seconds(results.effort().choose(0.2, 1.5)))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| goodput | trimmed | retransmitted | timeouts");
    for extra_us in [10, 40] {
        for trimmed in [0.0, 0.01] {
            let name = format!("{extra_us} µs, {} % trimmed", human::percent(trimmed));
            let [write, read] =
                ["write", "read"].map(|operation| outcome(results, operation, extra_us, trimmed));
            judgement.none(format!("READs that do not finish, {name}"), read.unfinished());
            judgement.none(format!("timeouts, {name}"), read.summary.timeouts.total());
            let trims = read.summary.trims.trimmed;
            judgement
                .must(format!("retransmitted, {name}"), count(read.summary.retransmitted_packets).is(trims));
            let what = format!("goodput of READ divided by that of WRITE, {name}");
            judgement.must(what, (read.goodput() / write.goodput()).at_least(0.95));
            for (operation, outcome) in [("WRITE", write), ("READ", read)] {
                let resent = count(outcome.summary.retransmitted_packets);
                let cells: [&dyn std::fmt::Display; 4] =
                    [&outcome.goodput(), &count(outcome.summary.trims.trimmed), &resent, &outcome.timeouts()];
                judgement.row(format!("{operation}, {name}"), cells);
            }
        }
    }
    let run =
        Run::new("claims/reads").variant("go-back-N").set("workload.0.count", results.effort().choose(8, 80));
    let rival = results.outcome(&run.seconds(0.5));
    judgement.some("retransmitted by go-back-N, 10 µs, nothing lost", rival.summary.retransmitted_packets);
}
