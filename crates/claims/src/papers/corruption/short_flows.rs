//! J8 and J9: dummies behind a tail, and repeats of the tail.

use wiremend_measure::{TimeoutCause, VariantSummary};
use wiremend_model::{Cause, FlowSize, MendCounts, ModelSetting, NextFlow, PaperModel, Path, expected};
use wiremend_report::human;

use super::PAPER_TOLERANCE;
use crate::cause::counted;
use crate::ledger::number::{count, shown};
use crate::ledger::{Claim, Effort, Judgement, Results, Run};
use crate::papers::gao::{sizes, source};

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
    runs,
    judge: judge_tail,
};

pub(super) const ACK: Claim = Claim {
    id: "J9",
    title: "dummies and repeats protect the ACK of a tail",
    source: source("theorem 12"),
    paper: "The ACKs of a tail and of its N dummies or repeats are all lost with probability 0.06^(N+1) E(1/S)Lβ^(N+1)ω",
    method: "The flows of J8; timeouts because of lost ACKs are counted",
    note: "Each dummy is acknowledged, and any of these ACKs is sufficient",
    runs,
    judge: judge_ack,
};

const BETA: f64 = 0.1;
const PACKETS: f64 = 4.0;

/// Protection of the tail.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    dummies: u32,
    tail_repeat: u32,
}

const NO_MECHANISM: Kind = Kind { name: "no mechanism", dummies: 0, tail_repeat: 0 };
const DUMMY: Kind = Kind { name: "one dummy", dummies: 1, tail_repeat: 0 };
const REPEAT: Kind = Kind { name: "one repeat", dummies: 0, tail_repeat: 1 };
const KINDS: [Kind; 3] = [NO_MECHANISM, DUMMY, REPEAT];

impl Kind {
    fn run(self, effort: Effort) -> Run {
        let run = Run::new("claims/short-flows")
            .set("workload.0.count", flows(effort))
            .seconds(effort.choose(1.5, 15.0));
        match (self.dummies, self.tail_repeat) {
            (0, 0) => run,
            (dummies, 0) => run.set("mend.dummies", dummies),
            (_, repeats) => run.set("mend.tail_copies", repeats),
        }
    }

    fn summary<'a>(self, results: &'a Results<'_>) -> &'a VariantSummary {
        &results.outcome(&self.run(results.effort())).summary
    }

    /// Timeouts per flow by the exact model. The next flow starts when this one has completed.
    fn exact(self, cause: Cause) -> f64 {
        let mend = MendCounts { dummies: self.dummies, tail_copies: self.tail_repeat, ..MendCounts::NONE };
        let setting = ModelSetting { next: NextFlow::CLOSED_LOOP, ..ModelSetting::new(sizes(), BETA, mend) };
        let flow = FlowSize::fixed(PACKETS as u32 * 1024, 1024);
        expected(&setting, &Path::between_switches(1, 1.0), &[flow]).timeouts[cause as usize]
    }
}

fn flows(effort: Effort) -> u64 {
    effort.choose(200_000, 2_000_000)
}

fn runs(effort: Effort) -> Vec<Run> {
    KINDS.iter().map(|kind| kind.run(effort)).collect()
}

/// The printed formula gives a probability per packet; a flow has four.
fn printed() -> PaperModel {
    PaperModel { beta: BETA, links: 1.0, omega: 1.0, mean_inverse: 1.0 / PACKETS }
}

fn check(judgement: &mut Judgement, results: &Results<'_>, cause: Cause) {
    let flows = flows(results.effort());
    for kind in KINDS {
        let summary = kind.summary(results);
        judgement.must(format!("finished flows, {}", kind.name), count(summary.finished).is(flows));
        let what = format!("timeouts of {} flows, {}", shown(flows as f64), kind.name);
        judgement.must(
            what,
            count(summary.timeouts.get(counted(cause))).expected(kind.exact(cause) * flows as f64),
        );
    }
}

fn table(judgement: &mut Judgement, results: &Results<'_>) {
    let row = |kind: &Kind| {
        let timeouts = &kind.summary(results).timeouts;
        let counts = TimeoutCause::ALL.iter().map(|cause| human::count(timeouts.get(*cause)));
        [vec![kind.name.to_owned()], counts.collect()].concat()
    };
    judgement.table(
        "mechanism | tail packet | tail ACK | NAK | retransmission | other",
        KINDS.iter().map(row).collect(),
    );
}

fn judge_tail(judgement: &mut Judgement, results: &Results<'_>) {
    check(judgement, results, Cause::TailPacket);
    let lost = DUMMY.summary(results).timeouts.get(TimeoutCause::TailPacket);
    let [dummy, repeat] =
        [DUMMY, REPEAT].map(|kind| kind.exact(Cause::TailPacket) * flows(results.effort()) as f64);
    judgement.derived(
        "timeouts with a dummy, as 0.06^(N+1) of those with a repeat, N = 1",
        count(lost).about(super::SMALL_FRAME_RATIO.powi(2) * repeat, PAPER_TOLERANCE),
        "By theorems 10 and 11 themselves the ratio is 0.06^N and not 0.06^(N+1), and with the real sizes 0.07^N",
        dummy,
        0.0,
    );
    table(judgement, results);
}

fn judge_ack(judgement: &mut Judgement, results: &Results<'_>) {
    check(judgement, results, Cause::TailAck);
    let flows = flows(results.effort()) as f64;
    let causes = [
        (
            DUMMY,
            "A lost dummy has no ACK either, so that the probability is that of both losses, about 0.13 β",
        ),
        (REPEAT, "A lost repeat has no ACK either, and it is lost with β and not with 0.06 β"),
    ];
    for (kind, cause) in causes {
        let timeouts = kind.summary(results).timeouts.get(TimeoutCause::TailAck);
        judgement.derived(
            format!("0.06²E(1/S)β² of {} packets, {}", shown(flows * PACKETS), kind.name),
            count(timeouts).about(printed().tail_ack(1) * flows * PACKETS, PAPER_TOLERANCE),
            cause,
            kind.exact(Cause::TailAck) * flows,
            0.0,
        );
    }
    table(judgement, results);
}
