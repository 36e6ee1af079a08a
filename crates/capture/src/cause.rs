//! The cause of a timeout, from what one tap has seen.
//!
//! Three facts decide. Which requests had passed the tap before the resend, which answers, and at which PSN
//! the requester resumes: that PSN tells which answers had reached it. Afterwards, a responder that
//! acknowledges each duplicate tells by its first ACK which packets it had.

use wiremend_measure::TimeoutCause::{self, Nak, Other, Retransmission, TailAck, TailPacket};

use crate::event::{Certainty, Evidence, Side, Verdict};
use crate::resend::{ReadGap, Resend, SeenNak};

/// Where a tap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TapPosition {
    /// Somewhere between the ends, or not known.
    #[default]
    Unknown,
    /// At the requester: what passes has been sent, and answers that pass have arrived.
    Requester,
    /// At the responder.
    Responder,
}

/// What is known beyond one event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    pub(crate) position: TapPosition,
    /// Whether this responder was seen to acknowledge each duplicate.
    pub(crate) echoes: bool,
    /// Whether the answers of this flow are known for certain.
    pub(crate) paired: Pairedness,
    /// Whether the capture goes on long after the last expiry without an answer.
    pub(crate) exhausted: bool,
}

/// How sure the pairing of a flow with its answers is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Pairedness {
    #[default]
    None,
    Ambiguous,
    Certain,
}

/// A verdict under construction.
struct Draft(Verdict);

impl Draft {
    fn new(cause: TimeoutCause, certainty: Certainty, side: Side) -> Self {
        Self(Verdict {
            cause,
            sub_cause: None,
            certainty,
            alternatives: Vec::new(),
            side,
            lost_frames: Vec::new(),
            evidence: Vec::new(),
        })
    }

    fn ambiguous(cause: TimeoutCause, alternatives: &[TimeoutCause]) -> Self {
        let mut draft = Self::new(cause, Certainty::Ambiguous, Side::Unknown);
        draft.0.alternatives = alternatives.to_vec();
        draft
    }

    fn sub(mut self, what: &'static str) -> Self {
        self.0.sub_cause = Some(what);
        self
    }

    fn side(mut self, side: Side) -> Self {
        self.0.side = side;
        self
    }

    fn shown_by(mut self, frame: Option<u64>, role: &'static str) -> Self {
        self.0.evidence.extend(frame.map(|frame| Evidence { frame, role }));
        self
    }

    fn lost(mut self, frame: Option<u64>) -> Self {
        self.0.lost_frames.extend(frame);
        self
    }
}

/// Judges a resend that no answer asked for.
pub(crate) fn judge(resend: &Resend, context: Context) -> Verdict {
    let draft = if context.paired == Pairedness::None {
        without_answers(resend)
    } else if let Some(read) = resend.before.read {
        read_timeout(resend, read, context)
    } else {
        unfinished_message(resend)
            .or_else(|| acknowledged(resend, context))
            .or_else(|| negatively_acknowledged(resend, context))
            .or_else(|| echoed(resend, context))
            .unwrap_or_else(|| undecided(resend, context))
    };
    let mut verdict = draft
        .shown_by(resend.before.last_frame, "last request before the wait")
        .shown_by(Some(resend.frame), "sent again")
        .shown_by(resend.covered.map(|(_, frame)| frame), "first answer after the resend")
        .0;
    if context.exhausted && !resend.answered {
        verdict.sub_cause = Some("no answer until the end of the capture");
    }
    // A cause that rests on answers is not certain if the answers may be another queue pair's.
    let rests_on_answers = verdict.side != Side::Upstream || verdict.cause != TailPacket;
    if context.paired == Pairedness::Ambiguous && rests_on_answers && verdict.certainty == Certainty::Strong {
        verdict.certainty = Certainty::Ambiguous;
        let all = [TailPacket, TailAck, Nak, Retransmission, Other];
        verdict.alternatives = all.into_iter().filter(|cause| *cause != verdict.cause).collect();
    }
    verdict.evidence.sort_by_key(|evidence| evidence.frame);
    verdict.evidence.dedup_by_key(|evidence| evidence.frame);
    verdict
}

/// Only requests were seen.
fn without_answers(resend: &Resend) -> Draft {
    if let Some(draft) = unfinished_message(resend) {
        return draft;
    }
    Draft::ambiguous(Other, &[TailPacket, TailAck, Nak, Retransmission])
        .sub("no answers in the capture: perhaps a NAK")
}

/// The last packets of a message had not passed the tap, and nothing behind them had.
fn unfinished_message(resend: &Resend) -> Option<Draft> {
    let (first, _) = resend.rest?;
    let before = &resend.before;
    if before.hole.is_some() || before.nak.is_some() {
        return None;
    }
    let mut draft = Draft::new(TailPacket, Certainty::Strong, Side::Upstream);
    if before.una > resend.psn {
        // An answer was lost as well; without the loss of the tail a later one would have replaced it.
        draft.0.certainty = Certainty::Strong;
        draft.0.alternatives = vec![TailAck];
    }
    Some(draft.shown_by(Some(first), "rest of the message, seen for the first time"))
}

/// Everything outstanding had been acknowledged at the tap.
fn acknowledged(resend: &Resend, context: Context) -> Option<Draft> {
    let before = &resend.before;
    if before.una < resend.end {
        return None;
    }
    let (frame, ns) = before.una_frame?;
    let role = "acknowledges everything outstanding";
    if context.position == TapPosition::Requester {
        let draft = Draft::new(Other, Certainty::Strong, Side::Nowhere);
        return Some(draft.sub("the answer came late, or the timer early").shown_by(Some(frame), role));
    }
    // The answer and the resend may have crossed behind the tap.
    let crossing_ns = before.reaction.least_ns.max(before.latency.least_ns).unwrap_or(0);
    if resend.ns - ns <= crossing_ns {
        let draft = Draft::ambiguous(Other, &[TailAck]).sub("the answer came late, or was lost");
        return Some(draft.shown_by(Some(frame), role));
    }
    let mut draft =
        Draft::new(TailAck, Certainty::Strong, Side::Downstream).sub("lost or late behind the tap");
    if resend.went_on {
        // Later messages may have been lost before the tap, or their answers would have replaced this one.
        draft.0.certainty = Certainty::Ambiguous;
        draft.0.alternatives = vec![TailPacket];
    }
    Some(draft.lost(Some(frame)).shown_by(Some(frame), role))
}

fn negatively_acknowledged(resend: &Resend, context: Context) -> Option<Draft> {
    let nak = resend.before.nak?;
    let draft = if resend.psn < nak.psn {
        nak_not_received(resend, nak, context)
    } else if nak.rounds_lost > 0 || resend.psn > nak.psn {
        Draft::new(Retransmission, Certainty::Strong, Side::Upstream).sub("lost twice")
    } else if let Some(again) = nak.sent_again {
        resent_and_lost(resend, again, context)
    } else {
        nak_without_round(nak, context)
    };
    Some(draft.shown_by(Some(nak.frame), "NAK"))
}

/// The requester resumes before the PSN that a NAK had named: it does not know of the NAK.
fn nak_not_received(resend: &Resend, nak: SeenNak, context: Context) -> Draft {
    if context.position == TapPosition::Requester {
        return Draft::new(Other, Certainty::Strong, Side::Nowhere).sub("a NAK arrived and was ignored");
    }
    let before = &resend.before;
    let crossing_ns = before.reaction.least_ns.max(before.latency.least_ns).unwrap_or(0);
    if resend.ns - nak.ns <= crossing_ns {
        return Draft::ambiguous(Other, &[Nak]).sub("the NAK came late, or was lost");
    }
    let draft = Draft::new(Nak, Certainty::Strong, Side::Downstream).lost(Some(nak.frame));
    if nak.in_unanswered_round { draft.sub(NAK_OF_ROUND) } else { draft }
}

/// A lost NAK whose gap was in a round of retransmission.
pub(crate) const NAK_OF_ROUND: &str = "NAK for a round of retransmission";

/// The packet that the NAK had asked for passed the tap again before the wait.
fn resent_and_lost(resend: &Resend, again: u64, context: Context) -> Draft {
    if let Some(had) = responder_had(resend)
        && had >= resend.sent_end() - 1
    {
        let draft = Draft::new(TailAck, Certainty::Strong, Side::Unknown).sub("ACK of the retransmission");
        return draft.shown_by(Some(resend.echo.frame), "first of the ACKs for duplicates");
    }
    let draft = if context.position == TapPosition::Responder {
        Draft::ambiguous(Retransmission, &[TailAck, Other])
    } else {
        Draft::new(Retransmission, Certainty::Strong, Side::Downstream)
    };
    draft.sub("lost twice").lost(Some(again)).shown_by(Some(again), "first retransmission")
}

/// A NAK, and no retransmission before the wait.
fn nak_without_round(nak: SeenNak, context: Context) -> Draft {
    let ignored = "a NAK arrived and was ignored";
    if context.position == TapPosition::Requester {
        return Draft::new(Other, Certainty::Strong, Side::Nowhere).sub(ignored);
    }
    let has_arrived = nak.psn > nak.una_before;
    match (has_arrived, nak.in_unanswered_round) {
        // Soft-RoCE ignores NAKs until the ACK of the round before.
        (true, true) => Draft::ambiguous(Other, &[Retransmission]).sub(ignored),
        (true, false) => Draft::ambiguous(Retransmission, &[Other]).sub("lost twice"),
        (false, _) => Draft::ambiguous(Nak, &[Retransmission, Other]),
    }
}

/// The highest PSN that the responder had before the round, if its ACKs for duplicates tell. One ACK does
/// not: it may be the ordinary one of a packet that arrived for the first time.
fn responder_had(resend: &Resend) -> Option<i64> {
    let first = resend.echo.first?;
    let duplicates = first - resend.psn + 1;
    (resend.is_echoed() && duplicates >= 1).then_some(first)
}

/// A responder that acknowledges each duplicate.
fn echoed(resend: &Resend, context: Context) -> Option<Draft> {
    let echo = resend.echo;
    let first = echo.first?;
    let end = resend.sent_end();
    // Requests of the rounds up to the acknowledged one; each has at most one ACK.
    let duplicates = (first - resend.psn + 1) * i64::from(resend.timeouts.max(1));
    let sent = duplicates.min(i64::from(resend.resent));
    let role = "first of the ACKs for duplicates";
    if first >= end - 1 && i64::from(echo.times) > sent && sent > 0 {
        let draft = Draft::new(Other, Certainty::Strong, Side::Nowhere);
        let draft = draft.sub("the answer came late, or the timer early");
        return Some(draft.shown_by(Some(echo.frame), "first of more ACKs than packets sent again"));
    }
    let had = responder_had(resend)?;
    let certainty = if context.echoes { Certainty::Strong } else { Certainty::Ambiguous };
    let mut draft = if had >= end - 1 {
        Draft::new(TailAck, certainty, Side::Unknown)
    } else if had == end - 2 {
        Draft::new(TailPacket, certainty, Side::Unknown)
    } else {
        Draft::ambiguous(Nak, &[TailPacket])
    };
    if resend.went_on && had >= end - 1 {
        draft.0.certainty = Certainty::Ambiguous;
        draft.0.alternatives = vec![TailPacket];
    }
    if certainty == Certainty::Ambiguous {
        let all = [TailAck, TailPacket, Nak];
        draft.0.alternatives = all.into_iter().filter(|cause| *cause != draft.0.cause).collect();
    }
    Some(draft.shown_by(Some(echo.frame), role))
}

/// Neither NAKs nor ACKs tell.
fn undecided(resend: &Resend, context: Context) -> Draft {
    let before = &resend.before;
    if before.unanswered_round && before.outstanding > 0 && resend.echo.first.is_none() {
        return Draft::ambiguous(TailPacket, &[TailAck, Nak, Retransmission]);
    }
    if let Some((_, frame)) = before.hole {
        // The responder must have sent a NAK if a packet behind the missing one arrived.
        let draft = Draft::ambiguous(Nak, &[TailPacket]).side(Side::Upstream);
        return draft.shown_by(Some(frame), "first frame behind a missing one");
    }
    if before.outstanding <= 1 && resend.rest.is_none() {
        return Draft::ambiguous(TailPacket, &[TailAck]);
    }
    // A responder that had the first packets would have acknowledged each of them again.
    let nothing_there =
        context.echoes && resend.echo.times == 1 && resend.echo.first.is_some_and(|first| first > resend.psn);
    if nothing_there && before.una == resend.psn {
        return Draft::ambiguous(Nak, &[TailPacket]);
    }
    Draft::ambiguous(TailPacket, &[TailAck, Nak])
}

/// A READ request was sent again.
fn read_timeout(resend: &Resend, read: ReadGap, context: Context) -> Draft {
    if let Some(frame) = read.response {
        let role = "response that was asked for again";
        if context.position == TapPosition::Requester {
            let draft = Draft::new(Other, Certainty::Strong, Side::Nowhere);
            return draft.sub("the response came late, or was not accepted").shown_by(Some(frame), role);
        }
        let draft = Draft::new(TailAck, Certainty::Strong, Side::Downstream).sub("READ response");
        return draft.lost(Some(frame)).shown_by(Some(frame), role);
    }
    if let Some(later) = read.later {
        let draft = Draft::new(TailAck, Certainty::Strong, Side::Upstream).sub("gap not acted upon");
        return draft.shown_by(Some(later), "response behind the missing one");
    }
    if read.any_response || resend.psn > read.start {
        return Draft::new(TailAck, Certainty::Strong, Side::Upstream).sub("READ response");
    }
    let draft = Draft::ambiguous(Other, &[TailPacket, TailAck]);
    draft.sub("READ request or its first response").shown_by(resend.before.first_sent_frame, "READ request")
}
