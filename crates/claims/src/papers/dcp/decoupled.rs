//! D15: retransmissions decoupled from the rate of headers.

use super::scheme::{DCP, DCP_CONTROLLED, Memory};
use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D15",
    title: "retransmissions decoupled from the rate of headers",
    source: source("efficient HO-based retransmission, issue #2"),
    paper: "If each returned header sends its packet again, the rate of retransmissions is that at which headers \
            arrive, which is incompatible with congestion control. DCP stores entries in a queue and sends them at \
            the rate or window that congestion control gives. No numbers are given",
    method: "128 hosts send 64 kB each to one at the same time, over ports of 1 MB and of 130 kB, with a queue and with \
             retransmissions that each header sends (`transport.dcp.retransmit`), without congestion control and with \
             Swift. Compared are the retransmitted packets: Swift must halve them with the queue, and leave at least \
             90 % of them without it",
    note: "What is trimmed again returns as a header again. Without the queue only the delivery of packets reduces the \
           number in flight, whatever the window",
    judge,
    ..Claim::FORM
};

const WORKLOAD: &str =
    "[{ kind = \"flows\", pattern = \"incast\", src = \"h16..h143\", dst = \"h0\", bytes = \"64kB\" }]";

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    judgement.columns("| retransmitted | trimmed | mean | slowest | timeouts");
    for memory in [Memory::LARGE, Memory::BDP] {
        for (retransmit, name) in [("queue", "queue"), ("per-header", "each header")] {
            let [free, controlled] = [DCP, DCP_CONTROLLED].map(|scheme| {
                let run = Run::new("claims/incast").set("workload", WORKLOAD);
                let run = run.set("transport.dcp.retransmit", retransmit);
                let outcome = results.outcome(&scheme.on(run, memory).seconds(0.5));
                let resent = count(outcome.summary.retransmitted_packets);
                let cells: [&dyn std::fmt::Display; 5] = [
                    &resent,
                    &count(outcome.summary.trims.trimmed),
                    &outcome.mean(),
                    &outcome.longest(),
                    &outcome.timeouts(),
                ];
                judgement.row(format!("{}, {name}, {}", memory.port, scheme.name), cells);
                judgement.none(
                    format!("flows that do not finish, {}, {name}, {}", memory.port, scheme.name),
                    outcome.unfinished(),
                );
                resent
            });
            let what = format!("retransmitted with Swift, relative to none, {}, {name}", memory.port);
            let part = fraction(controlled.per(free).value);
            judgement
                .printed(what, if retransmit == "queue" { part.at_most(0.5) } else { part.at_least(0.9) });
        }
    }
}
