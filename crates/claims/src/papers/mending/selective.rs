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
const SELECTIVE: &str = "selective-repeat";
const TAILS: [TimeoutCause; 2] = [TimeoutCause::TailPacket, TimeoutCause::TailAck];

/// Packets of a flow, number of flows for quick and full effort, and β.
type Load = (u32, [u32; 2], f64);

const SHORT: Load = (8, [10_000, 100_000], 5e-3);
const LONG: Load = (64, [2000, 20_000], 5e-3);
/// A corruption at which two losses in one flow are rare.
const RARE: Load = (64, [5000, 20_000], 1e-3);

fn outcome<'a>(
    results: &'a Results<'_>,
    recovery: &str,
    mechanism: &'static Mechanism,
    (packets, flows, beta): Load,
) -> &'a Outcome {
    let (count, flows) = (results.effort().choose(flows[0], flows[1]), Flows::Bytes(packets * 1024));
    let case = Case { flows, count, arrivals: Arrivals::Apart(0.01), links: 4, beta, mechanism };
    results.outcome(&case.run().set("transport.recovery", recovery))
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let of = |mechanism, load| outcome(results, SELECTIVE, mechanism, load);
    let left = |mechanism, load, causes: &[TimeoutCause]| {
        let [with, without] = [mechanism, &NONE].map(|mechanism| of(mechanism, load).timeouts_by(causes));
        fraction(with.per(without).value)
    };
    // The share of the timeouts of tails that a dummy may leave.
    for (load, tails_left_max) in [(SHORT, 0.1), (LONG, 0.6)] {
        let name = format!("{} packets", load.0);
        // A mechanism without effect prevents at most this share of all timeouts, apart from random variation.
        let test = of(&NAK, load).timeouts().about(of(&NONE, load).timeouts().value(), 0.2);
        judgement.must(format!("timeouts with NAK copies compared with none, {name}"), test);
        let what = "timeouts after a second loss, with copies of retransmissions divided by without";
        let test = left(&TWICE, load, &[TimeoutCause::Retransmission]).at_most(0.4);
        judgement.must(format!("{what}, {name}"), test);
        let test = left(&DUMMY, load, &TAILS).at_most(tails_left_max);
        judgement.must(format!("timeouts of tails, with a dummy divided by without, {name}"), test);
        let unfinished = MECHANISMS.map(|mechanism| of(mechanism, load).unfinished());
        judgement.none(format!("flows that do not finish, {name}"), unfinished.iter().sum());
        show(judgement, results, load);
    }
    let [with, without] = [&ALL, &NONE].map(|mechanism| exact_ns(of(mechanism, SHORT), 0.999));
    let what = "99.9 % of flows of 8 packets, All divided by None";
    judgement.must(what, fraction(with / without).at_most(0.2));
    let go_back_n = outcome(results, "go-back-n", &ALL, LONG).timeouts();
    let what = "timeouts with All, selective repeat divided by go-back-N";
    judgement.must(what, of(&ALL, LONG).timeouts().per(go_back_n).at_least(5.0));
    let what = "timeouts of tails, with a dummy divided by without, 64 packets, a fifth of the corruption";
    judgement.must(what, left(&DUMMY, RARE, &TAILS).at_most(0.2));
    let longest = time_ns(exact_ns(of(&ALL, LONG), 0.999));
    judgement.must("99.9 % of flows of 64 packets", longest.below(1e6));
    judgement
        .columns("| tail packet | tail ACK | NAK | retransmission | other | 99 % | 99.9 % | bytes added");
}

/// Shows the timeouts with each mechanism and both kinds of NICs.
fn show(judgement: &mut Judgement, results: &Results<'_>, load: Load) {
    let counts = |outcome: &Outcome| TimeoutCause::ALL.map(|cause| outcome.summary.timeouts.get(cause));
    for recovery in ["go-back-n", SELECTIVE] {
        for mechanism in MECHANISMS {
            let outcome = outcome(results, recovery, mechanism, load);
            let [tail, ack, nak, twice, other] = counts(outcome).map(count);
            let [p99, p999] = [0.99, 0.999].map(|quantile| time_ns(exact_ns(outcome, quantile)));
            let added = bytes(outcome.summary.extra_bytes as f64);
            judgement.row(
                format!("{} packets, {recovery}, {}", load.0, mechanism.name),
                [&tail, &ack, &nak, &twice, &other, &p99, &p999, &added],
            );
        }
    }
    let bar = |mechanism: &'static Mechanism| Bar {
        name: mechanism.name.to_owned(),
        counts: counts(outcome(results, SELECTIVE, mechanism, load)).to_vec(),
    };
    let bars = Bars {
        title: format!("Timeouts with selective repeat, flows of {} packets", load.0),
        description: "Timeouts by cause, with each mechanism and with all of them.".to_owned(),
        parts: TimeoutCause::ALL.map(|cause| cause.name().to_owned()).to_vec(),
        bars: MECHANISMS.map(bar).to_vec(),
    };
    judgement.bars(&format!("j19-{}-packets", load.0), &bars);
}
