//! J8 and J9: dummies behind a tail, and repeats of the tail.

use wiremend_model::{Cause, FlowSize, MendCounts, ModelSetting, NextFlow, PaperModel, Path};

use super::SMALL_FRAME_RATIO;
use crate::papers::gao::{PAPER_TOLERANCE, Setting, sizes, source};
use crate::prelude::*;

pub(super) const TAIL: Claim = Claim {
    id: "J8",
    title: "dummies and repeats behind a tail",
    source: source("theorems 10 and 11"),
    paper: "A tail and the N dummy headers behind it are all lost with probability 0.06^N E(1/S)Lβ^(N+1)ω; with N = 1, \
           L = 2, WebSearch and β = 0.01 this is 6.6e-7 ω. A tail and its N repeats are all lost with probability \
           E(1/S)Lβ^(N+1)ω, so that the ratio is 0.06^(N+1)",
    method: "Flows of four packets over one link that corrupts 10 % of the full packets: without mechanisms, with \
             one dummy, and with one repeat of the tail. Timeouts because of a lost tail are counted",
    note: "A dummy reveals the gap that a lost tail leaves",
    judge: judge_tail,
    ..Claim::FORM
};

pub(super) const ACK: Claim = Claim {
    id: "J9",
    title: "dummies and repeats protect the ACK of a tail",
    source: source("theorem 12"),
    paper: "The ACKs of a tail and of its N dummies or repeats are all lost with probability 0.06^(N+1) E(1/S)Lβ^(N+1)ω",
    method: "The flows of J8; timeouts because of lost ACKs are counted",
    note: "Each dummy is acknowledged, and any of these ACKs is sufficient",
    judge: judge_ack,
    ..Claim::FORM
};

const BETA: f64 = 0.1;
const PACKETS: u32 = 4;
const BARE: &str = "no mechanism";
const DUMMY: &str = "one dummy";
const REPEAT: &str = "one repeat";

fn flows(results: &Results<'_>) -> u64 {
    results.effort().choose(200_000, 2_000_000)
}

/// Flows of which each starts when the one before has completed.
fn setting(results: &Results<'_>, protection: &str) -> Setting {
    let run = Run::new("claims/short-flows")
        .set("workload.0.count", flows(results))
        .seconds(results.effort().choose(1.5, 15.0));
    let (run, mend) = match protection {
        DUMMY => (run.set("mend.dummies", 1), MendCounts::new(1, 0, 0)),
        REPEAT => (run.set("mend.tail_copies", 1), MendCounts { tail_copies: 1, ..MendCounts::NONE }),
        _ => (run, MendCounts::NONE),
    };
    Setting {
        run,
        model: ModelSetting { next: NextFlow::CLOSED_LOOP, ..ModelSetting::new(sizes(), BETA, mend) },
        path: Path::between_switches(1, 1.0),
        sizes: vec![FlowSize::fixed(PACKETS * 1024, 1024)],
        messages: 1.0,
    }
}

fn check(judgement: &mut Judgement, results: &Results<'_>, cause: Cause) {
    let flows = flows(results);
    for name in [BARE, DUMMY, REPEAT] {
        let setting = setting(results, name);
        let outcome = setting.outcome(results);
        judgement.must(format!("finished flows, {name}"), outcome.finished().is(flows));
        let what = format!("timeouts of {} flows, {name}", shown(flows as f64));
        setting.agree(judgement, results, what, cause);
        let counts = TimeoutCause::ALL.map(|cause| outcome.timeouts_by(&[cause]));
        judgement.row(name, counts.each_ref().map(|count| count as _));
    }
    judgement.columns("mechanism | tail packet | tail ACK | NAK | retransmission | other");
}

fn judge_tail(judgement: &mut Judgement, results: &Results<'_>) {
    check(judgement, results, Cause::TailPacket);
    let [(lost, dummy), (_, repeat)] =
        [DUMMY, REPEAT].map(|name| setting(results, name).pair(results, Cause::TailPacket));
    judgement.derived(
        "timeouts with a dummy, as 0.06^(N+1) of those with a repeat, N = 1",
        count(lost).about(SMALL_FRAME_RATIO.powi(2) * repeat, PAPER_TOLERANCE),
        "By theorems 10 and 11 themselves the ratio is 0.06^N and not 0.06^(N+1), and with the real sizes 0.07^N",
        dummy,
        0.0,
    );
}

fn judge_ack(judgement: &mut Judgement, results: &Results<'_>) {
    check(judgement, results, Cause::TailAck);
    let lost_dummy =
        "A lost dummy has no ACK either, so that the probability is that of both losses, about 0.13 β";
    let lost_repeat = "A lost repeat has no ACK either, and it is lost with β and not with 0.06 β";
    // The printed formula gives a probability per packet.
    let mean_inverse = 1.0 / f64::from(PACKETS);
    let printed = PaperModel { beta: BETA, links: 1.0, omega: 1.0, mean_inverse };
    let packets = flows(results) as f64 * f64::from(PACKETS);
    for (name, cause) in [(DUMMY, lost_dummy), (REPEAT, lost_repeat)] {
        let (timeouts, exact) = setting(results, name).pair(results, Cause::TailAck);
        let test = count(timeouts).about(printed.tail_ack(1) * packets, PAPER_TOLERANCE);
        let what = format!("0.06²E(1/S)β² of {} packets, {name}", shown(packets));
        judgement.derived(what, test, cause, exact, 0.0);
    }
}
