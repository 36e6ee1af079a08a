//! The cause of a timeout, from what one tap has seen.
//!
//! Three facts decide. Which requests had passed the tap before the resend, which answers, and at which PSN
//! the requester resumes: that PSN tells which answers had reached it. Afterwards, a responder that
//! acknowledges each duplicate tells by its first ACK which packets it had.

use wiremend_measure::TimeoutCause::{self, Nak, Other, Retransmission, TailAck, TailPacket};

use crate::event::{Certainty, Evidence, Side, Verdict};
use crate::flow::is_unfinished;
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
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Context {
    pub(crate) position: TapPosition,
    /// Whether this responder was seen to acknowledge each duplicate.
    pub(crate) echoes: bool,
    /// Whether this requester was seen to repeat single packets.
    pub(crate) is_selective: bool,
    /// Whether the answers of this flow are known for certain.
    pub(crate) paired: Pairedness,
    /// Whether the capture goes on long after the last expiry without an answer.
    pub(crate) exhausted: bool,
    /// Whether this may be the first request of another connection with the same numbers.
    pub(crate) may_be_new: bool,
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

    /// A lost response is not the only cause if later requests have no answer either.
    fn more_outstanding(&mut self, resend: &Resend, read: ReadGap) {
        let last = resend.before.last_psn;
        if last > resend.psn && read.highest.is_none_or(|highest| highest < last) {
            self.0.certainty = Certainty::Ambiguous;
            self.0.alternatives = vec![TailPacket, Nak];
        }
    }

    fn lost(mut self, frame: Option<u64>) -> Self {
        self.0.lost_frames.extend(frame);
        self
    }
}

/// Judges a resend that no answer asked for.
pub(crate) fn judge(resend: &Resend, context: Context) -> Verdict {
    let draft = if context.paired == Pairedness::None {
        without_answers(resend, context)
    } else if let Some(read) = resend.before.read {
        read_timeout(resend, read, context)
    } else {
        unfinished_message(resend, context)
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
        verdict.sub_cause.get_or_insert("no answer until the end of the capture");
    }
    hedge(&mut verdict, resend, context);
    verdict.evidence.sort_by_key(|evidence| evidence.frame);
    verdict.evidence.dedup_by_key(|evidence| evidence.frame);
    verdict
}

/// Lowers the certainty where more than one thing happened, or where answers may belong to another queue pair.
fn hedge(verdict: &mut Verdict, resend: &Resend, context: Context) {
    let before = &resend.before;
    let is_unusual = context.is_selective || context.may_be_new;
    let is_plain = resend.is_plain() && context.paired == Pairedness::Certain && !is_unusual;
    if verdict.certainty == Certainty::Proof && !is_plain {
        verdict.certainty = Certainty::Strong;
    }
    if verdict.certainty == Certainty::Proof {
        return;
    }
    let mut others: &[TimeoutCause] = &[];
    // What follows the last of several expiries does not tell what was lost before the first, unless the answer had
    // passed or a READ names the response. A NAK tells of the round for which it was sent.
    let is_told = before.una >= resend.end || before.read.is_some();
    let is_repeated = match verdict.cause {
        TailAck => resend.timeouts > 1 && !is_told,
        Retransmission => before.unanswered_timer && before.nak.is_some_and(|nak| nak.psn < resend.psn),
        _ => false,
    };
    if context.paired != Pairedness::Certain || is_repeated {
        others = &[TailPacket, TailAck, Nak, Retransmission];
    } else if verdict.cause == TailPacket && (before.unanswered_round || resend.timeouts > 1) {
        others = &[TailAck, Nak];
    } else if context.is_selective && verdict.cause != TailPacket {
        others = &[TailPacket, TailAck, Nak, Retransmission];
    }
    if !others.is_empty() {
        verdict.certainty = Certainty::Ambiguous;
    }
    // After rounds that were not answered, the state of the responder is less certain.
    if verdict.certainty == Certainty::Ambiguous && (before.unanswered_round || !before.is_first) {
        others = &[TailPacket, TailAck, Nak, Retransmission];
    }
    for cause in others {
        if verdict.cause != *cause && !verdict.alternatives.contains(cause) {
            verdict.alternatives.push(*cause);
        }
    }
}

/// Only requests were seen.
fn without_answers(resend: &Resend, context: Context) -> Draft {
    if let Some(draft) = unfinished_message(resend, context) {
        return draft;
    }
    Draft::ambiguous(Other, &[TailPacket, TailAck, Nak, Retransmission])
        .sub("no answers in the capture: perhaps a NAK")
}

/// The last packets of a message had not passed the tap, and nothing behind them had.
fn unfinished_message(resend: &Resend, context: Context) -> Option<Draft> {
    let (first, _) = resend.rest?;
    let before = &resend.before;
    // Where nothing was lost before the tap, the rest had not been sent yet.
    let is_unsent = before.is_complete || context.position == TapPosition::Requester;
    if before.hole.is_some() || before.nak.is_some() || is_unsent {
        return None;
    }
    // The rest was sent before if as many identifications have no frame. A packet behind the tap may be missing too
    // and may have caused a NAK, unless everything that passed had arrived.
    let rest = (resend.sent_end() - resend.end) as u64;
    let was_sent = resend.is_rest_ended && before.missing == rest && !resend.went_on_behind_rest;
    let has_arrived = context.position == TapPosition::Responder
        || before.una >= resend.end
        || responder_had(resend).is_some_and(|had| had >= resend.end - 1);
    let certainty =
        if was_sent && has_arrived && before.is_first { Certainty::Proof } else { Certainty::Strong };
    let mut draft = Draft::new(TailPacket, certainty, Side::Upstream);
    if before.una > resend.psn && before.una < resend.end {
        // An answer was lost as well; without the loss of the tail a later one would have replaced it.
        draft.0.certainty = Certainty::Ambiguous;
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
        let certainty = if resend.crosses(ns) { Certainty::Strong } else { Certainty::Proof };
        let draft = Draft::new(Other, certainty, Side::Nowhere);
        return Some(draft.sub("the answer came late, or the timer early").shown_by(Some(frame), role));
    }
    if resend.crosses(ns) {
        let draft = Draft::ambiguous(Other, &[TailAck]).sub("the answer came late, or was lost");
        return Some(draft.shown_by(Some(frame), role));
    }
    // Unless nothing was lost before the tap, there may have been requests behind the end.
    let certainty = if before.is_complete { Certainty::Proof } else { Certainty::Strong };
    let mut draft = Draft::new(TailAck, certainty, Side::Downstream).sub("lost or late behind the tap");
    if resend.went_on && !before.is_complete {
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
        // The requester knows of the NAK if it resumes there although nothing else acknowledged all before.
        let has_arrived = resend.psn == nak.psn && nak.una_before < nak.psn && resend.before.follows;
        let is_lost = nak.sent_again.is_none() && is_plain_round(resend, nak);
        let certainty = if has_arrived && is_lost { Certainty::Proof } else { Certainty::Strong };
        let mut draft = Draft::new(Retransmission, certainty, Side::Upstream).sub("lost twice");
        if certainty == Certainty::Strong && !was_acted_upon(resend, nak) {
            // The timer may have started the round that came without its first packets.
            draft.0.certainty = Certainty::Ambiguous;
            draft.0.alternatives = vec![Nak, TailPacket];
        }
        draft
    } else if let Some(again) = nak.sent_again {
        resent_and_lost(resend, again, context)
    } else {
        nak_without_round(resend, nak, context)
    };
    Some(draft.shown_by(Some(nak.frame), "NAK"))
}

/// The requester resumes before the PSN that a NAK had named: it does not know of the NAK.
fn nak_not_received(resend: &Resend, nak: SeenNak, context: Context) -> Draft {
    let is_sure = is_plain_round(resend, nak) && resend.before.is_first && nak.sent_again.is_none();
    let certainty = if is_sure && !resend.crosses(nak.ns) { Certainty::Proof } else { Certainty::Strong };
    if context.position == TapPosition::Requester {
        return Draft::new(Other, certainty, Side::Nowhere).sub("a NAK arrived and was ignored");
    }
    if resend.crosses(nak.ns) {
        return Draft::ambiguous(Other, &[Nak]).sub("the NAK came late, or was lost");
    }
    let mut draft = Draft::new(Nak, certainty, Side::Downstream).lost(Some(nak.frame));
    if nak.in_unanswered_round || !resend.before.is_first {
        // An earlier NAK may have arrived, and the round that it asked for was lost.
        draft.0.certainty = Certainty::Ambiguous;
        draft.0.alternatives = vec![Retransmission, TailAck, TailPacket];
    }
    if nak.in_unanswered_round { draft.sub(NAK_OF_ROUND) } else { draft }
}

/// Whether the requester went back because of a NAK, much sooner than its timer fires.
pub(crate) fn was_acted_upon(resend: &Resend, nak: SeenNak) -> bool {
    nak.used_after_ns.is_some_and(|reaction| reaction.saturating_mul(4) < resend.first_wait_ns)
}

/// Whether a NAK was for packets that were sent for the first time, by a sender that then repeats all.
fn is_plain_round(resend: &Resend, nak: SeenNak) -> bool {
    nak.is_first && !nak.in_unanswered_round && resend.resent >= 2 && !resend.selective
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
        Draft::ambiguous(Retransmission, &[TailAck, Nak, Other])
    } else if !resend.before.nak.is_some_and(|nak| was_acted_upon(resend, nak)) {
        Draft::ambiguous(Retransmission, &[Nak])
    } else {
        Draft::new(Retransmission, Certainty::Strong, Side::Downstream)
    };
    draft.sub("lost twice").lost(Some(again)).shown_by(Some(again), "first retransmission")
}

/// A NAK, and no retransmission before the wait.
fn nak_without_round(resend: &Resend, nak: SeenNak, context: Context) -> Draft {
    let ignored = "a NAK arrived and was ignored";
    if context.position == TapPosition::Requester {
        let is_sure = is_plain_round(resend, nak) && !resend.crosses(nak.ns);
        let certainty = if is_sure { Certainty::Proof } else { Certainty::Strong };
        return Draft::new(Other, certainty, Side::Nowhere).sub(ignored);
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
    let is_unfinished = resend.before.last_op.is_some_and(is_unfinished);
    let is_complete = resend.before.is_complete || context.position == TapPosition::Requester;
    if had >= end - 1 && (resend.went_on || is_unfinished && !is_complete) {
        // Requests behind the last one that the tap saw may have been lost before it.
        draft.0.certainty = Certainty::Ambiguous;
        draft.0.alternatives = vec![TailPacket];
    } else if had == end - 2 && !resend.before.is_first {
        draft.0.certainty = Certainty::Ambiguous;
        draft.0.alternatives = vec![Retransmission, Nak];
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
    if let Some((frame, ns)) = read.response {
        let role = "response that was asked for again";
        if context.position == TapPosition::Requester {
            // A response behind a missing one is not accepted.
            let before = &resend.before;
            let is_plain = before.is_first && !before.unanswered_round && before.una > resend.psn;
            let draft = if !is_plain {
                Draft::ambiguous(TailAck, &[Other])
            } else if resend.crosses(ns) {
                Draft::new(Other, Certainty::Strong, Side::Nowhere)
            } else {
                Draft::new(Other, Certainty::Proof, Side::Nowhere)
            };
            return draft.sub("the response came late, or was not accepted").shown_by(Some(frame), role);
        }
        if resend.crosses(ns) {
            let draft = Draft::ambiguous(Other, &[TailAck]).sub("the response came late, or was lost");
            return draft.shown_by(Some(frame), role);
        }
        // The responder has everything if it has answered the last request.
        let before = &resend.before;
        let has_all = before.is_complete && read.highest.is_some_and(|psn| psn >= before.last_psn);
        let certainty = if has_all { Certainty::Proof } else { Certainty::Strong };
        let mut draft = Draft::new(TailAck, certainty, Side::Downstream).sub("READ response");
        draft.more_outstanding(resend, read);
        return draft.lost(Some(frame)).shown_by(Some(frame), role);
    }
    if let Some(later) = read.later {
        let draft = Draft::new(TailAck, Certainty::Strong, Side::Upstream).sub("gap not acted upon");
        return draft.shown_by(Some(later), "response behind the missing one");
    }
    if read.any_response || resend.psn > read.start {
        let mut draft = Draft::new(TailAck, Certainty::Strong, Side::Upstream).sub("READ response");
        draft.more_outstanding(resend, read);
        return draft;
    }
    let draft = Draft::ambiguous(Other, &[TailPacket, TailAck]);
    draft.sub("READ request or its first response").shown_by(resend.before.first_sent_frame, "READ request")
}
