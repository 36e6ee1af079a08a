//! J22: the delay of a lost tail is the gap between flows.

use crate::papers::gao::{MTU, bit_error_rate, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J22",
    title: "the delay of a lost tail is the gap between flows",
    source: source("section 3.1"),
    paper: "Where flows share a queue pair, the next flow may reveal a lost tail before the timer expires: the delay is \
            the gap between flows and not the timeout. It grows with lower load and with more queue pairs",
    method: "Flows of one packet at random times on one queue pair, over a link at β = 0.01, without dummies, with one \
             copy of each NAK and three of each retransmission. The delay is the difference of the mean completion \
             time from that without loss, for each lost packet or ACK; k queue pairs at the same load have k times \
             the gap",
    note: "Gaps at random times have no memory: a loss waits as long as the mean gap, and at most for the timer",
    judge,
    ..Claim::FORM
};

/// The timer of code 14, in nanoseconds.
const RTO_NS: f64 = 4096.0 * 16_384.0;
/// Bits of a flow at 100 Gb/s, in nanoseconds.
const FLOW_NS: f64 = 8.0 * MTU as f64 / 100.0;

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut delays = Vec::new();
    for gap_ns in [1e6, 8e6, 64e6, 512e6] {
        let with = |rate: String| {
            let run = Run::new("claims/mend-path")
                .variant("Twice")
                .set("mend.nak_copies", 1)
                .set("mend.retransmission_copies", 3)
                .set("topology.switches", 2)
                .set("transport.qp", "per-pair")
                .set("workload.0.sizes", format!("{MTU}B"))
                .set("workload.0.load", format!("{:.4e}", FLOW_NS / gap_ns))
                .set("workload.0.flows", results.effort().choose(100_000, 2_000_000));
            results.outcome(&run.set("impair.0.rate", rate).seconds(results.effort().choose(0.2, 4.0)))
        };
        let (clean, lossy) = (with("0".to_owned()), with(bit_error_rate(0.01)));
        judgement
            .none(format!("flows that do not finish, gap of {}", human::time_ns(gap_ns)), lossy.unfinished());
        // Packets, and the ACKs of those that arrive.
        let losses = lossy.corrupted("s0>s1").value() + lossy.corrupted("s1>s0").value();
        let delay = time_ns((lossy.mean() - clean.mean()).value / losses);
        // Mean of an exponential time that ends with the timer.
        let expected = gap_ns * -(-RTO_NS / gap_ns).exp_m1();
        judgement.printed(
            format!("delay of a loss, gap of {}", human::time_ns(gap_ns)),
            delay.near(expected, 0.1),
        );
        judgement.row(human::time_ns(gap_ns), [&delay, &time_ns(expected), &lossy.timeouts()]);
        delays.push((human::time_ns(gap_ns), delay));
    }
    let delays: Vec<_> = delays.iter().map(|(name, delay)| (name.as_str(), *delay)).collect();
    judgement.printed("delay of a loss by mean gap", ascending(&delays, 0.0));
    judgement.columns("mean gap | delay of a loss | expected | timeouts");
}
