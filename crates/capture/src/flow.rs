//! Both ends of one flow as far as a tap can tell: what was sent, what was answered, where sending went back.

use wiremend_units::Psn;
use wiremend_wire::Opcode;

use crate::history::History;
use crate::pairing::span_of;
use crate::reads::Reads;
use crate::record::{Kind, Record};
use crate::resend::{Before, Echo, Resend, SeenNak, Times, Trigger};
use crate::trail::Trail;

/// The state of one flow at one tap.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Flow {
    pub(crate) index: u32,
    started: bool,
    /// Lowest PSN.
    pub(crate) first: i64,
    /// The first requests, to compare the clocks of taps.
    pub(crate) firsts: Vec<First>,
    /// Behind the highest PSN sent.
    pub(crate) next: i64,
    /// PSN of the request before.
    last: i64,
    pub(crate) una: i64,
    una_frame: Option<(u64, i64)>,
    history: History,
    reads: Reads,
    nak: Option<SeenNak>,
    rnr: Option<(i64, i64)>,
    open: Option<Box<Resend>>,
    last_ns: i64,
    last_request_ns: i64,
    /// The place of the request with the highest PSN.
    newest: Trail,
    /// Behind the highest PSN of any round of retransmission.
    rounds_end: i64,
    answered_since_request: bool,
    last_id: Option<u16>,
    ids_vary: bool,
    unanswered_round: bool,
    unanswered_timer: bool,
    /// Whether ACKs came for packets that did not ask for them, outside of rounds.
    unasked_acks: bool,
    latency: Times,
    reaction: Times,
    /// When the last answer came that acknowledged something.
    acknowledged_ns: Option<i64>,
    /// When the last answer came.
    answered_ns: Option<i64>,
    pub(crate) counts: FlowCounts,
    pub(crate) refused: Option<(u64, i64, Kind)>,
    pub(crate) mtu: Option<u32>,
}

/// One of the first requests of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    psn: Psn,
    ip_id: u16,
    pub(crate) ns: i64,
}

impl First {
    /// Whether two taps have seen the same frame.
    pub(crate) fn is_twin(&self, other: &Self) -> bool {
        (self.psn, self.ip_id) == (other.psn, other.ip_id)
    }
}

/// Requests of a flow whose times are kept.
const FIRSTS: usize = 8;

/// Frames of a flow by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowCounts {
    pub(crate) requests: u64,
    /// Ends of messages, sent for the first time.
    pub(crate) messages: u64,
    pub(crate) answers: u64,
    pub(crate) acks: u64,
    pub(crate) ack_requests: u64,
    pub(crate) naks: u64,
    pub(crate) doubles: u64,
    pub(crate) copies: u64,
    pub(crate) reordered: u64,
    pub(crate) marks: u64,
    pub(crate) cnps: u64,
}

/// State that all flows share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Requests that all histories keep.
    pub(crate) kept: usize,
    /// Pause frames so far.
    pub(crate) pauses: u64,
    pub(crate) closed: Vec<Resend>,
    /// Rounds beyond the limit.
    pub(crate) left_out: u64,
}

/// Rounds of retransmission that are kept for the report.
const RESENDS_MAX: usize = 40_000;

impl Flow {
    /// Takes a request; `psn` is its number without wrap.
    pub(crate) fn on_request(&mut self, psn: i64, record: &Record, shared: &mut Shared) {
        if !self.started {
            (self.started, self.next, self.una, self.last) = (true, psn, psn, psn - 1);
            (self.first, self.last_ns) = (psn, record.time_ns);
        }
        if self.firsts.len() < FIRSTS {
            self.firsts.push(First { psn: record.psn, ip_id: record.ip_id, ns: record.time_ns });
        }
        self.first = self.first.min(psn);
        self.note_id(record.ip_id);
        if self.is_double(psn, record) {
            self.counts.doubles += 1;
            return;
        }
        self.counts.requests += 1;
        self.counts.ack_requests += u64::from(record.ack_request);
        self.counts.marks += u64::from(record.congestion);
        if psn >= self.next {
            self.advance(psn, record, shared);
        } else if psn > self.last {
            self.repeat(psn, record, shared);
        } else if self.is_copy(psn, record) {
            self.counts.copies += 1;
        } else if self.is_reordered(psn, record) {
            self.counts.reordered += 1;
            self.history.add(psn, 1, record, self.una, &mut shared.kept);
            return;
        } else {
            self.go_back(psn, record, shared);
        }
        self.last = psn + i64::from(self.span(record)) - 1;
        self.last_ns = record.time_ns;
        self.last_request_ns = record.time_ns;
        self.answered_since_request = false;
    }

    /// Number of PSNs of a request.
    fn span(&self, record: &Record) -> u32 {
        if record.op == Opcode::ReadRequest { span_of(record.dma_len, self.mtu.unwrap_or(1024)) } else { 1 }
    }

    fn note_id(&mut self, id: u16) {
        self.ids_vary |= self.last_id.is_some_and(|last| last != id);
        self.last_id = Some(id);
    }

    /// Whether the capture has the same frame twice. Where identifications do not differ, a frame that was
    /// sent again looks the same.
    fn is_double(&mut self, psn: i64, record: &Record) -> bool {
        let ids_vary = self.ids_vary;
        self.history
            .at(psn)
            .is_some_and(|sent| ids_vary && sent.ip_id == record.ip_id && sent.op == record.op)
    }

    /// Whether the packet just sent is sent again before any answer could have come.
    fn is_copy(&self, psn: i64, record: &Record) -> bool {
        let since = record.time_ns - self.last_request_ns;
        psn == self.last
            && !self.answered_since_request
            && self.latency.least_ns.is_some_and(|latency| since < latency)
    }

    /// Whether a packet that was missing is only late: it was numbered before its successor, or comes sooner
    /// than any answer could.
    fn is_reordered(&mut self, psn: i64, record: &Record) -> bool {
        if self.history.at(psn).is_some() {
            return false;
        }
        let (before, Some(after)) = self.history.around(psn) else { return false };
        if self.ids_vary {
            let ahead = |from: u16, to: u16| to.wrapping_sub(from);
            let distance = before.map_or(64, |before| ahead(before.ip_id, after.ip_id));
            let back = ahead(record.ip_id, after.ip_id);
            return back > 0 && back < distance.min(0x8000) && after.times == 1;
        }
        let asked = self.nak.is_some_and(|nak| nak.psn == psn);
        !asked && self.latency.least_ns.is_some_and(|latency| record.time_ns - after.ns < latency)
    }

    /// A request that was not sent before.
    fn advance(&mut self, psn: i64, record: &Record, shared: &mut Shared) {
        self.note_round(psn, record);
        self.counts.messages += u64::from(!is_unfinished(record.op));
        if let Some(acknowledged) = self.acknowledged_ns.take() {
            self.reaction.add(record.time_ns - acknowledged);
        }
        let span = self.span(record);
        if record.op == Opcode::ReadRequest {
            self.reads.add(psn, i64::from(span));
        }
        self.history.add(psn, span, record, self.una, &mut shared.kept);
        self.next = psn + i64::from(span);
        self.newest = record.trail;
    }

    /// A request of a round of retransmission, behind its first.
    fn repeat(&mut self, psn: i64, record: &Record, shared: &mut Shared) {
        self.note_round(psn, record);
        let known = self.note_again(psn, record);
        let is_read = record.op == Opcode::ReadRequest;
        if let Some(open) = self.open.as_mut() {
            open.resent += u32::from(!is_read && psn < open.end);
            if !known && !is_read && psn < open.end {
                open.fresh.get_or_insert((psn, record.frame));
            }
        }
        if is_read {
            self.reads.resume(psn, i64::from(self.span(record)));
        }
        if !known {
            let span = self.span(record);
            self.history.add(psn, span, record, self.una, &mut shared.kept);
        }
    }

    /// Counts a further transmission; returns whether the request was seen before.
    fn note_again(&mut self, psn: i64, record: &Record) -> bool {
        if let Some(nak) = self.nak.as_mut().filter(|nak| nak.psn == psn) {
            nak.sent_again = Some(record.frame);
        }
        if let Some(sent) = self.history.at(psn) {
            sent.times += 1;
            sent.last_ns = record.time_ns;
            sent.ip_id = record.ip_id;
            return true;
        }
        self.history.covering(psn).is_some()
    }

    /// Notes how the open round continues.
    fn note_round(&mut self, psn: i64, record: &Record) {
        let Some(open) = self.open.as_mut() else { return };
        open.went_on |= psn >= open.end && !open.answered;
        if !open.followed {
            open.followed = true;
            // Unless frames between the two were lost before the tap.
            let is_next = record.trail.gap <= open.number;
            open.selective = psn > open.psn + 1 && (psn >= open.end || is_next);
        }
        let expected = open.rest.map_or(open.end, |(_, last)| last + 1);
        let unfinished = open.before.last_op.is_some_and(is_unfinished);
        let ended =
            open.rest.is_some_and(|_| self.history.last().is_some_and(|sent| !is_unfinished(sent.op)));
        if unfinished && !ended && !open.answered && psn == expected && continues(record.op) {
            let first = open.rest.map_or(record.frame, |(frame, _)| frame);
            open.rest = Some((first, psn));
            open.is_rest_ended = !is_unfinished(record.op);
        } else if open.rest.is_some() && !open.answered && psn >= expected {
            open.went_on_behind_rest = true;
        }
    }

    fn go_back(&mut self, psn: i64, record: &Record, shared: &mut Shared) {
        let (trigger, reaction_ns) = self.trigger(psn, record);
        let wait_ns = (record.time_ns - self.last_ns).max(0);
        if trigger == Trigger::Timer {
            // The requester names the oldest PSN without acknowledgement, or one behind it.
            if let Some(open) = self.open.as_mut()
                && open.trigger == Trigger::Timer
                && !open.answered
                && open.psn == psn
            {
                open.timeouts += 1;
                open.last_ns = record.time_ns;
                open.wait_ns = open.wait_ns.saturating_add(wait_ns);
                open.resent += u32::from(record.op != Opcode::ReadRequest);
                open.end = open.end.max(self.next);
                self.note_again(psn, record);
                return;
            }
        }
        self.close(shared);
        let before = self.before(psn, record.trail);
        let answered_ns = self.since_answer(psn, record.time_ns);
        self.use_nak(psn, trigger, reaction_ns);
        self.rounds_end = self.next;
        let known = self.note_again(psn, record);
        let is_read = record.op == Opcode::ReadRequest;
        if !known {
            self.history.add(psn, 1, record, self.una, &mut shared.kept);
        }
        self.open = Some(Box::new(Resend {
            flow: self.index,
            trigger,
            frame: record.frame,
            ns: record.time_ns,
            last_ns: record.time_ns,
            number: record.trail.number,
            op: record.op,
            psn,
            end: self.next,
            wait_ns,
            first_wait_ns: wait_ns,
            reaction_ns,
            answered_ns,
            timeouts: u32::from(trigger == Trigger::Timer),
            before,
            resent: u32::from(!is_read),
            fresh: (!known).then_some((psn, record.frame)),
            rest: None,
            is_rest_ended: false,
            went_on_behind_rest: false,
            went_on: false,
            selective: false,
            followed: false,
            answered: false,
            echo: Echo::default(),
            covered: None,
            marks: self.counts.marks,
            cnps: self.counts.cnps,
            pauses: shared.pauses,
        }));
        if is_read {
            self.reads.resume(psn, i64::from(self.span(record)));
        }
        self.una = self.una.min(psn);
        self.unanswered_timer = trigger == Trigger::Timer || self.unanswered_round && self.unanswered_timer;
        self.unanswered_round = true;
        self.acknowledged_ns = None;
    }

    /// Notes that a round starts at a PSN.
    fn use_nak(&mut self, psn: i64, trigger: Trigger, reaction_ns: Option<i64>) {
        let Some(nak) = self.nak.as_mut() else { return };
        if trigger == Trigger::Nak {
            nak.used = true;
            nak.used_after_ns = reaction_ns;
        }
        nak.rounds_lost += u32::from(psn > nak.psn);
    }

    /// From the last answer to now, if it passed behind the last transmission of a PSN.
    fn since_answer(&self, psn: i64, now_ns: i64) -> Option<i64> {
        let last_sent_ns = self.history.covering(psn).map_or(i64::MIN, |sent| sent.last_ns);
        self.answered_ns.filter(|ns| *ns >= last_sent_ns).map(|ns| (now_ns - ns).max(0))
    }

    /// What made the requester go back, and how long it took.
    fn trigger(&mut self, psn: i64, record: &Record) -> (Trigger, Option<i64>) {
        let since = |ns: i64| Some((record.time_ns - ns).max(0));
        if let Some((_, ns)) = self.rnr.take_if(|(at, _)| *at == psn) {
            if let Some(nak) = self.nak.as_mut().filter(|nak| nak.psn == psn) {
                nak.used = true;
            }
            return (Trigger::Rnr, since(ns));
        }
        if let Some(nak) = self.nak.filter(|nak| !nak.used && nak.psn <= psn) {
            let reaction = since(nak.ns);
            return (Trigger::Nak, reaction);
        }
        if record.op == Opcode::ReadRequest
            && let Some(ns) = self.reads.answered_behind(psn)
        {
            return (Trigger::ImpliedNak, since(ns));
        }
        let last_sent_ns = self.history.at(psn).map(|sent| sent.last_ns);
        let again_ns = last_sent_ns.map(|ns| (record.time_ns - ns).max(0));
        if again_ns.is_some_and(|again| self.latency.least_ns.is_some_and(|latency| again < latency)) {
            return (Trigger::Answer, None);
        }
        (Trigger::Timer, None)
    }

    /// What the tap knows just before a resend.
    fn before(&self, psn: i64, trail: Trail) -> Before {
        let first = self.history.covering(psn);
        let mut hole = None;
        let mut expected = psn.max(self.una.min(self.next));
        let mut outstanding = 0;
        for sent in self.history.since(psn).take(HOLES_SEARCHED) {
            if sent.psn > expected && hole.is_none() {
                hole = Some((expected, sent.frame));
            }
            expected = expected.max(sent.psn + i64::from(sent.span));
            outstanding += 1;
        }
        Before {
            una: self.una,
            una_frame: self.una_frame,
            outstanding,
            last_op: self.history.last().map(|sent| sent.op),
            last_frame: self.history.last().map(|sent| sent.frame),
            nak: self.nak,
            read: self.reads.gap(psn),
            hole,
            unanswered_round: self.unanswered_round,
            unanswered_timer: self.unanswered_round && self.unanswered_timer,
            is_first: self.is_first(psn),
            last_psn: self.history.last().map_or(psn, |sent| sent.psn),
            is_complete: trail.gap <= self.newest.number,
            follows: trail.gap < trail.number,
            missing: trail.missing - self.newest.missing,
            unasked_acks: self.unasked_acks,
            latency: self.latency,
            reaction: self.reaction,
            first_sent_ns: first.map_or(self.last_request_ns, |sent| sent.ns),
            first_sent_frame: first.map(|sent| sent.frame),
        }
    }

    /// Whether nothing from a PSN on was sent twice.
    fn is_first(&self, psn: i64) -> bool {
        psn >= self.rounds_end && self.history.since(psn).all(|sent| sent.times == 1)
    }

    /// Takes an answer; `psn` is its number without wrap.
    pub(crate) fn on_answer(&mut self, psn: i64, record: &Record, shared: &mut Shared) {
        if !self.started {
            return;
        }
        self.counts.answers += 1;
        self.counts.marks += u64::from(record.congestion);
        match record.kind {
            Kind::Ack | Kind::AtomicAck => {
                self.counts.acks += 1;
                self.reads.note(psn, record.frame, record.time_ns);
                self.acknowledge(psn, record, shared);
            }
            Kind::Nak => self.on_nak(psn, record),
            Kind::RnrNak => {
                self.raise(psn, record);
                self.rnr = Some((psn, record.time_ns));
            }
            Kind::FatalNak(_) => {
                self.refused.get_or_insert((record.frame, record.time_ns, record.kind));
            }
            Kind::ReadResponse => self.on_response(psn, record),
            Kind::Request | Kind::Cnp => {}
        }
        self.last_ns = record.time_ns;
        self.answered_ns = Some(record.time_ns);
        self.answered_since_request = true;
    }

    fn acknowledge(&mut self, psn: i64, record: &Record, shared: &mut Shared) {
        if psn + 1 > self.una
            && let Some(sent) = self.history.at(psn).filter(|sent| sent.times == 1)
        {
            self.latency.add(record.time_ns - sent.ns);
        }
        self.raise(psn + 1, record);
        if self.unanswered_round && psn >= self.open.as_ref().map_or(i64::MIN, |open| open.psn - 1) {
            self.unanswered_round = false;
        }
        self.nak = self.nak.filter(|nak| nak.psn > psn);
        if let Some(nak) = self.nak.as_mut().filter(|nak| nak.psn == psn + 1) {
            // The requester may know from this ACK what the NAK told.
            nak.una_before = nak.psn;
        }
        self.rnr = self.rnr.filter(|rnr| rnr.0 > psn);
        let asked = self.history.covering(psn).is_none_or(|sent| sent.ack_request);
        let Some(open) = self.open.as_mut() else {
            self.unasked_acks |= !asked;
            return;
        };
        if psn >= open.psn {
            let echo = &mut open.echo;
            match echo.first {
                None => {
                    *echo = Echo { first: Some(psn), times: 1, higher: false, asked, frame: record.frame }
                }
                Some(first) if first == psn && !echo.higher => echo.times += 1,
                Some(first) => echo.higher |= psn > first,
            }
            open.covered.get_or_insert((record.time_ns, record.frame));
            open.answered = true;
        }
        if psn >= open.sent_end() {
            self.close(shared);
        }
    }

    /// Raises the oldest PSN without acknowledgement, but not over an incomplete READ.
    fn raise(&mut self, una: i64, record: &Record) {
        let mut una = una.min(self.next);
        if let Some(missing) = self.reads.first_missing() {
            una = una.min(missing);
        }
        if una > self.una {
            self.una = una;
            self.una_frame = Some((record.frame, record.time_ns));
            self.acknowledged_ns = Some(record.time_ns);
        }
    }

    fn on_nak(&mut self, psn: i64, record: &Record) {
        self.counts.naks += 1;
        if self.una_frame.is_none() {
            // The tap missed the first requests; nothing tells yet what was acknowledged.
            self.una = self.una.min(psn);
        }
        let una_before = self.una;
        self.raise(psn, record);
        // Responders send a NAK again if a round of retransmission comes without its first packet as well.
        let is_copy = self.nak.is_some_and(|nak| nak.psn == psn && !nak.used);
        if psn >= self.una && !is_copy {
            self.nak = Some(SeenNak {
                psn,
                frame: record.frame,
                ns: record.time_ns,
                una_before,
                used: false,
                used_after_ns: None,
                sent_again: None,
                rounds_lost: 0,
                in_unanswered_round: self.unanswered_round,
                is_first: self.is_first(una_before),
            });
        }
        if let Some(open) = self.open.as_mut().filter(|open| psn > open.psn) {
            open.answered = true;
            open.covered.get_or_insert((record.time_ns, record.frame));
        }
    }

    fn on_response(&mut self, psn: i64, record: &Record) {
        let Some(start) = self.reads.respond(psn, record.frame, record.time_ns) else { return };
        if psn == start
            && let Some(sent) = self.history.at(psn).filter(|sent| sent.times == 1)
        {
            self.latency.add(record.time_ns - sent.ns);
        }
        self.raise(psn + 1, record);
        self.unanswered_round = false;
        self.nak = self.nak.filter(|nak| nak.psn >= start);
        if let Some(open) = self.open.as_mut().filter(|open| psn >= open.psn) {
            open.answered = true;
            open.covered.get_or_insert((record.time_ns, record.frame));
        }
    }

    /// Ends the open round.
    pub(crate) fn close(&mut self, shared: &mut Shared) {
        if let Some(mut open) = self.open.take() {
            open.marks = self.counts.marks - open.marks;
            open.cnps = self.counts.cnps - open.cnps;
            open.pauses = shared.pauses - open.pauses;
            if shared.closed.len() < RESENDS_MAX {
                shared.closed.push(*open);
            } else {
                shared.left_out += 1;
            }
        }
    }

    /// Times from requests to their answers.
    pub(crate) const fn latency(&self) -> Times {
        self.latency
    }

    /// The number of a PSN without wrap.
    pub(crate) fn unwrap(&self, psn: Psn) -> i64 {
        if !self.started {
            // Far above 0, so that earlier PSNs stay positive.
            return (1 << 32) + i64::from(psn.get());
        }
        let next = Psn::new((self.next & 0x00FF_FFFF) as u32);
        self.next + i64::from(psn.distance(next))
    }
}

/// Requests behind the resumed one that are searched for a missing PSN.
const HOLES_SEARCHED: usize = 1024;

/// Whether more packets of the message follow.
pub(crate) const fn is_unfinished(op: Opcode) -> bool {
    matches!(op, Opcode::SendFirst | Opcode::SendMiddle | Opcode::WriteFirst | Opcode::WriteMiddle)
}

/// Whether a packet continues a message.
const fn continues(op: Opcode) -> bool {
    matches!(
        op,
        Opcode::SendMiddle
            | Opcode::SendLast
            | Opcode::SendLastImm
            | Opcode::SendLastInvalidate
            | Opcode::WriteMiddle
            | Opcode::WriteLast
            | Opcode::WriteLastImm
    )
}
