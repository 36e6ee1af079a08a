//! One event at two taps: a frame that one tap has and the other lacks was lost between them.

use std::collections::{BTreeMap, BTreeSet};

use wiremend_measure::TimeoutCause::{self, Nak, Other, Retransmission, TailAck, TailPacket};
use wiremend_units::Psn;

use crate::analysis::Analysis;
use crate::cause::was_acted_upon;
use crate::event::{Certainty, EventKind, Evidence, Side, Verdict};
use crate::record::{HostIndex, Stream, TapIndex};
use crate::report::Judged;

/// An event as one tap has seen it.
pub(crate) struct Twin<'a> {
    judged: &'a Judged<'a>,
    /// Requests and answers of the flow at this tap: a tap nearer the requester has more of the former.
    requests: u64,
    answers: u64,
}

impl<'a> Twin<'a> {
    pub(crate) fn new(analysis: &Analysis, judged: &'a Judged<'a>) -> Self {
        let counts = analysis.flows[judged.resend.flow as usize].counts;
        Self { judged, requests: counts.requests, answers: counts.answers }
    }

    fn verdict(&self) -> Option<&Verdict> {
        self.judged.verdict.as_ref()
    }
}

/// Picks the tap whose event is reported, and the verdict from all taps.
pub(crate) fn compare(
    analysis: &Analysis,
    elsewhere: &Elsewhere,
    twins: &[Twin<'_>],
) -> (usize, Option<Verdict>) {
    let sureness = |at: usize| {
        let certainty = twins[at].verdict().map(|verdict| verdict.certainty);
        (certainty.is_none(), certainty, at)
    };
    let best = (0..twins.len()).min_by_key(|at| sureness(*at)).unwrap_or(0);
    let verdict = twins[best].verdict().cloned();
    if twins[best].judged.kind != EventKind::Timeout {
        return (best, verdict);
    }
    if let [only] = twins {
        let is_certain = verdict.as_ref().is_some_and(|verdict| verdict.certainty != Certainty::Ambiguous);
        return (best, (!is_certain).then(|| seen_once(analysis, elsewhere, only)).flatten().or(verdict));
    }
    let nearest = (0..twins.len()).max_by_key(|at| (twins[*at].requests, u64::MAX - twins[*at].answers));
    let farthest = (0..twins.len()).min_by_key(|at| (twins[*at].requests, u64::MAX - twins[*at].answers));
    let (Some(near), Some(far)) = (nearest, farthest) else { return (best, verdict) };
    if near == far {
        return (best, verdict);
    }
    // An answer that passed the tap nearer to the requester was not lost between the taps.
    let passed = |at: usize| twins[at].judged.resend.before.una >= twins[at].judged.resend.end;
    if passed(near) {
        // Both taps may have equal counts, so the less sure verdict is the one nearer to the requester.
        let certainty = |at: usize| twins[at].verdict().map(|verdict| verdict.certainty);
        let doubtful = if passed(far) && certainty(far) > certainty(near) { far } else { near };
        return (doubtful, twins[doubtful].verdict().cloned());
    }
    if passed(far) {
        return (far, answer_lost_between(twins[near].judged, twins[far].judged));
    }
    if verdict.as_ref().is_some_and(|verdict| verdict.certainty == Certainty::Proof) {
        return (best, verdict);
    }
    match lost_between(twins[near].judged, twins[far].judged) {
        Some(verdict) => (near, Some(verdict)),
        None => (best, verdict),
    }
}

/// An answer to everything passed the far tap only.
fn answer_lost_between(near: &Judged<'_>, far: &Judged<'_>) -> Option<Verdict> {
    let (sent, arrived) = (near.resend, far.resend);
    let verdict = far.verdict.clone()?;
    // The near tap may have seen more being sent. A late answer passes it after the resend, as one more.
    let has_same_end = Psn::new(sent.sent_end() as u32) == Psn::new(arrived.end as u32);
    let is_late = sent.echo.times > arrived.echo.times;
    let is_plain = near.is_plain && far.is_plain;
    let is_sure = is_plain && has_same_end && sent.before.is_complete && !is_late;
    let certainty = match verdict.certainty {
        Certainty::Ambiguous => Certainty::Ambiguous,
        _ if is_sure => Certainty::Proof,
        _ => Certainty::Strong,
    };
    let sub_cause = verdict.sub_cause.filter(|_| verdict.cause == Other);
    Some(Verdict { side: Side::Between, sub_cause, certainty, ..verdict })
}

/// The first flow of each tap by direction and queue pair, and the PSNs at which rounds started: what [`compare`] looks up for each event.
pub(crate) struct Elsewhere {
    flows: BTreeMap<(HostIndex, HostIndex, u32), BTreeMap<TapIndex, u32>>,
    rounds: BTreeSet<(u32, u32)>,
}

impl Elsewhere {
    pub(crate) fn new(analysis: &Analysis) -> Self {
        let mut flows: BTreeMap<_, BTreeMap<TapIndex, u32>> = BTreeMap::new();
        for (index, outline) in analysis.pairings.flows.iter().enumerate() {
            let Stream { tap, from, to, qpn } = outline.stream;
            flows.entry((from, to, qpn)).or_default().entry(tap).or_insert(index as u32);
        }
        let rounds = analysis.shared.closed.iter().map(|seen| (seen.flow, psn_24(seen.psn))).collect();
        Self { flows, rounds }
    }

    /// The first flow of this direction and queue pair at another tap.
    fn flow(&self, stream: &Stream) -> Option<u32> {
        let taps = self.flows.get(&(stream.from, stream.to, stream.qpn))?;
        taps.iter().filter(|(tap, _)| **tap != stream.tap).map(|(_, flow)| *flow).min()
    }
}

fn psn_24(psn: i64) -> u32 {
    Psn::new(psn as u32).get()
}

/// The other taps follow the flow but saw nothing sent twice: what was sent first did not reach them.
fn seen_once(analysis: &Analysis, elsewhere: &Elsewhere, twin: &Twin<'_>) -> Option<Verdict> {
    let resend = twin.judged.resend;
    let index = elsewhere.flow(&twin.judged.outline.stream)?;
    let other = &analysis.flows[index as usize];
    // The other tap must have seen the flow before, and go on behind it.
    let covers = (other.first..other.next).contains(&resend.psn) && other.first < resend.psn;
    let is_farther = other.counts.requests < twin.requests;
    // It must not have seen a round at this PSN that was not recognized as the same event.
    let went_back = elsewhere.rounds.contains(&(index, psn_24(resend.psn)));
    if !covers || !is_farther || went_back || resend.timeouts != 1 {
        return None;
    }
    let frame = resend.before.first_sent_frame;
    let shown = [(frame, "seen at this tap only"), (Some(resend.frame), "sent again")];
    if resend.before.read.is_none() {
        return Some(between(TailPacket, Certainty::Strong, frame, &shown));
    }
    let lost = between(Other, Certainty::Strong, frame, &shown);
    Some(Verdict { sub_cause: Some("READ request"), ..lost })
}

/// Compares what passed the near tap with what passed the far one before the resend.
fn lost_between(near: &Judged<'_>, far: &Judged<'_>) -> Option<Verdict> {
    let (sent, arrived) = (near.resend, far.resend);
    if sent.before.read.is_some() || near.kind != EventKind::Timeout || far.kind != EventKind::Timeout {
        return None;
    }
    let resent = (Some(sent.frame), "sent again");
    if let Some((_, behind)) = arrived.before.hole {
        let nak = arrived.before.nak?;
        if nak.sent_again.is_some() || nak.rounds_lost > 0 {
            return None;
        }
        return match sent.before.nak {
            None => {
                let frames = [
                    (Some(nak.frame), "NAK at the far tap only"),
                    (Some(behind), "frame behind the missing one"),
                    resent,
                ];
                let lost = between(Nak, Certainty::Strong, Some(nak.frame), &frames);
                // The gap may be that of a later expiry.
                let is_single = sent.timeouts == 1 && arrived.timeouts == 1;
                let others = vec![TailPacket, TailAck, Retransmission];
                let doubt = Verdict { certainty: Certainty::Ambiguous, alternatives: others, ..lost.clone() };
                Some(if is_single { lost } else { doubt })
            }
            Some(seen) => {
                let again = seen.sent_again?;
                let frames = [(Some(again), "at the near tap only"), resent];
                let lost = between(Retransmission, Certainty::Strong, Some(again), &frames);
                // The timer may have started the round before.
                let doubt =
                    Verdict { certainty: Certainty::Ambiguous, alternatives: vec![Nak], ..lost.clone() };
                Some(if was_acted_upon(sent, seen) { lost } else { doubt })
            }
        };
    }
    let shorter = Psn::new(sent.end as u32).distance(Psn::new(arrived.end as u32)) > 0;
    let is_shorter = shorter && arrived.before.nak.is_none() && arrived.before.hole.is_none();
    // No NAK was sent if everything that passed the far tap had arrived.
    let is_plain = near.is_plain && far.is_plain && arrived.before.una >= arrived.end;
    let certainty = if is_plain { Certainty::Proof } else { Certainty::Strong };
    is_shorter.then(|| {
        let last = sent.before.last_frame;
        between(TailPacket, certainty, last, &[(last, "seen at the near tap only"), resent])
    })
}

fn between(
    cause: TimeoutCause,
    certainty: Certainty,
    lost: Option<u64>,
    frames: &[(Option<u64>, &'static str)],
) -> Verdict {
    let evidence =
        frames.iter().filter_map(|(frame, role)| Some(Evidence { frame: (*frame)?, role })).collect();
    Verdict {
        cause,
        sub_cause: None,
        certainty,
        alternatives: Vec::new(),
        side: Side::Between,
        lost_frames: lost.into_iter().collect(),
        evidence,
    }
}
