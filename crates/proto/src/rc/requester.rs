//! The requester: converts work requests into packets until the peer has acknowledged them (IBA 9.7.3, 9.9).

mod credits;
mod repeat_state;
mod tail;
mod timer;

use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::{NakCode, Opcode, RethRepr, RnrTimer, Syndrome};

use super::acceleration::AccelerationState;
use super::config::Config;
use super::flight::Flight;
use super::inbound::PacketShape;
use super::packet::Packet;
use super::send_queue::{SendQueue, WorkItem};
use crate::engine::{
    self, Completion, Expiry, Op, Purpose, ReadPlacement, RequesterCounters, Status, Transmit, Work,
};
use crate::mend::DummyScheduler;

/// The sending half of a queue pair.
#[derive(Clone, Debug)]
pub struct Requester {
    flight: Flight,
    queue: SendQueue,
    dummies: DummyScheduler,
    /// Packet to repeat immediately, and remaining copies in `copies_left`.
    copy_seq: u64,
    /// End of the retransmission timer or of a wait; [`Time::MAX`]: neither runs.
    deadline: Time,
    counters: RequesterCounters,
    peer: QpNum,
    first: Psn,
    /// Packets since the last one with `AckReq`.
    since_ack_req: u32,
    /// READs sent since the last rewind and not finished.
    reads: u32,
    /// Limit of outstanding sequence numbers set by congestion control.
    cc_window: u32,
    /// Messages before this one, counted from 0, have a receive buffer of the peer.
    credit_limit: u64,
    acceleration: AccelerationState,
    state: State,
    copies_left: u8,
    /// Expiries, and in `rnr_retries` RNR NAKs, since the last progress.
    retries: u8,
    rnr_retries: u8,
    /// Whether a NAK for the oldest packet was received.
    nak_received: bool,
    /// Whether the missing part of a READ was requested again; old responses in flight then change nothing. With
    /// [`Profile::ignores_repeated_naks`](super::Profile), whether any retransmission has begun since the last progress.
    retry_started: bool,
}

const _: () = assert!(size_of::<Requester>() <= 256);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// Waiting until `deadline` for the fetch of a retransmission.
    Fetching,
    /// Waiting until `deadline` for a receive buffer of the peer. Nothing but progress ends it earlier: a peer without
    /// a buffer may ask for the packet itself with a second NAK.
    NotReady,
    /// In error. The oldest work request ends with this status, all others are flushed.
    Failed(Status),
}

impl Requester {
    /// Creates a requester whose packets start at PSN `first`.
    pub fn new(peer: QpNum, first: Psn) -> Self {
        Self {
            flight: Flight::default(),
            queue: SendQueue::default(),
            dummies: DummyScheduler::default(),
            copy_seq: 0,
            deadline: Time::MAX,
            counters: RequesterCounters::default(),
            peer,
            first,
            since_ack_req: 0,
            reads: 0,
            cc_window: u32::MAX,
            credit_limit: 0,
            acceleration: AccelerationState::default(),
            state: State::Open,
            copies_left: 0,
            retries: 0,
            rnr_retries: 0,
            nak_received: false,
            retry_started: false,
        }
    }
}

impl engine::Requester for Requester {
    type Config = Config;
    type Packet = Packet;

    fn post(&mut self, config: &Config, now: Time, work: Work) {
        self.queue.push(config, work);
        if config.flow_control {
            self.queue.permit(self.credit_limit);
        }
        if self.dummies.on_post(&config.mend.dummies, now) {
            if config.mend.dummies.write_denied && self.queue.tail_without_rights().is_some() {
                self.dummies.defer();
            } else {
                self.queue.push_dummies(config.mend.dummies.count);
            }
        }
    }

    #[inline]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.flight.next >= self.queue.sendable {
            return self.copies_left > 0;
        }
        match self.state {
            State::Open if self.copies_left > 0 => true,
            State::Open => self.fits_window(config),
            State::Fetching | State::NotReady => now >= self.deadline && self.fits_window(config),
            State::Failed(_) => false,
        }
    }

    #[inline]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        if !self.ready(config, now) {
            return None;
        }
        if self.copies_left > 0 {
            return self.repeat(config);
        }
        let item = *self.queue.current()?;
        let seq = self.flight.next;
        if self.flight.outstanding() == 0 && !self.timer_runs_on(config) {
            self.deadline = self.expiry_time(config, now);
        }
        self.state = State::Open;
        let offset = item.offset(seq, config.mtu);
        let copy = self.flight.copy(seq);
        let psn = self.psn(seq);
        let packet = if item.op == Op::Read {
            self.read_request(&item, psn, offset)
        } else if item.op.is_atomic() {
            self.flight.advance(1);
            self.reads += 1;
            self.atomic_request(&item, psn)
        } else {
            self.data(config, &item, psn, offset)
        };
        if self.flight.next == item.end() {
            self.queue.next_work();
            if self.flight.next == self.queue.end_seq {
                self.on_drained(config, now, &item);
            }
        }
        self.counters.packets += 1;
        let purpose = if copy > 0 {
            self.counters.retransmitted_packets += 1;
            self.counters.retransmitted_bytes += packet.payload_len as u64;
            Purpose::Retransmission
        } else if item.dummy {
            self.counters.dummies += 1;
            Purpose::Dummy
        } else {
            Purpose::New
        };
        Some(Transmit { packet, work: item.id, offset, copy, purpose, path: 0 })
    }

    #[inline]
    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Option<ReadPlacement> {
        let seq = if matches!(self.state, State::Failed(_)) { None } else { self.sent(packet.psn) };
        let placement = match (packet.opcode, seq) {
            (Opcode::Acknowledge, Some(seq)) => {
                self.on_acknowledge(config, now, seq, packet);
                None
            }
            (opcode, Some(seq)) if opcode.is_read_response() || opcode == Opcode::AtomicAcknowledge => {
                self.on_read_response(config, now, seq, packet)
            }
            _ => {
                self.counters.ignored += 1;
                None
            }
        };
        if config.profile.timer_runs_on {
            self.restart_timer(config, now);
        }
        if config.flow_control {
            self.take_credits(packet);
        }
        placement
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        let next = self.deadline.min(self.dummies.due());
        (next != Time::MAX).then_some(next)
    }

    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.dummies.on_timeout(&config.mend.dummies, now, self.flight.next == self.queue.end_seq) {
            self.protect_tail(config);
        }
        if now < self.deadline || self.deadline == Time::MAX {
            return None;
        }
        self.deadline = Time::MAX;
        if matches!(self.state, State::Fetching | State::NotReady) {
            self.state = State::Open;
            return None;
        }
        let oldest = *self.queue.oldest()?;
        if self.flight.high == self.flight.una {
            // A timer that runs on expires where nothing is outstanding.
            return None;
        }
        let data_end = self.queue.data_end(self.flight.high);
        let dummy = data_end.is_none();
        if dummy {
            self.counters.dummy_timeouts += 1;
        } else {
            self.counters.timeouts += 1;
        }
        let short = self.acceleration.on_expiry(config);
        let expiry = Expiry {
            oldest: self.psn(self.flight.una),
            resume: self.psn(config.recovery.resume_seq(&self.flight, &oldest)),
            end: self.psn(data_end.unwrap_or(self.flight.high)),
            work: oldest.id,
            op: oldest.op,
            nak_received: self.nak_received,
            dummy,
            fatal: !short && config.is_last_retry(self.retries),
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
        } else {
            // Shortened timeouts together cost one retry.
            self.retries = if short { self.retries.max(1) } else { self.retries.saturating_add(1) };
            self.retry_started = config.profile.ignores_repeated_naks;
            self.recover(config, now);
        }
        Some(expiry)
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        if let Some(id) = self.queue.pop_done() {
            return Some(Completion { id, status: Status::Success });
        }
        let State::Failed(status) = self.state else { return None };
        let id = self.queue.pop_failed()?;
        self.state = State::Failed(Status::Flushed);
        Some(Completion { id, status })
    }

    #[inline]
    fn set_window(&mut self, window: u32) {
        self.cc_window = window;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.flight.una == self.queue.end_seq || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    #[inline]
    fn messages(&self) -> u64 {
        self.queue.messages
    }

    #[inline]
    fn next_number(&self) -> u64 {
        self.flight.next
    }

    #[inline]
    fn acknowledged(&self) -> u64 {
        self.flight.una
    }

    #[inline]
    fn counters(&self) -> RequesterCounters {
        self.counters
    }
}

impl Requester {
    #[inline]
    fn fits_window(&self, config: &Config) -> bool {
        let outstanding = self.flight.outstanding();
        let window = self.window(config);
        match self.queue.current() {
            // A READ takes all its numbers at once. One that is larger than the window is sent alone.
            Some(item) if item.op.has_response() => {
                let span = item.end() - self.flight.next;
                let window = if item.dummy { window + u64::from(config.mend.dummies.count) } else { window };
                self.reads < config.reads_max && (outstanding == 0 || outstanding + span <= window)
            }
            Some(item) if item.dummy => outstanding < window + u64::from(config.mend.dummies.count),
            _ => outstanding < window,
        }
    }

    /// Packets that may be outstanding now.
    #[inline]
    pub fn window(&self, config: &Config) -> u64 {
        u64::from(config.window.min(self.cc_window).min(self.acceleration.window()))
    }

    /// Builds a READ request for the missing range: a restart requests from the first missing response on
    /// (IBA 9.7.3).
    fn read_request(&mut self, item: &WorkItem, psn: Psn, offset: u32) -> Packet {
        self.flight.advance((item.end() - self.flight.next) as u32);
        self.reads += 1;
        let address = item.addr.wrapping_add(offset as u64);
        let reth = RethRepr { address, remote_key: item.rkey, dma_len: item.len - offset };
        Packet::new(Opcode::ReadRequest, self.peer, psn).with_reth(reth)
    }

    /// Builds an atomic request. The operands are content, like payload: the host adds them.
    fn atomic_request(&self, item: &WorkItem, psn: Psn) -> Packet {
        let shape = PacketShape { op: item.op, first: true, last: true };
        let reth = RethRepr { address: item.addr, remote_key: item.rkey, dma_len: item.len };
        Packet::new(shape.opcode(false), self.peer, psn).with_reth(reth).with_ack_req(true)
    }

    #[inline]
    fn data(&mut self, config: &Config, item: &WorkItem, psn: Psn, offset: u32) -> Packet {
        let seq = self.flight.next;
        self.flight.advance(1);
        let last = self.flight.next == item.end();
        let shape = PacketShape { op: item.op, first: seq == item.first, last };
        let packet = self.data_packet(config, item, shape, psn, offset);
        if config.mend.packet_copies > 0 && !item.dummy {
            (self.copy_seq, self.copies_left) = (seq, config.mend.packet_copies);
        }
        self.since_ack_req += 1;
        // A full window without an ACK request would never open again.
        let full = self.flight.outstanding() >= self.window(config);
        let ack_req = last || full || self.since_ack_req >= config.ack_every;
        if ack_req {
            self.since_ack_req = 0;
        }
        packet.with_ack_req(ack_req)
    }

    #[inline]
    fn data_packet(
        &self,
        config: &Config,
        item: &WorkItem,
        shape: PacketShape,
        psn: Psn,
        offset: u32,
    ) -> Packet {
        let imm = item.imm();
        let packet = Packet::new(shape.opcode(imm.is_some()), self.peer, psn)
            .with_payload(item.payload_at(offset, config.mtu))
            .with_imm(item.last_word());
        if shape.first && item.op == Op::Write {
            let reth = RethRepr { address: item.addr, remote_key: item.rkey, dma_len: item.len };
            return packet.with_reth(reth);
        }
        packet
    }

    #[inline]
    fn on_acknowledge(&mut self, config: &Config, now: Time, seq: u64, packet: &Packet) {
        match packet.aeth().map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack { .. }) => {
                if self.acknowledge(config, now, seq + 1) {
                    self.on_implied_nak(config, now);
                }
            }
            Some(Syndrome::Nak(code)) => self.on_nak(config, now, seq, code),
            Some(Syndrome::Rnr { timer }) => self.on_not_ready(config, now, seq, timer),
            Some(Syndrome::Reserved(_)) | None => self.counters.ignored += 1,
        }
    }

    /// Every copy of a NAK causes a retransmission: a switch that repeats NAKs intends to repeat the packets.
    #[cold]
    fn on_nak(&mut self, config: &Config, now: Time, seq: u64, code: NakCode) {
        let failure = match code {
            NakCode::PsnSequence => None,
            NakCode::InvalidRequest => Some(Status::RemoteInvalidRequest),
            NakCode::RemoteAccess => Some(Status::RemoteAccess),
            NakCode::RemoteOperational => Some(Status::RemoteOperation),
            NakCode::InvalidRdRequest => {
                self.counters.ignored += 1;
                return;
            }
        };
        let (retry_started, retries) = (self.retry_started, self.retries);
        self.acknowledge(config, now, seq);
        if let Some(status) = failure {
            self.fail(status);
            return;
        }
        self.nak_received = true;
        if config.profile.ignores_repeated_naks {
            (self.retry_started, self.retries) = (true, retries);
            if retry_started {
                self.counters.ignored += 1;
                return;
            }
        }
        self.counters.naks += 1;
        self.recover(config, now);
    }

    /// Nothing was lost, so the recovery policy is not involved: transmission resumes later at the refused
    /// packet.
    #[cold]
    fn on_not_ready(&mut self, config: &Config, now: Time, seq: u64, timer: RnrTimer) {
        self.acknowledge(config, now, seq);
        self.counters.rnr_naks += 1;
        if config.rnr_retry != Config::RNR_RETRY_INFINITE && self.rnr_retries >= config.rnr_retry {
            self.fail(Status::RnrRetryExceeded);
            return;
        }
        self.rnr_retries = self.rnr_retries.saturating_add(1);
        self.rewind(self.flight.una);
        self.state = State::NotReady;
        self.deadline = config.profile.expiry(now, config.profile.at_least(timer.span()));
    }

    /// A later response shows that READ responses are missing. The requester requests them again once (IBA
    /// 9.7.5).
    #[cold]
    fn on_implied_nak(&mut self, config: &Config, now: Time) {
        if !self.retry_started {
            self.counters.implied_naks += 1;
            self.recover(config, now);
            self.retry_started = true;
        }
    }

    /// Handles that the peer has executed everything before `limit`. READs finish only by their responses.
    /// Returns whether a READ is unfinished although the peer is beyond it.
    #[inline]
    fn acknowledge(&mut self, config: &Config, now: Time, limit: u64) -> bool {
        let before = self.flight.una;
        let mut skipped_read = false;
        while let Some(oldest) = self.queue.oldest() {
            if oldest.op.has_response() {
                self.flight.una = self.flight.una.max(oldest.first);
                skipped_read = limit > oldest.end();
                break;
            }
            if limit < oldest.end() {
                let acknowledged_limit = config.recovery.acknowledged_limit(&self.flight, oldest, limit);
                self.flight.una = self.flight.una.max(acknowledged_limit);
                break;
            }
            self.flight.una = oldest.end();
            self.queue.finish_oldest();
        }
        if self.flight.una > before {
            self.on_progress(config, now, self.flight.una - before);
        }
        skipped_read
    }

    /// Handles an advance of the oldest unacknowledged packet.
    #[inline]
    fn on_progress(&mut self, config: &Config, now: Time, packets: u64) {
        self.acceleration.on_progress(config, packets);
        if self.flight.next < self.flight.una {
            self.flight.next = self.flight.una;
            self.queue.rewind();
        }
        let was_waiting = std::mem::replace(&mut self.state, State::Open) != State::Open;
        self.retries = 0;
        self.rnr_retries = 0;
        self.nak_received = false;
        self.retry_started = false;
        if self.flight.outstanding() > 0 {
            self.deadline = self.expiry_time(config, now);
        } else if was_waiting || !config.profile.timer_runs_on {
            self.deadline = Time::MAX;
        }
        if self.copy_seq < self.flight.una {
            self.copies_left = 0;
        }
        if self.flight.una == self.queue.end_seq {
            self.dummies.on_idle();
        }
    }

    /// A response acknowledges all requests before its READ (implied ACK). A response other than the next one
    /// shows that others were lost (implied NAK).
    fn on_read_response(
        &mut self,
        config: &Config,
        now: Time,
        seq: u64,
        packet: &Packet,
    ) -> Option<ReadPlacement> {
        let Some(&read) = self.queue.oldest_read_up_to(seq) else {
            self.counters.ignored += 1;
            return None;
        };
        let next = self.flight.una.max(read.first);
        let response = (seq < read.end()).then(|| read.response(seq, config.mtu));
        let is_right_kind = (packet.opcode == Opcode::AtomicAcknowledge) == read.op.is_atomic();
        let fits = is_right_kind && response.is_some_and(|(_, len)| len == packet.payload_len);
        if seq == next && !fits {
            self.counters.ignored += 1;
            return None;
        }
        self.acknowledge(config, now, read.first);
        if seq != next {
            let waits = config.profile.read_gap_waits && seq < read.end();
            if self.retry_started || waits {
                self.counters.ignored += 1;
            }
            if !waits {
                self.on_implied_nak(config, now);
            }
            return None;
        }
        if next + 1 == read.end() {
            // The count is 0 if the rest was rewound but arrived anyway.
            self.reads = self.reads.saturating_sub(1);
            self.queue.finish_oldest();
        }
        self.flight.una = next + 1;
        self.on_progress(config, now, 1);
        let (offset, len) = response.filter(|_| !read.dummy)?;
        let len = if read.op.is_atomic() { Op::ATOMIC_LEN as u16 } else { len };
        Some(ReadPlacement { work: read.id, offset, len })
    }

    /// Rewinds; transmission resumes when the NIC has fetched the packet. Further signs of the loss before
    /// that time, such as a copy of the NAK, change nothing.
    fn recover(&mut self, config: &Config, now: Time) {
        let Some(oldest) = self.queue.oldest() else { return };
        let to = config.recovery.resume_seq(&self.flight, oldest);
        self.acceleration.on_loss(config);
        let fetched = now.saturating_add(config.resend_delay);
        let (waits_for, until) = (self.state, self.deadline);
        self.rewind(to);
        if waits_for == State::NotReady {
            (self.state, self.deadline) = (State::NotReady, until);
        } else if config.resend_delay > Span::ZERO {
            self.state = State::Fetching;
            self.deadline = if waits_for == State::Fetching { fetched.min(until) } else { fetched };
        }
    }

    fn fail(&mut self, status: Status) {
        self.state = State::Failed(status);
        self.deadline = Time::MAX;
        self.copies_left = 0;
        self.dummies.on_idle();
    }

    /// Oldest unacknowledged PSN, or the next PSN to use.
    #[inline]
    pub fn oldest(&self) -> Psn {
        self.psn(self.flight.una)
    }

    /// Sequence numbers sent since the last rewind and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.flight.outstanding() as u32
    }

    #[inline]
    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }

    /// Converts a PSN that was sent and is not acknowledged to its number.
    #[inline]
    fn sent(&self, psn: Psn) -> Option<u64> {
        let distance = psn.distance(self.psn(self.flight.una));
        let seq = self.flight.una + u64::try_from(distance).ok()?;
        (seq < self.flight.high).then_some(seq)
    }
}
