//! The requester: turns work requests into packets until each of them has arrived.

use std::collections::BTreeMap;

use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::{NakCode, RethRepr};

use super::board::Board;
use super::config::Config;
use super::packet::{Acknowledgement, Data, Packet, Verdict};
use super::policy::{Heard, Policy, RecoveryPolicy};
use crate::engine::{
    self, Arrival, Completion, Expiry, Op, Purpose, RequesterCounters, Status, Transmit, Work,
};
use crate::mend::Tail;
use crate::rc::inbound::Shape;
use crate::rc::send_queue::{Item, SendQueue};

/// The sending half of a queue pair. Doors that do much are never inlined, as in [`Responder`](super::Responder).
#[derive(Debug)]
pub struct Requester {
    board: Board,
    policy: Policy,
    queue: SendQueue,
    tail: Tail,
    /// When the retransmission timer was started, if it runs.
    started: Option<Time>,
    /// When it wants to be looked at.
    deadline: Time,
    /// Since when the oldest missing packet waits here for its host to take it; the timer stands still then.
    held: Option<Time>,
    /// What is sent again is being fetched until then.
    fetching: Option<Time>,
    counters: RequesterCounters,
    /// How often numbers were sent before: for those who watch, no NIC keeps it.
    copies: BTreeMap<u64, u8>,
    /// A packet that is sent again right behind itself, and how often yet.
    echo_seq: u64,
    echo_left: u8,
    peer: QpNum,
    first: Psn,
    /// Sequence numbers that congestion control lets be outstanding.
    allowed: u32,
    /// The path by which the acknowledgement that is handed over next has come.
    path: u16,
    /// In error: the oldest work ends with this status, all others are flushed.
    failed: Option<Status>,
    /// Expiries since the last progress.
    retries: u8,
    /// A NAK came since the last progress.
    nak_received: bool,
}

impl Requester {
    /// A requester that numbers its packets from `first`.
    pub fn new(config: &Config, peer: QpNum, first: Psn) -> Self {
        Self {
            board: Board::default(),
            policy: Policy::new(config),
            queue: SendQueue::default(),
            tail: Tail::default(),
            started: None,
            deadline: Time::MAX,
            held: None,
            fetching: None,
            counters: RequesterCounters::default(),
            copies: BTreeMap::new(),
            echo_seq: 0,
            echo_left: 0,
            peer,
            first,
            allowed: u32::MAX,
            path: 0,
            failed: None,
            retries: 0,
            nak_received: false,
        }
    }
}

impl engine::Requester for Requester {
    type Config = Config;
    type Packet = Packet;

    /// Takes a work request. On a queue pair in error it completes as flushed.
    ///
    /// # Panics
    ///
    /// If it is a READ: these schemes are about requests whose data travel with them.
    #[inline(never)]
    fn post(&mut self, config: &Config, now: Time, work: Work) {
        assert!(work.op != Op::Read, "a READ goes by go-back-N");
        self.queue.push(&config.base, work);
        if self.tail.on_post(&config.base.mend.dummies, now) {
            self.queue.push_dummies(config.base.mend.dummies.count);
        }
    }

    #[inline(never)]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.failed.is_some() {
            return false;
        }
        self.echo_left > 0 || self.again(now).is_some() || self.may_send_new(config)
    }

    #[inline(never)]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        if self.failed.is_some() {
            return None;
        }
        if self.echo_left > 0 {
            return self.repeat(config);
        }
        if let Some(seq) = self.again(now) {
            return self.send_again(config, now, seq);
        }
        if self.may_send_new(config) { self.send_new(config, now) } else { None }
    }

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Option<Arrival> {
        let said = if let Packet::Ack(said) = packet { Some(*said) } else { None };
        let expected = said.and_then(|said| self.number(said.expected));
        match (said, expected) {
            (Some(said), Some(expected)) if self.failed.is_none() && expected <= self.board.next as i64 => {
                self.on_acknowledgement(config, now, &said, expected);
            }
            _ => self.counters.ignored += 1,
        }
        None
    }

    #[inline]
    fn heard_by(&mut self, path: u16) {
        self.path = path;
    }

    #[inline(never)]
    fn next_timeout(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let fetched = self.fetching.unwrap_or(Time::MAX);
        let deadline = if self.held.is_some() { Time::MAX } else { self.deadline };
        let next = deadline.min(self.tail.due()).min(self.policy.due()).min(fetched);
        (next != Time::MAX).then_some(next)
    }

    #[inline(never)]
    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.tail.on_time(now, self.board.next == self.queue.tail) {
            self.queue.push_dummies(config.base.mend.dummies.count);
        }
        self.fetching = self.fetching.filter(|until| now < *until);
        if self.policy.due() <= now {
            let idle = self.policy.again(&self.board).is_none();
            if self.policy.on_timer(config, &self.board, now) {
                self.start_timer(config, now);
            }
            self.note_fetch(config, now, idle);
            self.note_hold(now);
        }
        let started = self.started.filter(|_| now >= self.deadline && self.held.is_none())?;
        // More was sent since the timer was started, so that it may run longer.
        self.deadline = started.saturating_add(self.rto(config));
        if now < self.deadline {
            return None;
        }
        self.on_expiry(config, now)
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        if let Some(id) = self.queue.pop_done() {
            return Some(Completion { id, status: Status::Success });
        }
        let status = self.failed?;
        let id = self.queue.pop_failed()?;
        self.failed = Some(Status::Flushed);
        Some(Completion { id, status })
    }

    #[inline]
    fn allow(&mut self, window: u32) {
        self.allowed = window;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.board.una == self.queue.tail || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        self.failed.is_some()
    }

    /// Work requests so far, dummies included.
    #[inline]
    fn messages(&self) -> u64 {
        self.queue.messages
    }

    /// The number of the next packet that was not sent before, counted from 0 without end.
    #[inline]
    fn next_number(&self) -> u64 {
        self.board.next
    }

    /// Sequence numbers before which everything is acknowledged, counted from 0 without end.
    #[inline]
    fn acknowledged(&self) -> u64 {
        self.board.una
    }

    #[inline]
    fn counters(&self) -> RequesterCounters {
        self.counters
    }
}

impl Requester {
    /// The number that is sent again now.
    fn again(&self, now: Time) -> Option<u64> {
        self.policy.again(&self.board).filter(|_| self.fetching.is_none_or(|until| now >= until))
    }

    fn may_send_new(&self, config: &Config) -> bool {
        let Some(item) = self.queue.current().filter(|_| self.board.next < self.queue.tail) else {
            return false;
        };
        let bound = u64::from(config.base.window.min(self.allowed));
        let window = self.policy.window().map_or(bound, |window| window.min(bound));
        let extra = if item.dummy { config.base.mend.dummies.count } else { 0 };
        self.board.outstanding() < window + u64::from(extra)
    }

    fn send_new(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        let item = *self.queue.current()?;
        let seq = self.board.next;
        self.board.next += 1;
        if self.board.next == item.end() {
            self.queue.next_work();
            if self.board.next == self.queue.tail {
                self.on_drained(config, &item);
            }
        }
        if config.base.mend.packet_copies > 0 && !item.dummy {
            (self.echo_seq, self.echo_left) = (seq, config.base.mend.packet_copies);
        }
        self.policy.on_sent(&self.board, now, seq, false);
        if self.started.is_none() {
            self.start_timer(config, now);
        }
        self.counters.packets += 1;
        self.counters.dummies += u64::from(item.dummy);
        let purpose = if item.dummy { Purpose::Dummy } else { Purpose::New };
        Some(self.transmit(config, &item, seq, purpose))
    }

    fn send_again(&mut self, config: &Config, now: Time, seq: u64) -> Option<Transmit<Packet>> {
        let item = *self.queue.owner(seq)?;
        self.policy.on_sent(&self.board, now, seq, true);
        let copy = self.copies.entry(seq).or_default();
        *copy = copy.saturating_add(1);
        self.note_hold(now);
        if self.started.is_none() {
            self.start_timer(config, now);
        }
        let transmit = self.transmit(config, &item, seq, Purpose::Again);
        self.counters.packets += 1;
        self.counters.retransmitted_packets += 1;
        self.counters.retransmitted_bytes += transmit.packet.payload_len() as u64;
        Some(transmit)
    }

    /// The packet that was sent last, once more.
    fn repeat(&mut self, config: &Config) -> Option<Transmit<Packet>> {
        self.echo_left -= 1;
        let item = *self.queue.owner(self.echo_seq)?;
        self.counters.packets += 1;
        self.counters.repeats += 1;
        Some(self.transmit(config, &item, self.echo_seq, Purpose::Repeat))
    }

    /// Everything posted is sent, and `last` was the last of it.
    fn on_drained(&mut self, config: &Config, last: &Item) {
        if !last.dummy {
            self.echo_left = self.echo_left.max(config.base.mend.tail_copies);
            self.echo_seq = last.end() - 1;
        }
        if self.tail.on_drained() {
            self.queue.push_dummies(config.base.mend.dummies.count);
        }
    }

    fn transmit(&mut self, config: &Config, item: &Item, seq: u64, purpose: Purpose) -> Transmit<Packet> {
        let offset = item.offset(seq, config.base.mtu);
        let shape = Shape { op: item.op, first: seq == item.first, last: seq + 1 == item.end() };
        let imm = item.imm();
        let data = Data::new(shape.opcode(imm.is_some()), self.peer, self.psn(seq), placement(item, offset))
            .with_payload(item.payload_at(offset, config.base.mtu))
            .with_imm(imm.unwrap_or(0));
        let path = self.policy.path(config, seq);
        let copy = self.copies.get(&seq).copied().unwrap_or(0);
        Transmit { packet: Packet::Data(data), work: item.id, offset, copy, purpose, path }
    }

    fn on_acknowledgement(&mut self, config: &Config, now: Time, said: &Acknowledgement, expected: i64) {
        let una_before = self.board.una;
        let trigger = self.number(said.trigger).filter(|_| !said.dropped);
        let arrived = trigger.and_then(|seq| u64::try_from(seq).ok()).filter(|seq| *seq < self.board.next);
        let is_news = arrived.is_some_and(|seq| !self.board.has_arrived(seq));
        let una = u64::try_from(expected).unwrap_or(0);
        if una > una_before {
            self.board.advance(una);
        }
        if let Some(seq) = arrived {
            self.board.sack(seq);
        }
        while self.queue.oldest().is_some_and(|oldest| oldest.end() <= self.board.una) {
            self.queue.finish_oldest();
        }
        let late = expected < una_before as i64;
        let nak = match said.verdict {
            Verdict::Ack => false,
            Verdict::Nak(NakCode::PsnSequence) => !late,
            Verdict::Nak(code) => {
                self.fail(status_of(code));
                return;
            }
        };
        if nak {
            self.counters.naks += 1;
        }
        if self.board.una > una_before {
            self.progress(config, now);
        }
        self.nak_received |= nak;
        let idle = self.policy.again(&self.board).is_none();
        let heard = Heard { una_before, arrived, is_news, nak, said: *said, path: self.path };
        self.policy.on_heard(config, &self.board, now, &heard);
        self.note_fetch(config, now, idle);
        self.note_hold(now);
    }

    /// The first of what is sent again has to be fetched from the host's memory; the rest comes while it leaves.
    fn note_fetch(&mut self, config: &Config, now: Time, was_idle: bool) {
        if was_idle && config.base.resend_delay > Span::ZERO && self.policy.again(&self.board).is_some() {
            self.fetching = Some(now.saturating_add(config.base.resend_delay));
        }
    }

    /// The oldest unacknowledged packet is a later one than before.
    fn progress(&mut self, config: &Config, now: Time) {
        self.retries = 0;
        self.nak_received = false;
        self.copies = self.copies.split_off(&self.board.una);
        if self.echo_seq < self.board.una {
            self.echo_left = 0;
        }
        self.started = None;
        self.held = None;
        self.deadline = Time::MAX;
        if self.board.outstanding() > 0 {
            self.start_timer(config, now);
        }
        if self.board.una == self.queue.tail {
            self.tail.on_idle();
        }
    }

    fn start_timer(&mut self, config: &Config, now: Time) {
        self.held = None;
        self.started = Some(now);
        self.deadline = now.saturating_add(self.rto(config));
    }

    /// A host takes packets when congestion control and its port let it. Until then what is due is not under way, and no answer
    /// can be expected.
    fn note_hold(&mut self, now: Time) {
        let waits = self.board.outstanding() > 0 && self.policy.again(&self.board) == Some(self.board.una);
        match self.held {
            None if waits => self.held = Some(now),
            Some(since) if !waits => {
                let span = now.since(since);
                self.held = None;
                self.started = self.started.map(|started| started.saturating_add(span));
                self.deadline = self.deadline.saturating_add(span);
            }
            _ => {}
        }
    }

    fn rto(&self, config: &Config) -> Span {
        let rto = self.policy.rto(config, &self.board);
        if config.backoff { rto * (1 << self.retries) } else { rto }
    }

    fn on_expiry(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        let oldest = *self.queue.oldest()?;
        let held_up = self.queue.data_end(self.board.next);
        let dummy = held_up.is_none();
        if dummy {
            self.counters.dummy_timeouts += 1;
        } else {
            self.counters.timeouts += 1;
        }
        let expiry = Expiry {
            oldest: self.psn(self.board.una),
            resume: self.psn(self.board.una),
            end: self.psn(held_up.unwrap_or(self.board.next)),
            work: oldest.id,
            op: oldest.op,
            nak_received: self.nak_received,
            dummy,
            fatal: self.retries >= config.base.retry_count,
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
        } else {
            self.retries += 1;
            self.echo_left = 0;
            self.start_timer(config, now);
            self.policy.on_expiry(config, &self.board, now);
            self.note_fetch(config, now, true);
            self.note_hold(now);
        }
        Some(expiry)
    }

    fn fail(&mut self, status: Status) {
        self.failed = Some(status);
        self.started = None;
        self.deadline = Time::MAX;
        self.echo_left = 0;
        self.tail.on_idle();
    }

    /// Probes sent for a silent tail: they count as packets sent again, too.
    pub fn probes(&self) -> u32 {
        self.policy.probes()
    }

    #[inline]
    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }

    /// The number nearest to the oldest unacknowledged one that a PSN can mean; it may lie before the first.
    #[inline]
    fn number(&self, psn: Psn) -> Option<i64> {
        (self.board.una as i64).checked_add(psn.distance(self.psn(self.board.una)) as i64)
    }
}

/// What a packet carries of its place (IRN §5.3): a WRITE the address of its payload and the length of its
/// message, a SEND the offset in its receive buffer, and which buffer that is: here the number of the message's first packet.
fn placement(item: &Item, offset: u32) -> RethRepr {
    if item.op == Op::Send {
        return RethRepr { address: offset as u64, remote_key: item.first as u32, dma_len: 0 };
    }
    RethRepr { address: item.addr.wrapping_add(offset as u64), remote_key: item.rkey, dma_len: item.len }
}

fn status_of(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccess => Status::RemoteAccess,
        NakCode::RemoteOperational => Status::RemoteOperation,
        NakCode::PsnSequence | NakCode::InvalidRequest | NakCode::InvalidRdRequest => {
            Status::RemoteInvalidRequest
        }
    }
}
