//! One occasion on which a requester went back: what the tap had seen before it, and what followed.

use wiremend_wire::Opcode;

/// Least and mean of times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    pub(crate) least_ns: Option<i64>,
    count: i64,
    sum_ns: i64,
}

impl Times {
    /// Adds a time; clocks that step back count as 0.
    pub(crate) fn add(&mut self, ns: i64) {
        let ns = ns.max(0);
        self.least_ns = Some(self.least_ns.map_or(ns, |least| least.min(ns)));
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    pub(crate) fn mean_ns(&self) -> Option<i64> {
        self.sum_ns.checked_div(self.count)
    }
}

/// Why the requester went back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trigger {
    /// A NAK for this PSN.
    Nak,
    /// A responder without a receive buffer.
    Rnr,
    /// An answer to a later message than the READ (IBA 9.9.2.2.3).
    ImpliedNak,
    /// An answer that had asked for this already: the PSN is sent again sooner than any answer could come.
    Answer,
    /// Nothing that the tap has seen.
    Timer,
}

/// A NAK that the tap has seen and no acknowledgement has overtaken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenNak {
    pub(crate) psn: i64,
    pub(crate) frame: u64,
    pub(crate) ns: i64,
    /// Oldest PSN without acknowledgement before it.
    pub(crate) una_before: i64,
    /// Whether the requester went back to it.
    pub(crate) used: bool,
    /// How long that took.
    pub(crate) used_after_ns: Option<i64>,
    /// Whether its PSN was sent again since.
    pub(crate) sent_again: Option<u64>,
    /// Rounds whose first packets the tap has not seen.
    pub(crate) rounds_lost: u32,
    /// Whether it answers a round whose predecessor had no acknowledgement yet.
    pub(crate) in_unanswered_round: bool,
    /// Whether nothing from its PSN on had been sent twice when it passed.
    pub(crate) is_first: bool,
}

/// The READ that a repeated request belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadGap {
    pub(crate) start: i64,
    /// Whether any response was seen.
    pub(crate) any_response: bool,
    /// Frame of the response to the resumed PSN, if it was seen.
    pub(crate) response: Option<(u64, i64)>,
    /// The highest PSN of a response or an ACK that was seen.
    pub(crate) highest: Option<i64>,
    /// A response behind the resumed PSN that was seen.
    pub(crate) later: Option<u64>,
}

/// What the tap knew when the requester went back.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Before {
    /// Oldest PSN without acknowledgement.
    pub(crate) una: i64,
    /// Frame and time of the answer that acknowledged most.
    pub(crate) una_frame: Option<(u64, i64)>,
    /// Number of requests outstanding, from the resumed PSN on.
    pub(crate) outstanding: u32,
    pub(crate) last_op: Option<Opcode>,
    pub(crate) last_frame: Option<u64>,
    pub(crate) nak: Option<SeenNak>,
    pub(crate) read: Option<ReadGap>,
    /// First PSN that was missing while a later one was seen, and the frame behind it.
    pub(crate) hole: Option<(i64, u64)>,
    /// Whether an earlier round had no answer yet.
    pub(crate) unanswered_round: bool,
    /// Whether a timer had started an earlier round that had no answer yet.
    pub(crate) unanswered_timer: bool,
    /// Whether nothing from the resumed PSN on had been sent twice before.
    pub(crate) is_first: bool,
    /// PSN of the last request.
    pub(crate) last_psn: i64,
    /// Whether nothing was lost before the tap from the request with the highest PSN to the resent one.
    pub(crate) is_complete: bool,
    /// Whether nothing was lost before the tap just before the resent one.
    pub(crate) follows: bool,
    /// Identifications that no frame has, from the request with the highest PSN to the resent one.
    pub(crate) missing: u64,
    /// Whether the responder acknowledges packets that do not ask for it.
    pub(crate) unasked_acks: bool,
    /// Times from requests to their answers so far.
    pub(crate) latency: Times,
    /// Times from acknowledgements to the next new request so far.
    pub(crate) reaction: Times,
    /// First transmission of the resumed PSN.
    pub(crate) first_sent_ns: i64,
    pub(crate) first_sent_frame: Option<u64>,
}

/// The answers after the resend.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Echo {
    /// PSN of the first ACK.
    pub(crate) first: Option<i64>,
    /// How often it came before a higher one.
    pub(crate) times: u32,
    pub(crate) higher: bool,
    /// Whether the request of the first ACK asked for one.
    pub(crate) asked: bool,
    /// Frame of the first ACK.
    pub(crate) frame: u64,
}

/// A round of retransmission.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Resend {
    pub(crate) flow: u32,
    pub(crate) trigger: Trigger,
    pub(crate) frame: u64,
    pub(crate) ns: i64,
    /// Time of the last expiry.
    pub(crate) last_ns: i64,
    /// Number of the frame among those of its direction.
    pub(crate) number: u64,
    pub(crate) op: Opcode,
    pub(crate) psn: i64,
    /// Behind the highest PSN sent before.
    pub(crate) end: i64,
    /// From the last frame of the flow to the resend; the sum if the timer fired several times.
    pub(crate) wait_ns: i64,
    /// Wait of the first expiry.
    pub(crate) first_wait_ns: i64,
    /// From the NAK to the resend.
    pub(crate) reaction_ns: Option<i64>,
    /// From the last answer to the resend, if it passed behind the last transmission of the resumed PSN.
    pub(crate) answered_ns: Option<i64>,
    /// Expiries in a row without an answer.
    pub(crate) timeouts: u32,
    pub(crate) before: Before,
    /// Requests below `end` in all rounds of this event, without READs.
    pub(crate) resent: u32,
    /// A PSN below `end` that appeared in the round for the first time, and its frame.
    pub(crate) fresh: Option<(i64, u64)>,
    /// The rest of the unfinished message, which appeared before any answer: first frame and last PSN.
    pub(crate) rest: Option<(u64, i64)>,
    /// Whether the last of them ended the message.
    pub(crate) is_rest_ended: bool,
    /// Whether requests behind it followed before any answer.
    pub(crate) went_on_behind_rest: bool,
    /// Whether only the first packet was sent again although more was outstanding.
    pub(crate) selective: bool,
    /// Whether the round went on behind `end` before any answer: with new requests, or with some that the tap
    /// had missed.
    pub(crate) went_on: bool,
    pub(crate) followed: bool,
    pub(crate) answered: bool,
    pub(crate) echo: Echo,
    /// Time of the answer that covers the resumed PSN.
    pub(crate) covered: Option<(i64, u64)>,
    pub(crate) marks: u64,
    pub(crate) cnps: u64,
    pub(crate) pauses: u64,
}

impl Resend {
    /// Whether the ACKs after the round were answers to duplicates. One ACK for a packet that asked for it may
    /// be the ordinary one.
    pub(crate) fn is_echoed(&self) -> bool {
        let unasked = self.echo.times == 1 && !self.echo.asked && !self.before.unasked_acks;
        self.echo.times >= 2 || unasked
    }

    /// Whether nothing else had happened to these packets: they were sent once, and a single wait much longer than
    /// round trips ended in this round.
    pub(crate) fn is_plain(&self) -> bool {
        let before = &self.before;
        // At a tap near the responder, the time to an answer is much shorter than a round trip.
        let factor = if before.reaction.least_ns.is_some() { 4 } else { 32 };
        let is_long = self.round_trip_ns().is_some_and(|ns| self.first_wait_ns > ns.saturating_mul(factor));
        before.is_first && !before.unanswered_round && self.timeouts == 1 && is_long
    }

    /// Whether an answer that passed at this time and the resend may have passed each other behind the tap.
    pub(crate) fn crosses(&self, answered_ns: i64) -> bool {
        self.ns - answered_ns <= self.shortest_round_trip_ns()
    }

    /// The shortest round trip between the ends, as far as this tap tells.
    pub(crate) fn shortest_round_trip_ns(&self) -> i64 {
        self.before.reaction.least_ns.max(self.before.latency.least_ns).unwrap_or(0)
    }

    /// Whether an answer that passed at most two round trips before may have asked for this, as no timer is as short.
    pub(crate) fn follows_answer(&self) -> bool {
        let is_short = |since: i64| self.round_trip_ns().is_some_and(|ns| since <= ns.saturating_mul(2));
        self.answered_ns.is_some_and(is_short)
    }

    /// A usual round trip between the ends, as far as this tap tells.
    pub(crate) fn round_trip_ns(&self) -> Option<i64> {
        self.before.latency.mean_ns().max(self.before.reaction.least_ns)
    }

    /// Behind the last PSN that the requester had sent before, whether the tap saw it or not.
    pub(crate) fn sent_end(&self) -> i64 {
        self.rest.map_or(self.end, |(_, last)| last + 1)
    }
}
