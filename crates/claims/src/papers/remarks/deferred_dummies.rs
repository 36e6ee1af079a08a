//! J21: dummies only after a gap of T.

use wiremend_model::{FlowSize, MendCounts, ModelSetting, NextFlow, Path, expected};

use super::short_flows;
use crate::papers::gao::{MTU, sizes, source};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J21",
    title: "dummies only after a gap of T",
    source: source("section 5.2"),
    paper: "To save operations, dummies are injected only behind a request that is posted more than T after the one \
            before. A flow with corruption then takes about T + RTT: for 300 µs in a network whose latency is 100 µs, T \
            is configured up to 200 µs",
    method: "J8 with flows of one packet over a path with a round trip of 100 µs, two dummies, one copy of each NAK \
             and three of each retransmission: 10 % of the flows lose their packet, so that the 99 % quantile is \
             theirs. Dummies follow when nothing has been posted for T; also as printed, behind requests that are \
             posted more than T after the one before",
    note: "As printed, the rule protects only requests after a gap: in a sequence of requests each posted less than T \
           after the one before, the last one has no dummies and waits for the timer",
    judge,
    ..Claim::FORM
};

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let with = |gap_us: u32, when: &str| {
        let run = short_flows(results.effort())
            .set("topology.delay", "16600ns")
            .set("transport.timeout", 14)
            .set("mend.dummies", 2)
            .set("mend.nak_copies", 1)
            .set("mend.retransmission_copies", 3)
            .set("mend.dummies_after", format!("{gap_us}us"));
        results.outcome(&run.set("mend.dummies_when", when))
    };
    // By the exact model: a tail and its dummies may all be lost.
    let mend = MendCounts::new(2, 1, 3);
    let model = ModelSetting { next: NextFlow::CLOSED_LOOP, ..ModelSetting::new(sizes(), 0.1, mend) };
    let (path, flow) = (Path::between_switches(1, 1.0), [FlowSize::fixed(MTU, MTU)]);
    let timeouts = expected(&model, &path, &flow).timeouts.iter().sum::<f64>();
    for gap_us in [50, 200, 500] {
        let (outcome, gap_ns) = (with(gap_us, "deferred"), f64::from(gap_us) * 1e3);
        let (rtt_ns, slow) = (outcome.median().value, outcome.p99());
        let flows = outcome.finished().value();
        judgement.must(format!("timeouts, T = {gap_us} µs"), outcome.timeouts().expected(timeouts * flows));
        judgement.derived(
            format!("99 % of the flows, T + RTT, T = {gap_us} µs"),
            slow.near(gap_ns + rtt_ns, 0.05),
            "After T the dummies need a round trip until the NAK arrives, and the retransmission needs another: the flow \
             takes T + 2 RTT",
            gap_ns + 2.0 * rtt_ns,
            0.05,
        );
        let dummies = fraction(outcome.summary.extra_frames.dummies.frames as f64 / flows);
        judgement.row(format!("T = {gap_us} µs"), [&outcome.median(), &slow, &outcome.timeouts(), &dummies]);
    }
    let printed = with(200, "at-post");
    let lost = printed.timeouts_by(&[TimeoutCause::TailPacket]);
    judgement.must(
        "timeouts of tails with the printed rule, T = 200 µs",
        lost.per(printed.finished()).near(0.1, 0.1),
    );
    judgement.row("T = 200 µs, as printed", [&printed.median(), &printed.p99(), &printed.timeouts(), &"–"]);
    judgement.columns("| median | 99 % | timeouts | dummies per flow");
}
