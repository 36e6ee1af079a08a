//! The requester: converts work requests into packets until each packet has arrived.

use std::collections::BTreeMap;

use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::{NakCode, RethRepr};

use super::config::Config;
use super::packet::{AckKind, Acknowledgement, Data, Packet};
use super::policy::Policy;
use super::recovery_policy::{AckEvent, RecoveryPolicy};
use super::scoreboard::Scoreboard;
use crate::engine::{
    self, Completion, Expiry, Op, Purpose, ReadPlacement, RequesterCounters, Status, Transmit, Work,
};
use crate::mend::DummyScheduler;
use crate::rc::inbound::PacketShape;
use crate::rc::send_queue::{SendQueue, WorkItem};

/// The sending half of a queue pair. Long methods are never inlined, as in [`Responder`](super::Responder).
#[derive(Debug)]
pub struct Requester {
    scoreboard: Scoreboard,
    policy: Policy,
    queue: SendQueue,
    dummies: DummyScheduler,
    /// Start of the retransmission timer, if it runs.
    started: Option<Time>,
    /// Next time at which the timer is checked.
    deadline: Time,
    /// Time since which the oldest missing packet waits for the host to take it; the timer is stopped
    /// meanwhile.
    held_since: Option<Time>,
    /// End of the fetch of the first retransmission from host memory.
    fetching: Option<Time>,
    counters: RequesterCounters,
    /// Earlier transmissions of each number: statistics that no NIC keeps.
    copies: BTreeMap<u64, u8>,
    /// Packet to repeat immediately, and remaining copies in `copies_left`.
    copy_seq: u64,
    copies_left: u8,
    peer: QpNum,
    first: Psn,
    /// Limit of outstanding sequence numbers set by congestion control.
    cc_window: u32,
    /// Path on which the next acknowledgement arrived.
    path: u16,
    /// In error: the oldest work request ends with this status, all others are flushed.
    failed: Option<Status>,
    /// Expiries since the last progress.
    retries: u8,
    /// Whether a NAK was received since the last progress.
    nak_received: bool,
}

impl Requester {
    /// Creates a requester whose packets start at PSN `first`.
    pub fn new(config: &Config, peer: QpNum, first: Psn) -> Self {
        Self {
            scoreboard: Scoreboard::default(),
            policy: Policy::new(config),
            queue: SendQueue::default(),
            dummies: DummyScheduler::default(),
            started: None,
            deadline: Time::MAX,
            held_since: None,
            fetching: None,
            counters: RequesterCounters::default(),
            copies: BTreeMap::new(),
            copy_seq: 0,
            copies_left: 0,
            peer,
            first,
            cc_window: u32::MAX,
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
    /// If it is a READ, which these schemes do not support.
    #[inline(never)]
    fn post(&mut self, config: &Config, now: Time, work: Work) {
        assert!(work.op != Op::Read, "selective repeat does not support READ");
        self.queue.push(&config.base, work);
        if self.dummies.on_post(&config.base.mend.dummies, now) {
            self.queue.push_dummies(config.base.mend.dummies.count);
        }
    }

    #[inline(never)]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.failed.is_some() {
            return false;
        }
        self.copies_left > 0 || self.next_retransmission(now).is_some() || self.may_send_new(config)
    }

    #[inline(never)]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        if self.failed.is_some() {
            return None;
        }
        if self.copies_left > 0 {
            return self.repeat(config);
        }
        if let Some(seq) = self.next_retransmission(now) {
            return self.retransmit(config, now, seq);
        }
        if self.may_send_new(config) { self.send_new(config, now) } else { None }
    }

    #[inline(never)]
    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Option<ReadPlacement> {
        let ack = if let Packet::Ack(ack) = packet { Some(*ack) } else { None };
        let expected = ack.and_then(|ack| self.number(ack.expected));
        match (ack, expected) {
            (Some(ack), Some(expected))
                if self.failed.is_none() && expected <= self.scoreboard.next as i64 =>
            {
                self.on_acknowledgement(config, now, &ack, expected);
            }
            _ => self.counters.ignored += 1,
        }
        None
    }

    #[inline]
    fn on_response_path(&mut self, path: u16) {
        self.path = path;
    }

    #[inline(never)]
    fn next_timeout(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let fetched = self.fetching.unwrap_or(Time::MAX);
        let deadline = if self.held_since.is_some() { Time::MAX } else { self.deadline };
        let next = deadline.min(self.dummies.due()).min(self.policy.next_timeout()).min(fetched);
        (next != Time::MAX).then_some(next)
    }

    #[inline(never)]
    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.dummies.on_timeout(&config.base.mend.dummies, now, self.scoreboard.next == self.queue.end_seq)
        {
            self.queue.push_dummies(config.base.mend.dummies.count);
        }
        self.fetching = self.fetching.filter(|until| now < *until);
        if self.policy.next_timeout() <= now {
            let idle = self.policy.next_retransmission(&self.scoreboard).is_none();
            if self.policy.on_timer(config, &self.scoreboard, now) {
                self.start_timer(config, now);
            }
            self.update_fetch(config, now, idle);
            self.update_hold(now);
        }
        let started = self.started.filter(|_| now >= self.deadline && self.held_since.is_none())?;
        // More packets were sent since the timer was started, which may have lengthened the timeout.
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
    fn set_window(&mut self, window: u32) {
        self.cc_window = window;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.scoreboard.una == self.queue.end_seq || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        self.failed.is_some()
    }

    #[inline]
    fn messages(&self) -> u64 {
        self.queue.messages
    }

    #[inline]
    fn next_number(&self) -> u64 {
        self.scoreboard.next
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.scoreboard.una
    }

    #[inline]
    fn counters(&self) -> RequesterCounters {
        self.counters
    }
}

impl Requester {
    /// Returns the number to retransmit now.
    fn next_retransmission(&self, now: Time) -> Option<u64> {
        self.policy
            .next_retransmission(&self.scoreboard)
            .filter(|_| self.fetching.is_none_or(|until| now >= until))
    }

    fn may_send_new(&self, config: &Config) -> bool {
        let Some(item) = self.queue.current().filter(|_| self.scoreboard.next < self.queue.end_seq) else {
            return false;
        };
        let extra = if item.dummy { config.base.mend.dummies.count } else { 0 };
        self.scoreboard.outstanding() < self.window(config) + u64::from(extra)
    }

    /// Packets that may be outstanding now.
    #[inline]
    pub fn window(&self, config: &Config) -> u64 {
        let bound = u64::from(config.base.window.min(self.cc_window));
        self.policy.window().map_or(bound, |window| window.min(bound))
    }

    fn send_new(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        let item = *self.queue.current()?;
        let seq = self.scoreboard.next;
        self.scoreboard.next += 1;
        if self.scoreboard.next == item.end() {
            self.queue.next_work();
            if self.scoreboard.next == self.queue.end_seq {
                self.on_drained(config, now, &item);
            }
        }
        if config.base.mend.packet_copies > 0 && !item.dummy {
            (self.copy_seq, self.copies_left) = (seq, config.base.mend.packet_copies);
        }
        self.policy.on_sent(&self.scoreboard, now, seq, false);
        if self.started.is_none() {
            self.start_timer(config, now);
        }
        self.counters.packets += 1;
        self.counters.dummies += u64::from(item.dummy);
        let purpose = if item.dummy { Purpose::Dummy } else { Purpose::New };
        Some(self.transmit(config, &item, seq, purpose))
    }

    fn retransmit(&mut self, config: &Config, now: Time, seq: u64) -> Option<Transmit<Packet>> {
        let item = *self.queue.owner(seq)?;
        self.policy.on_sent(&self.scoreboard, now, seq, true);
        let copy = self.copies.entry(seq).or_default();
        *copy = copy.saturating_add(1);
        self.update_hold(now);
        if self.started.is_none() {
            self.start_timer(config, now);
        }
        let transmit = self.transmit(config, &item, seq, Purpose::Retransmission);
        self.counters.packets += 1;
        self.counters.retransmitted_packets += 1;
        self.counters.retransmitted_bytes += transmit.packet.payload_len() as u64;
        Some(transmit)
    }

    /// Sends a copy of the last packet.
    fn repeat(&mut self, config: &Config) -> Option<Transmit<Packet>> {
        self.copies_left -= 1;
        let item = *self.queue.owner(self.copy_seq)?;
        self.counters.packets += 1;
        self.counters.repeats += 1;
        Some(self.transmit(config, &item, self.copy_seq, Purpose::Repeat))
    }

    /// Handles the transmission of the last posted packet; `last` is its work item.
    fn on_drained(&mut self, config: &Config, now: Time, last: &WorkItem) {
        if !last.dummy {
            self.copies_left = self.copies_left.max(config.base.mend.tail_copies);
            self.copy_seq = last.end() - 1;
        }
        if self.dummies.on_drained(&config.base.mend.dummies, now) {
            self.queue.push_dummies(config.base.mend.dummies.count);
        }
    }

    fn transmit(&mut self, config: &Config, item: &WorkItem, seq: u64, purpose: Purpose) -> Transmit<Packet> {
        let offset = item.offset(seq, config.base.mtu);
        let shape = PacketShape { op: item.op, first: seq == item.first, last: seq + 1 == item.end() };
        let imm = item.imm();
        let data = Data::new(shape.opcode(imm.is_some()), self.peer, self.psn(seq), placement(item, offset))
            .with_payload(item.payload_at(offset, config.base.mtu))
            .with_imm(imm.unwrap_or(0));
        let path = self.policy.next_path(config, seq);
        let copy = self.copies.get(&seq).copied().unwrap_or(0);
        Transmit { packet: Packet::Data(data), work: item.id, offset, copy, purpose, path }
    }

    fn on_acknowledgement(&mut self, config: &Config, now: Time, ack: &Acknowledgement, expected: i64) {
        let una_before = self.scoreboard.una;
        let trigger = self.number(ack.trigger).filter(|_| !ack.dropped);
        let arrived =
            trigger.and_then(|seq| u64::try_from(seq).ok()).filter(|seq| *seq < self.scoreboard.next);
        let newly_arrived = arrived.is_some_and(|seq| !self.scoreboard.has_arrived(seq));
        let una = u64::try_from(expected).unwrap_or(0);
        if una > una_before {
            self.scoreboard.advance(una);
        }
        if let Some(seq) = arrived {
            self.scoreboard.sack(seq);
        }
        while self.queue.oldest().is_some_and(|oldest| oldest.end() <= self.scoreboard.una) {
            self.queue.finish_oldest();
        }
        let late = expected < una_before as i64;
        let nak = match ack.kind {
            AckKind::Ack => false,
            AckKind::Nak(NakCode::PsnSequence) => !late,
            AckKind::Nak(code) => {
                self.fail(status_from_nak(code));
                return;
            }
        };
        if nak {
            self.counters.naks += 1;
        }
        if self.scoreboard.una > una_before {
            self.on_progress(config, now);
        }
        self.nak_received |= nak;
        let idle = self.policy.next_retransmission(&self.scoreboard).is_none();
        let event = AckEvent { una_before, arrived, newly_arrived, nak, ack: *ack, path: self.path };
        self.policy.on_ack(config, &self.scoreboard, now, &event);
        self.update_fetch(config, now, idle);
        self.update_hold(now);
    }

    /// Delays the first retransmission by its fetch from host memory; later ones are fetched while it is
    /// sent.
    fn update_fetch(&mut self, config: &Config, now: Time, was_idle: bool) {
        if was_idle
            && config.base.resend_delay > Span::ZERO
            && self.policy.next_retransmission(&self.scoreboard).is_some()
        {
            self.fetching = Some(now.saturating_add(config.base.resend_delay));
        }
    }

    /// Handles an advance of the oldest missing packet.
    fn on_progress(&mut self, config: &Config, now: Time) {
        self.retries = 0;
        self.nak_received = false;
        self.copies = self.copies.split_off(&self.scoreboard.una);
        if self.copy_seq < self.scoreboard.una {
            self.copies_left = 0;
        }
        self.started = None;
        self.held_since = None;
        self.deadline = Time::MAX;
        if self.scoreboard.outstanding() > 0 {
            self.start_timer(config, now);
        }
        if self.scoreboard.una == self.queue.end_seq {
            self.dummies.on_idle();
        }
    }

    fn start_timer(&mut self, config: &Config, now: Time) {
        self.held_since = None;
        self.started = Some(now);
        self.deadline = now.saturating_add(self.rto(config));
    }

    /// Stops the timer while the oldest missing packet waits for congestion control or the port: until it is
    /// sent, no response can arrive.
    fn update_hold(&mut self, now: Time) {
        let waits = self.scoreboard.outstanding() > 0
            && self.policy.next_retransmission(&self.scoreboard) == Some(self.scoreboard.una);
        match self.held_since {
            None if waits => self.held_since = Some(now),
            Some(since) if !waits => {
                let span = now.since(since);
                self.held_since = None;
                self.started = self.started.map(|started| started.saturating_add(span));
                self.deadline = self.deadline.saturating_add(span);
            }
            _ => {}
        }
    }

    fn rto(&self, config: &Config) -> Span {
        let rto = self.policy.rto(config, &self.scoreboard);
        if config.backoff { rto * (1 << self.retries) } else { rto }
    }

    fn on_expiry(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        let oldest = *self.queue.oldest()?;
        let data_end = self.queue.data_end(self.scoreboard.next);
        let dummy = data_end.is_none();
        if dummy {
            self.counters.dummy_timeouts += 1;
        } else {
            self.counters.timeouts += 1;
        }
        let expiry = Expiry {
            oldest: self.psn(self.scoreboard.una),
            resume: self.psn(self.scoreboard.una),
            end: self.psn(data_end.unwrap_or(self.scoreboard.next)),
            work: oldest.id,
            op: oldest.op,
            nak_received: self.nak_received,
            dummy,
            fatal: config.base.is_last_retry(self.retries),
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
        } else {
            self.retries = self.retries.saturating_add(1);
            self.copies_left = 0;
            self.start_timer(config, now);
            self.policy.on_expiry(config, &self.scoreboard, now);
            self.update_fetch(config, now, true);
            self.update_hold(now);
        }
        Some(expiry)
    }

    fn fail(&mut self, status: Status) {
        self.failed = Some(status);
        self.started = None;
        self.deadline = Time::MAX;
        self.copies_left = 0;
        self.dummies.on_idle();
    }

    /// Probes sent for an unacknowledged tail; they also count as retransmissions.
    pub fn probes(&self) -> u32 {
        self.policy.probes()
    }

    #[inline]
    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }

    /// Converts a PSN to the number nearest to the oldest missing one; the result may be negative.
    #[inline]
    fn number(&self, psn: Psn) -> Option<i64> {
        (self.scoreboard.una as i64).checked_add(psn.distance(self.psn(self.scoreboard.una)) as i64)
    }
}

/// Memory position in a packet (IRN §5.3). WRITE: address of the payload and length of the message. SEND:
/// offset in the receive buffer, and the buffer's number, here the number of the message's first packet.
fn placement(item: &WorkItem, offset: u32) -> RethRepr {
    if item.op == Op::Send {
        return RethRepr { address: offset as u64, remote_key: item.first as u32, dma_len: 0 };
    }
    RethRepr { address: item.addr.wrapping_add(offset as u64), remote_key: item.rkey, dma_len: item.len }
}

fn status_from_nak(code: NakCode) -> Status {
    match code {
        NakCode::RemoteAccess => Status::RemoteAccess,
        NakCode::RemoteOperational => Status::RemoteOperation,
        NakCode::PsnSequence | NakCode::InvalidRequest | NakCode::InvalidRdRequest => {
            Status::RemoteInvalidRequest
        }
    }
}
