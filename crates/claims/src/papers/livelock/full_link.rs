//! V1: with go-back-0 and one dropped packet in 256, the link is full and goodput is zero.

use super::{SOURCE, busy};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "V1",
    title: "livelock of go-back-0",
    source: SOURCE,
    paper: "Messages of 4 MB are sent as fast as possible by SEND, WRITE or READ, and the switch drops every packet \
            whose IP identification ends in 0xff. With go-back-0 the link is fully utilised and goodput is zero; with \
            go-back-N the livelock is gone",
    method: "Two hosts and a switch at 40 Gb/s, payload of 1024 bytes, drops in both directions, 64 messages posted \
             on one connection. Utilisation is that of the link on which the data leave their host",
    note: "With go-back-0 the responder, too, has to return to the first packet of the message. One that keeps \
           its expected PSN leaves the link half busy and waits for timeouts. A message of 4 MB has 3907 packets, so that each transmission of it loses some packet: retransmission \
           from its first packet never completes, retransmission from the lost one does",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut bars = [Vec::new(), Vec::new()];
    for operation in ["SEND", "WRITE", "READ"] {
        let [zero, n] = ["go-back-0", "go-back-N"].map(|recovery| {
            let run = Run::new("claims/livelock").variant(format!("{recovery} {operation}"));
            let short = run.clone().set("stop.after", "30ms").seconds(0.3);
            results.outcome(&results.effort().choose(short, run.seconds(2.0)))
        });
        judgement.must(format!("goodput, go-back-0 {operation}"), zero.goodput().at_most(0.0));
        let what = format!("link utilisation, go-back-0 {operation}");
        judgement.must(what, fraction(busy(zero)).at_least(0.9));
        let link_bps = n.lane("h0>tor").rate_bps as f64;
        judgement.must(format!("goodput, go-back-N {operation}"), n.goodput().at_least(0.3 * link_bps));
        for (bars, outcome) in bars.iter_mut().zip([zero, n]) {
            let useful = outcome.summary.whole_run_goodput_bps / 1_000_000;
            let carried = (busy(outcome) * link_bps / 1e6).round() as u64;
            let counts = vec![useful, carried.saturating_sub(useful)];
            bars.push(Bar { name: outcome.summary.name.clone(), counts });
        }
    }
    let bars = Bars {
        title: "Use of the link, in Mb/s".to_owned(),
        description: "For each recovery and operation: bytes of messages that complete, and all other bytes."
            .to_owned(),
        parts: ["messages that complete", "unnecessary packets, and headers"].map(str::to_owned).to_vec(),
        bars: bars.concat(),
    };
    judgement.bars("v1", &bars);
}
