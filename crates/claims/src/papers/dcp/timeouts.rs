//! D11: the causes of the timeouts of selective repeat.

use super::scheme::{DCP, IRN, Memory};
use super::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "D11",
    title: "causes of the timeouts of selective repeat",
    source: source("issues of selective repeat, #2"),
    paper: "A NIC with selective repeat retransmits fast only if a later packet arrives and if the retransmission is \
           not lost: the loss of the last packet of a flow, and of a packet that has been retransmitted in the same \
           recovery, wait for the timer. DCP needs no timer for them",
    method: "IRN and DCP on one connection over a switch that drops, or for DCP trims, 1 % of the packets (1 s; quick: \
             100 ms): messages of 1 MB, four outstanding, of which no packet is a tail, and messages of 10 kB one \
             after another. Each timeout is classified by what its receiver had got. The expected number of timeouts \
             is 1 % of the retransmissions, and 1 % of the messages of 10 kB. Then twelve hosts send 300 kB each to \
             one through a switch with 300 kB per port",
    note: "Both causes exist, and there is no third: in the incast the retransmissions of a recovery meet the queue \
           that dropped the packets, and nearly all timeouts have the second cause",
    judge,
    ..Claim::FORM
};

const LOSS: f64 = 0.01;
/// Losses of several packets that one timeout repairs.
const COINCIDENCE: f64 = 0.1;

/// Kind of messages, size, and number outstanding.
const KINDS: [(&str, &str, u32); 2] =
    [("1 MB, four outstanding", "1MB", 4), ("10 kB, one outstanding", "10kB", 1)];

fn stream<'a>(results: &'a Results<'_>, scheme: &str, message: &str, depth: u32) -> &'a Outcome {
    let loss = if scheme == "DCP" { "switch.trim.share" } else { "impair.0.rate" };
    let run = Run::new("claims/goodput").variant(scheme).set(loss, LOSS);
    let run = run.set("workload.0.message", message).set("workload.0.depth", depth);
    results.outcome(&run.set("stop.after", results.effort().choose("100ms", "1s")).seconds(5.0))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    use TimeoutCause::{Nak, Other, Retransmission, TailAck, TailPacket};
    judgement.columns("| messages | retransmitted | tail packet | retransmission | others");
    let row = |name: String, outcome: &Outcome, judgement: &mut Judgement| {
        let by = |causes: &[TimeoutCause]| outcome.timeouts_by(causes);
        let others = by(&[Nak, Other, TailAck]);
        let resent = count(outcome.summary.retransmitted_packets);
        judgement
            .row(&name, [&outcome.finished(), &resent, &by(&[TailPacket]), &by(&[Retransmission]), &others]);
        judgement.must(format!("timeouts of other causes, {name}"), others.is(0));
    };
    for (kind, message, depth) in KINDS {
        let irn = stream(results, "IRN", message, depth);
        let expected = LOSS * irn.summary.retransmitted_packets as f64;
        let what = format!("timeouts because a retransmission is lost, {kind}");
        judgement.must(what, irn.timeouts_by(&[Retransmission]).about(expected, COINCIDENCE));
        let messages = if depth == 1 { irn.finished().value() } else { 0.0 };
        let what = format!("timeouts because a tail packet is lost, {kind}");
        judgement.must(what, irn.timeouts_by(&[TailPacket]).about(LOSS * messages, COINCIDENCE));
        row(format!("IRN, {kind}"), irn, judgement);
        let dcp = stream(results, "DCP", message, depth);
        judgement.none(format!("timeouts of DCP, {kind}"), dcp.summary.timeouts.total());
        row(format!("DCP, {kind}"), dcp, judgement);
    }
    let memory = Memory::new("300kB", "32MB");
    let [irn, dcp] = [IRN, DCP]
        .map(|scheme| results.outcome(&scheme.on(Run::new("claims/requirements"), memory).seconds(0.2)));
    for cause in [TailPacket, Retransmission] {
        let what = format!("timeouts by cause, incast: {}", cause.name());
        judgement.some(what, irn.summary.timeouts.get(cause));
    }
    judgement.none("timeouts of DCP, incast", dcp.summary.timeouts.total());
    row("IRN, incast".to_owned(), irn, judgement);
    row("DCP, incast".to_owned(), dcp, judgement);
}
