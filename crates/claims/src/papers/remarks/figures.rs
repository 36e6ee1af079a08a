//! J30: the figures of losses and remedies, step by step.

use crate::ledger::number::mark;
use crate::papers::gao::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "J30",
    title: "what both ends send after each loss, step by step",
    source: source("Figs. 2 to 9"),
    paper: "A requester waits for its timer if a NAK is lost (Fig. 2), a packet twice (Fig. 3), the tail (Fig. 4), or \
            the ACK of the tail (Fig. 5). A repeated NAK (Fig. 6), a repeated retransmission (Fig. 7), a repeated tail \
            (Fig. 8) and a dummy header (Fig. 9) prevent it: the requester retransmits after a NAK, or nothing is \
            missing",
    method: "A WRITE of twelve packets, 0 to 11, of which exactly the frames of each figure are lost between the \
             ToRs of both hosts: the sequence of losses, NAKs, retransmissions and timeouts has to be that of the text, step for step. Successive \
             retransmissions are one step",
    judge,
    ..Claim::FORM
};

/// Figure, scenario, remedy, and the steps.
type Figure = (&'static str, &'static str, Option<&'static str>, &'static str);

const FIGURES: &[Figure] = &[
    (
        "Fig. 2, NAK",
        "nak",
        None,
        "packet 5 lost, NAK 5, NAK 5 lost, timeout 5, packets 5 to 11 again, completed",
    ),
    (
        "Fig. 3, packet twice",
        "twice",
        None,
        "packet 5 lost, NAK 5, packets 5 to 11 again, packet 5 lost, timeout 5, packets 5 to 11 again, completed",
    ),
    ("Fig. 4, tail", "tail-packet", None, "packet 11 lost, timeout 11, packet 11 again, completed"),
    ("Fig. 5, ACK of the tail", "tail-ack", None, "ACK 11 lost, timeout 11, packet 11 again, completed"),
    (
        "Fig. 6, repeated NAK",
        "nak",
        Some("mend.nak_copies"),
        "packet 5 lost, NAK 5, NAK 5 lost, packets 5 to 11 again, completed",
    ),
    (
        "Fig. 7, repeated retransmission",
        "twice",
        Some("mend.retransmission_copies"),
        "packet 5 lost, NAK 5, packets 5 to 11 again, packet 5 lost, completed",
    ),
    (
        "Fig. 8, repeated tail",
        "tail-packet",
        Some("mend.tail_copies"),
        "packet 11 again, packet 11 lost, completed",
    ),
    (
        "Fig. 9, dummy header",
        "tail-packet",
        Some("mend.dummies"),
        "dummy 12, packet 11 lost, NAK 11, packet 11 again, dummy 12, completed",
    ),
];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    for (name, scenario, remedy, wanted) in FIGURES {
        let run = Run::new(scenario)
            .set("topology.kind", "chain")
            .set("topology.switches", 2)
            .set("impair.0.links", "switches");
        let run = run.traced().seconds(0.01);
        let outcome = results.outcome(&remedy.iter().fold(run, |run, path| run.set(path, 1)));
        let steps = joined(&outcome.steps).join(", ");
        judgement.printed(format!("steps of {name}"), mark(steps == *wanted).near(1.0, 0.0));
        let timeouts = u64::from(remedy.is_none());
        judgement
            .printed(format!("timeouts of {name}"), count(outcome.summary.timeouts.total()).is(timeouts));
        judgement.row(name, [&steps, &outcome.longest()]);
    }
    judgement.columns("figure | steps | completion time");
}

/// Makes successive retransmissions one step.
fn joined(steps: &[String]) -> Vec<String> {
    let again = |step: &String| step.strip_prefix("packet ")?.strip_suffix(" again")?.parse::<u32>().ok();
    let runs = steps.chunk_by(|step, next| again(step).is_some_and(|psn| again(next) == Some(psn + 1)));
    let step = |run: &[String]| match (again(&run[0]), run.last().and_then(again)) {
        (Some(first), Some(last)) if first < last => format!("packets {first} to {last} again"),
        _ => run[0].clone(),
    };
    runs.map(step).collect()
}
