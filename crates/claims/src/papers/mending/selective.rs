//! J19: effect of the mechanisms on NICs with selective repeat.

use super::path::{ALL, Arrivals, Case, DUMMY, Flows, Mechanism, NAK, NONE, REPEAT, TESTBED, TWICE};
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J19",
    title: "the mechanisms combined with selective repeat",
    source: source("section 7.1"),
    paper: "With selective repeat instead of go-back-N, the effect of copies of NAKs and of retransmissions depends on \
           the implementation; dummies remain useful. No numbers are given",
    method: "The path of J18, four links that corrupt a full frame with 5e-3, flows of 8 and 64 packets (100 000 and \
             20 000; quick: 10 000 and 2000) with go-back-N and with selective repeat (IRN), with each mechanism and \
             with all. For the timeouts by cause with selective repeat, reproduced if copies of NAKs prevent none, \
             within 20 % plus the random variation; if copies of retransmissions leave at most 40 % of the timeouts \
             after a second loss; if a dummy leaves at most 10 % of the timeouts of tails with 8 packets and 60 % \
             with 64, and at most 20 % with 64 where the corruption is a fifth; if all together reduce the 99.9 % \
             quantile of the flows of 8 packets to at most 20 %; and if with flows of 64 packets they leave more \
             than five times as many timeouts as with go-back-N, each of which takes less than 1 ms",
    note: "The response to each packet after a gap reports what is missing, so that a lost NAK has no effect. IRN \
           does not start a recovery before the last one is complete: a packet that is lost twice, or lost as the \
           tail of a recovering flow, waits for a timer, with or without a dummy; and switches copy only the first \
           packet after a NAK. But the timer is 100 to 320 µs, where that of go-back-N is 67 ms",
    judge,
    ..Claim::FORM
};

const MECHANISMS: [&Mechanism; 7] = [&NONE, &NAK, &TWICE, &DUMMY, &REPEAT, &ALL, &TESTBED];
const GO_BACK_N: &str = "go-back-n";
const SELECTIVE: &str = "selective-repeat";
/// Packets of a flow, number of flows for quick and full effort, and the share of the timeouts of tails that a
/// dummy may leave.
const FLOWS: [(u32, [u32; 2], f64); 2] = [(8, [10_000, 100_000], 0.1), (64, [2000, 20_000], 0.6)];
const TAILS: [TimeoutCause; 2] = [TimeoutCause::TailPacket, TimeoutCause::TailAck];

fn outcome<'a>(
    results: &'a Results<'_>,
    recovery: &str,
    mechanism: &'static Mechanism,
    packets: u32,
    (beta, flows): (f64, [u32; 2]),
) -> &'a Outcome {
    let (count, flows) = (results.effort().choose(flows[0], flows[1]), Flows::Bytes(packets * 1024));
    let case = Case { flows, count, arrivals: Arrivals::Apart(0.01), links: 4, beta, mechanism };
    results.outcome(&case.run().set("transport.recovery", recovery))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (packets, flows, tails_left_max) in FLOWS {
        let of = |recovery, mechanism| outcome(results, recovery, mechanism, packets, (5e-3, flows));
        check_flows(judgement, packets, tails_left_max, |mechanism| of(SELECTIVE, mechanism));
        for recovery in [GO_BACK_N, SELECTIVE] {
            for mechanism in MECHANISMS {
                let outcome = of(recovery, mechanism);
                let [tail, ack, nak, twice, other] =
                    TimeoutCause::ALL.map(|cause| outcome.timeouts_by(&[cause]));
                let [p99, p999] = [0.99, 0.999].map(|quantile| time_ns(exact_ns(outcome, quantile)));
                let added = bytes(outcome.summary.extra_bytes as f64);
                judgement.row(
                    format!("{packets} packets, {recovery}, {}", mechanism.name),
                    [&tail, &ack, &nak, &twice, &other, &p99, &p999, &added],
                );
            }
        }
    }
    let at = |recovery, mechanism, place: usize| {
        let (packets, flows, _) = FLOWS[place];
        outcome(results, recovery, mechanism, packets, (5e-3, flows))
    };
    let [with, without] = [&ALL, &NONE].map(|mechanism| exact_ns(at(SELECTIVE, mechanism, 0), 0.999));
    let what = "99.9 % of flows of 8 packets, All divided by None";
    judgement.must(what, fraction(with / without).at_most(0.2));
    let [selective, go_back_n] = [SELECTIVE, GO_BACK_N].map(|recovery| at(recovery, &ALL, 1).timeouts());
    let what = "timeouts with All, selective repeat divided by go-back-N";
    judgement.must(what, selective.per(go_back_n).at_least(5.0));
    // A corruption at which two losses in one flow are rare.
    let [without, dummy] = [&NONE, &DUMMY].map(|mechanism| {
        outcome(results, SELECTIVE, mechanism, 64, (1e-3, [5000, 20_000])).timeouts_by(&TAILS)
    });
    judgement.must(
        "timeouts of tails, with a dummy divided by without, 64 packets, a fifth of the corruption",
        fraction(dummy.per(without).value).at_most(0.2),
    );
    let longest = time_ns(exact_ns(at(SELECTIVE, &ALL, 1), 0.999));
    judgement.must("99.9 % of flows of 64 packets", longest.below(1e6));
    judgement
        .columns("| tail packet | tail ACK | NAK | retransmission | other | 99 % | 99.9 % | bytes added");
    for (place, (packets, ..)) in FLOWS.iter().enumerate() {
        let bar = |mechanism: &'static Mechanism| {
            let timeouts = &at(SELECTIVE, mechanism, place).summary.timeouts;
            Bar {
                name: mechanism.name.to_owned(),
                counts: TimeoutCause::ALL.map(|cause| timeouts.get(cause)).to_vec(),
            }
        };
        let bars = Bars {
            title: format!("Timeouts with selective repeat, flows of {packets} packets"),
            description: "Timeouts by cause, with each mechanism and with all of them.".to_owned(),
            parts: TimeoutCause::ALL.map(|cause| cause.name().to_owned()).to_vec(),
            bars: MECHANISMS.map(bar).to_vec(),
        };
        judgement.bars(&format!("j19-{packets}-packets"), &bars);
    }
}

/// Checks the timeouts that remain with each mechanism for flows of `packets` packets.
fn check_flows<'a>(
    judgement: &mut Judgement,
    packets: u32,
    tails_left_max: f64,
    outcome: impl Fn(&'static Mechanism) -> &'a Outcome,
) {
    let name = format!("{packets} packets");
    let left = |mechanism, causes: &[TimeoutCause]| {
        let [with, without] = [mechanism, &NONE].map(|mechanism| outcome(mechanism).timeouts_by(causes));
        fraction(with.per(without).value)
    };
    let without = outcome(&NONE).timeouts().value();
    // A mechanism without effect prevents at most this share of all timeouts, apart from random variation.
    let test = outcome(&NAK).timeouts().about(without, 0.2);
    judgement.must(format!("timeouts with NAK copies compared with none, {name}"), test);
    judgement.must(
        format!("timeouts after a second loss, with copies of retransmissions divided by without, {name}"),
        left(&TWICE, &[TimeoutCause::Retransmission]).at_most(0.4),
    );
    judgement.must(
        format!("timeouts of tails, with a dummy divided by without, {name}"),
        left(&DUMMY, &TAILS).at_most(tails_left_max),
    );
    let unfinished = MECHANISMS.map(|mechanism| outcome(mechanism).unfinished());
    judgement.none(format!("flows that do not finish, {name}"), unfinished.iter().sum());
}
