//! V1: with go-back-0 and one dropped packet in 256, the link is full and goodput is zero.

use wiremend_report::plot::{Bar, Bars};

use super::SOURCE;
use crate::ledger::number::{fraction, rate_bps};
use crate::ledger::{Claim, Effort, Judgement, Outcome, Results, Run};

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
    runs,
    judge,
};

const OPERATIONS: [&str; 3] = ["SEND", "WRITE", "READ"];
const UTILISATION_MIN: f64 = 0.9;
const GOODPUT_MIN: f64 = 0.3;

fn run(effort: Effort, recovery: &str, operation: &str) -> Run {
    let run = Run::new("claims/livelock").variant(format!("{recovery} {operation}"));
    effort.choose(run.clone().set("stop.after", "30ms").seconds(0.3), run.seconds(2.0))
}

fn runs(effort: Effort) -> Vec<Run> {
    let both = ["go-back-0", "go-back-N"];
    both.iter().flat_map(|recovery| OPERATIONS.map(|operation| run(effort, recovery, operation))).collect()
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for operation in OPERATIONS {
        let outcome = |recovery: &str| results.outcome(&run(results.effort(), recovery, operation));
        let (zero, n) = (outcome("go-back-0"), outcome("go-back-N"));
        let link_bps = n.lane("h0>tor").rate_bps as f64;
        let what = format!("goodput, go-back-0 {operation}");
        judgement.must(what, rate_bps(zero.summary.whole_run_goodput_bps as f64).at_most(0.0));
        judgement.must(
            format!("link utilisation, go-back-0 {operation}"),
            fraction(busy(zero)).at_least(UTILISATION_MIN),
        );
        let what = format!("goodput, go-back-N {operation}");
        judgement
            .must(what, rate_bps(n.summary.whole_run_goodput_bps as f64).at_least(GOODPUT_MIN * link_bps));
    }
    judgement.bars("v1", &figure(results));
}

/// Utilisation of the link with the data, which is the busier one: the other carries ACKs or requests.
fn busy(outcome: &Outcome) -> f64 {
    outcome.utilisation("h0>tor").max(outcome.utilisation("h1>tor"))
}

fn figure(results: &Results<'_>) -> Bars {
    let bar = |run: &Run| {
        let outcome = results.outcome(run);
        let link_bps = outcome.lane("h0>tor").rate_bps as f64;
        let useful = outcome.summary.whole_run_goodput_bps / 1_000_000;
        let carried = (busy(outcome) * link_bps / 1e6).round() as u64;
        Bar { name: outcome.summary.name.clone(), counts: vec![useful, carried.saturating_sub(useful)] }
    };
    Bars {
        title: "Use of the link, in Mb/s".to_owned(),
        description: "For each recovery and operation: bytes of messages that complete, and all other bytes."
            .to_owned(),
        parts: vec!["messages that complete".to_owned(), "unnecessary packets, and headers".to_owned()],
        bars: runs(results.effort()).iter().map(bar).collect(),
    }
}
