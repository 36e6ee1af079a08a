//! J19: effect of the mechanisms on NICs with selective repeat.

use wiremend_measure::TimeoutCause;
use wiremend_report::human;
use wiremend_report::plot::{Bar, Bars};

use super::path::{ALL, Arrivals, Case, DUMMY, Flows, Mechanism, NAK, NONE, REPEAT, TESTBED, TWICE};
use crate::ledger::number::{count, fraction, number, time_ns};
use crate::ledger::{Claim, Effort, Judgement, Outcome, Results, Run};
use crate::papers::completion::exact_ns;
use crate::papers::gao::source;

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
    runs,
    judge,
};

const MECHANISMS: [&Mechanism; 7] = [&NONE, &NAK, &TWICE, &DUMMY, &REPEAT, &ALL, &TESTBED];
const GO_BACK_N: &str = "go-back-n";
const SELECTIVE: &str = "selective-repeat";
const PACKETS: [u32; 2] = [8, 64];
const BETA: f64 = 5e-3;
/// A corruption at which two losses in one flow are rare.
const LOW_BETA: f64 = 1e-3;
const LOW_BETA_TAILS_LEFT_MAX: f64 = 0.2;

/// A mechanism without effect prevents at most this share of all timeouts, apart from random variation.
const NAK_COPIES_TOLERANCE: f64 = 0.2;
const LOST_TWICE_LEFT_MAX: f64 = 0.4;
const TAILS_LEFT_MAX: [f64; 2] = [0.1, 0.6];
const TAIL_RATIO_MAX: f64 = 0.2;
const TIMEOUT_RATIO_MIN: f64 = 5.0;
const TAIL_NS_MAX: f64 = 1e6;

fn case(mechanism: &'static Mechanism, packets: u32, effort: Effort) -> Case {
    let count =
        if packets == PACKETS[0] { effort.choose(10_000, 100_000) } else { effort.choose(2000, 20_000) };
    let flows = Flows::Bytes(packets * 1024);
    Case { flows, count, arrivals: Arrivals::Apart(0.01), links: 4, beta: BETA, mechanism }
}

fn run(recovery: &str, mechanism: &'static Mechanism, packets: u32, effort: Effort) -> Run {
    case(mechanism, packets, effort).run().set("transport.recovery", recovery)
}

/// Flows of 64 packets at the lower corruption, with selective repeat.
fn at_low_beta(mechanism: &'static Mechanism, effort: Effort) -> Run {
    let at_low_beta =
        Case { beta: LOW_BETA, count: effort.choose(5000, 20_000), ..case(mechanism, PACKETS[1], effort) };
    at_low_beta.run().set("transport.recovery", SELECTIVE)
}

fn runs(effort: Effort) -> Vec<Run> {
    let mut runs = vec![at_low_beta(&NONE, effort), at_low_beta(&DUMMY, effort)];
    for recovery in [GO_BACK_N, SELECTIVE] {
        for packets in PACKETS {
            runs.extend(MECHANISMS.map(|mechanism| run(recovery, mechanism, packets, effort)));
        }
    }
    runs
}

/// Timeouts of some causes.
fn timeouts(outcome: &Outcome, causes: &[TimeoutCause]) -> f64 {
    causes.iter().map(|&cause| outcome.summary.timeouts.get(cause)).sum::<u64>() as f64
}

const TAILS: [TimeoutCause; 2] = [TimeoutCause::TailPacket, TimeoutCause::TailAck];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let of =
        |recovery, mechanism, packets| results.outcome(&run(recovery, mechanism, packets, results.effort()));
    for (packets, tails_left) in PACKETS.into_iter().zip(TAILS_LEFT_MAX) {
        check_flows(judgement, results, packets, tails_left);
    }
    let tail_ratio =
        exact_ns(of(SELECTIVE, &ALL, PACKETS[0]), 0.999) / exact_ns(of(SELECTIVE, &NONE, PACKETS[0]), 0.999);
    judgement.must(
        "99.9 % of flows of 8 packets, All divided by None",
        fraction(tail_ratio).at_most(TAIL_RATIO_MAX),
    );
    let [go_back_n, selective] =
        [GO_BACK_N, SELECTIVE].map(|recovery| timeouts(of(recovery, &ALL, PACKETS[1]), &TimeoutCause::ALL));
    judgement.must(
        "timeouts with All, selective repeat divided by go-back-N",
        number(selective / go_back_n.max(1.0)).at_least(TIMEOUT_RATIO_MIN),
    );
    let [without_dummy, dummy] =
        [&NONE, &DUMMY].map(|of| timeouts(results.outcome(&at_low_beta(of, results.effort())), &TAILS));
    let low_beta_tails = dummy / without_dummy.max(1.0);
    judgement.must(
        "timeouts of tails, with a dummy divided by without, 64 packets, a fifth of the corruption",
        fraction(low_beta_tails).at_most(LOW_BETA_TAILS_LEFT_MAX),
    );
    let longest = exact_ns(of(SELECTIVE, &ALL, PACKETS[1]), 0.999);
    judgement.must("99.9 % of flows of 64 packets", time_ns(longest).below(TAIL_NS_MAX));
    judgement.table(
        "| tail packet | tail ACK | NAK | retransmission | other | 99 % | 99.9 % | bytes added",
        rows(results),
    );
    for packets in PACKETS {
        judgement.bars(&format!("j19-{packets}-packets"), &bars(results, packets));
    }
}

/// Checks the timeouts that remain with each mechanism for flows of `packets` packets.
fn check_flows(judgement: &mut Judgement, results: &Results<'_>, packets: u32, tails_left: f64) {
    let outcome = |mechanism| results.outcome(&run(SELECTIVE, mechanism, packets, results.effort()));
    let left = |mechanism, causes: &[TimeoutCause]| {
        timeouts(outcome(mechanism), causes) / timeouts(outcome(&NONE), causes).max(1.0)
    };
    let [twice, tails] = [left(&TWICE, &[TimeoutCause::Retransmission]), left(&DUMMY, &TAILS)];
    let name = format!("{packets} packets");
    let [with, without] = [&NAK, &NONE].map(|mechanism| outcome(mechanism).summary.timeouts.total());
    let what = format!("timeouts with NAK copies compared with none, {name}");
    judgement.must(what, count(with).about(without as f64, NAK_COPIES_TOLERANCE));
    judgement.must(
        format!("timeouts after a second loss, with copies of retransmissions divided by without, {name}"),
        fraction(twice).at_most(LOST_TWICE_LEFT_MAX),
    );
    judgement.must(
        format!("timeouts of tails, with a dummy divided by without, {name}"),
        fraction(tails).at_most(tails_left),
    );
    let unfinished =
        MECHANISMS.map(|mechanism| outcome(mechanism).summary.flows - outcome(mechanism).summary.finished);
    judgement.none(format!("flows that do not finish, {name}"), unfinished.iter().sum());
}

fn rows(results: &Results<'_>) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for packets in PACKETS {
        for recovery in [GO_BACK_N, SELECTIVE] {
            for mechanism in MECHANISMS {
                let outcome = results.outcome(&run(recovery, mechanism, packets, results.effort()));
                let mut row = vec![format!("{packets} packets, {recovery}, {}", mechanism.name)];
                row.extend(TimeoutCause::ALL.map(|cause| human::count(outcome.summary.timeouts.get(cause))));
                row.extend([0.99, 0.999].map(|quantile| human::time_ns(exact_ns(outcome, quantile))));
                row.push(human::bytes(outcome.summary.extra_bytes as f64));
                rows.push(row);
            }
        }
    }
    rows
}

fn bars(results: &Results<'_>, packets: u32) -> Bars {
    let bar = |mechanism: &'static Mechanism| {
        let outcome = results.outcome(&run(SELECTIVE, mechanism, packets, results.effort()));
        let counts = TimeoutCause::ALL.map(|cause| outcome.summary.timeouts.get(cause)).to_vec();
        Bar { name: mechanism.name.to_owned(), counts }
    };
    Bars {
        title: format!("Timeouts with selective repeat, flows of {packets} packets"),
        description: "Timeouts by cause, with each mechanism and with all of them.".to_owned(),
        parts: TimeoutCause::ALL.map(|cause| cause.name().to_owned()).to_vec(),
        bars: MECHANISMS.map(bar).to_vec(),
    }
}
