//! The requester: turns work requests into packets until the peer has acknowledged them (IBA 9.7.3, 9.9).

use wiremend_units::{Psn, QpNum, Span, Time};
use wiremend_wire::{NakCode, Opcode, RethRepr, RnrTimer, Syndrome};

use super::acceleration::Pace;
use super::config::Config;
use super::flight::Flight;
use super::inbound::Shape;
use super::packet::Packet;
use super::send_queue::{Item, SendQueue};
use crate::engine::{
    self, Arrival, Completion, Expiry, Op, Purpose, RequesterCounters, Status, Transmit, Work,
};
use crate::mend::Tail;

/// The sending half of a queue pair.
#[derive(Clone, Debug)]
pub struct Requester {
    flight: Flight,
    queue: SendQueue,
    tail: Tail,
    /// A packet that is sent again right behind itself, and how often yet.
    echo_seq: u64,
    /// When the retransmission timer or a wait ends; [`Time::MAX`]: neither runs.
    deadline: Time,
    counters: RequesterCounters,
    peer: QpNum,
    first: Psn,
    /// Packets since the last one that asked for an acknowledgement.
    unasked: u32,
    /// READs sent in this round and not finished.
    reads: u32,
    /// Sequence numbers that congestion control lets be outstanding.
    allowed: u32,
    pace: Pace,
    state: State,
    echo_left: u8,
    /// Expiries, and "not ready" answers, since the last progress.
    retries: u8,
    rnr_retries: u8,
    /// A NAK for the oldest packet came.
    nak_received: bool,
    /// What is missing of a READ was asked for again; old responses still on their way change nothing.
    rerequested: bool,
}

const _: () = assert!(size_of::<Requester>() <= 256);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// Waiting until `deadline`: the receiver has no buffer, or what is sent again is being fetched.
    Waiting,
    /// In error. The oldest work ends with this status, all others are flushed.
    Failed(Status),
}

impl Requester {
    /// A requester that numbers its packets from `first`.
    pub fn new(peer: QpNum, first: Psn) -> Self {
        Self {
            flight: Flight::default(),
            queue: SendQueue::default(),
            tail: Tail::default(),
            echo_seq: 0,
            deadline: Time::MAX,
            counters: RequesterCounters::default(),
            peer,
            first,
            unasked: 0,
            reads: 0,
            allowed: u32::MAX,
            pace: Pace::default(),
            state: State::Open,
            echo_left: 0,
            retries: 0,
            rnr_retries: 0,
            nak_received: false,
            rerequested: false,
        }
    }
}

impl engine::Requester for Requester {
    type Config = Config;
    type Packet = Packet;

    fn post(&mut self, config: &Config, now: Time, work: Work) {
        self.queue.push(config, work);
        if self.tail.on_post(&config.mend.dummies, now) {
            self.queue.push_dummies(config.mend.dummies.count);
        }
    }

    #[inline]
    fn ready(&self, config: &Config, now: Time) -> bool {
        if self.flight.next >= self.queue.tail {
            return self.echo_left > 0;
        }
        match self.state {
            State::Open if self.echo_left > 0 => true,
            State::Open => self.fits_window(config),
            State::Waiting => now >= self.deadline && self.fits_window(config),
            State::Failed(_) => false,
        }
    }

    #[inline]
    fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<Transmit<Packet>> {
        if !self.ready(config, now) {
            return None;
        }
        if self.echo_left > 0 {
            return self.repeat(config);
        }
        self.state = State::Open;
        let item = *self.queue.current()?;
        let seq = self.flight.next;
        if self.flight.outstanding() == 0 {
            self.deadline = after(now, self.pace.timeout(config));
        }
        let offset = item.offset(seq, config.mtu);
        let copy = self.flight.copy(seq);
        let psn = self.psn(seq);
        let packet = if item.op == Op::Read {
            self.read_request(&item, psn, offset)
        } else {
            self.data(config, &item, psn, offset)
        };
        if self.flight.next == item.end() {
            self.queue.next_work();
            if self.flight.next == self.queue.tail {
                self.on_drained(config, &item);
            }
        }
        self.counters.packets += 1;
        let purpose = if copy > 0 {
            self.counters.retransmitted_packets += 1;
            self.counters.retransmitted_bytes += packet.payload_len as u64;
            Purpose::Again
        } else if item.dummy {
            self.counters.dummies += 1;
            Purpose::Dummy
        } else {
            Purpose::New
        };
        Some(Transmit { packet, work: item.id, offset, copy, purpose, path: 0 })
    }

    #[inline]
    fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) -> Option<Arrival> {
        let seq = if matches!(self.state, State::Failed(_)) { None } else { self.sent(packet.psn) };
        match (packet.opcode, seq) {
            (Opcode::Acknowledge, Some(seq)) => {
                self.on_acknowledge(config, now, seq, packet);
                None
            }
            (opcode, Some(seq)) if opcode.is_read_response() => {
                self.on_read_response(config, now, seq, packet.payload_len)
            }
            _ => {
                self.counters.ignored += 1;
                None
            }
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        let next = self.deadline.min(self.tail.due());
        (next != Time::MAX).then_some(next)
    }

    fn on_timeout(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.tail.on_time(now, self.flight.next == self.queue.tail) {
            self.queue.push_dummies(config.mend.dummies.count);
        }
        if now < self.deadline || self.deadline == Time::MAX {
            return None;
        }
        self.deadline = Time::MAX;
        if self.state == State::Waiting {
            self.state = State::Open;
            return None;
        }
        let oldest = *self.queue.oldest()?;
        let held_up = self.queue.data_end(self.flight.high);
        let dummy = held_up.is_none();
        if dummy {
            self.counters.dummy_timeouts += 1;
        } else {
            self.counters.timeouts += 1;
        }
        let short = self.pace.on_expiry(config);
        let expiry = Expiry {
            oldest: self.psn(self.flight.una),
            resume: self.psn(config.recovery.resume(&self.flight, &oldest)),
            end: self.psn(held_up.unwrap_or(self.flight.high)),
            work: oldest.id,
            op: oldest.op,
            nak_received: self.nak_received,
            dummy,
            fatal: !short && self.retries >= config.retry_count,
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
        } else {
            // Short timeouts cost one retry together.
            self.retries = if short { self.retries.max(1) } else { self.retries + 1 };
            self.rerequested = false;
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
    fn allow(&mut self, window: u32) {
        self.allowed = window;
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.flight.una == self.queue.tail || self.is_error()
    }

    #[inline]
    fn is_error(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// Work requests so far, dummies included: the number that the responder gives to the last of them (MSN), but
    /// not cut to 24 bits.
    #[inline]
    fn messages(&self) -> u64 {
        self.queue.messages
    }

    /// The number of the next packet, counted from 0 without end.
    #[inline]
    fn next_number(&self) -> u64 {
        self.flight.next
    }

    /// Sequence numbers acknowledged so far, counted from 0 without end.
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
            // A READ takes all its numbers at once. One that is larger than the window goes alone.
            Some(item) if item.op == Op::Read => {
                let span = item.end() - self.flight.next;
                let window = if item.dummy { window + u64::from(config.mend.dummies.count) } else { window };
                self.reads < config.reads_max && (outstanding == 0 || outstanding + span <= window)
            }
            Some(item) if item.dummy => outstanding < window + u64::from(config.mend.dummies.count),
            _ => outstanding < window,
        }
    }

    #[inline]
    fn window(&self, config: &Config) -> u64 {
        u64::from(config.window.min(self.allowed).min(self.pace.window()))
    }

    /// Everything posted is sent, and `last` was the last of it.
    #[inline]
    fn on_drained(&mut self, config: &Config, last: &Item) {
        if !last.dummy && last.op != Op::Read {
            self.echo_left = self.echo_left.max(config.mend.tail_copies);
            self.echo_seq = last.end() - 1;
        }
        if self.tail.on_drained() {
            self.queue.push_dummies(config.mend.dummies.count);
        }
    }

    /// The packet that was sent last, once more.
    #[cold]
    fn repeat(&mut self, config: &Config) -> Option<Transmit<Packet>> {
        let seq = self.echo_seq;
        self.echo_left -= 1;
        let item = *self.queue.owner(seq)?;
        let offset = item.offset(seq, config.mtu);
        let shape = Shape { op: item.op, first: seq == item.first, last: seq + 1 == item.end() };
        let packet = self.data_packet(config, &item, shape, self.psn(seq), offset).with_ack_req(shape.last);
        self.counters.packets += 1;
        self.counters.repeats += 1;
        let copy = self.flight.copy(seq);
        Some(Transmit { packet, work: item.id, offset, copy, purpose: Purpose::Repeat, path: 0 })
    }

    /// A READ request for what is still missing: a restart asks from the first missing response on (IBA 9.7.3).
    fn read_request(&mut self, item: &Item, psn: Psn, offset: u32) -> Packet {
        self.flight.advance((item.end() - self.flight.next) as u32);
        self.reads += 1;
        let address = item.addr.wrapping_add(offset as u64);
        let reth = RethRepr { address, remote_key: item.rkey, dma_len: item.len - offset };
        Packet::new(Opcode::ReadRequest, self.peer, psn).with_reth(reth)
    }

    #[inline]
    fn data(&mut self, config: &Config, item: &Item, psn: Psn, offset: u32) -> Packet {
        let seq = self.flight.next;
        self.flight.advance(1);
        let last = self.flight.next == item.end();
        let shape = Shape { op: item.op, first: seq == item.first, last };
        let packet = self.data_packet(config, item, shape, psn, offset);
        if config.mend.packet_copies > 0 && !item.dummy {
            (self.echo_seq, self.echo_left) = (seq, config.mend.packet_copies);
        }
        self.unasked += 1;
        // A window that fills without a question would never open again.
        let full = self.flight.outstanding() >= self.window(config);
        let ask = last || full || self.unasked >= config.ack_every;
        if ask {
            self.unasked = 0;
        }
        packet.with_ack_req(ask)
    }

    #[inline]
    fn data_packet(&self, config: &Config, item: &Item, shape: Shape, psn: Psn, offset: u32) -> Packet {
        let imm = item.imm();
        let packet = Packet::new(shape.opcode(imm.is_some()), self.peer, psn)
            .with_payload(item.payload_at(offset, config.mtu))
            .with_imm(imm.unwrap_or(0));
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

    /// Every copy of a NAK acts: whoever repeats NAKs on the way wants the packets repeated.
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
        self.acknowledge(config, now, seq);
        if let Some(status) = failure {
            self.fail(status);
            return;
        }
        self.counters.naks += 1;
        self.nak_received = true;
        self.recover(config, now);
    }

    /// Nothing was lost, so that the recovery has no say: sending resumes at the refused packet, later.
    #[cold]
    fn on_not_ready(&mut self, config: &Config, now: Time, seq: u64, timer: RnrTimer) {
        self.acknowledge(config, now, seq);
        self.counters.rnr_naks += 1;
        if config.rnr_retry != Config::RNR_RETRY_FOR_EVER && self.rnr_retries >= config.rnr_retry {
            self.fail(Status::RnrRetryExceeded);
            return;
        }
        self.rnr_retries = self.rnr_retries.saturating_add(1);
        self.rewind(self.flight.una);
        self.state = State::Waiting;
        self.deadline = now.saturating_add(timer.span());
    }

    /// What came instead shows that READ responses are missing: they are asked for again, once (IBA 9.7.5).
    #[cold]
    fn on_implied_nak(&mut self, config: &Config, now: Time) {
        if !self.rerequested {
            self.counters.implied_naks += 1;
            self.recover(config, now);
            self.rerequested = true;
        }
    }

    /// The peer has executed everything before `limit`. READs finish by their responses only; says whether one is
    /// unfinished although the peer is beyond it.
    #[inline]
    fn acknowledge(&mut self, config: &Config, now: Time, limit: u64) -> bool {
        let before = self.flight.una;
        let mut skipped_read = false;
        while let Some(oldest) = self.queue.oldest() {
            if oldest.op == Op::Read {
                self.flight.una = self.flight.una.max(oldest.first);
                skipped_read = limit > oldest.end();
                break;
            }
            if limit < oldest.end() {
                let released = config.recovery.released(&self.flight, oldest, limit);
                self.flight.una = self.flight.una.max(released);
                break;
            }
            self.flight.una = oldest.end();
            self.queue.finish_oldest();
        }
        if self.flight.una > before {
            self.progress(config, now, self.flight.una - before);
        }
        skipped_read
    }

    /// The oldest unacknowledged packet is a later one than before.
    #[inline]
    fn progress(&mut self, config: &Config, now: Time, packets: u64) {
        self.pace.on_progress(config, packets);
        if self.flight.next < self.flight.una {
            self.flight.next = self.flight.una;
            self.queue.rewind();
        }
        self.state = State::Open;
        self.retries = 0;
        self.rnr_retries = 0;
        self.nak_received = false;
        self.rerequested = false;
        self.deadline =
            if self.flight.outstanding() == 0 { Time::MAX } else { after(now, self.pace.timeout(config)) };
        if self.echo_seq < self.flight.una {
            self.echo_left = 0;
        }
        if self.flight.una == self.queue.tail {
            self.tail.on_idle();
        }
    }

    /// A response acknowledges all requests before its READ (implied ACK). One that is not the next one shows that
    /// others were lost (implied NAK).
    fn on_read_response(
        &mut self,
        config: &Config,
        now: Time,
        seq: u64,
        payload_len: u16,
    ) -> Option<Arrival> {
        let Some(&read) = self.queue.oldest_read_to(seq) else {
            self.counters.ignored += 1;
            return None;
        };
        let next = self.flight.una.max(read.first);
        let offset = response_offset(&read, seq, config.mtu);
        if seq == next && offset.map(|offset| read.payload_at(offset, config.mtu)) != Some(payload_len) {
            self.counters.ignored += 1;
            return None;
        }
        self.acknowledge(config, now, read.first);
        if seq != next {
            if self.rerequested {
                self.counters.ignored += 1;
            }
            self.on_implied_nak(config, now);
            return None;
        }
        if next + 1 == read.end() {
            // None is counted if the rest was rewound and arrived all the same.
            self.reads = self.reads.saturating_sub(1);
            self.queue.finish_oldest();
        }
        self.flight.una = next + 1;
        self.progress(config, now, 1);
        offset.filter(|_| !read.dummy).map(|offset| Arrival { work: read.id, offset, len: payload_len })
    }

    /// Sending starts again, when what is sent again has been fetched. What shows the loss once more meanwhile, as the
    /// copy of a NAK does, changes nothing.
    fn recover(&mut self, config: &Config, now: Time) {
        let Some(oldest) = self.queue.oldest() else { return };
        let to = config.recovery.resume(&self.flight, oldest);
        self.pace.on_loss(config);
        let fetched = now.saturating_add(config.resend_delay);
        let earlier = if self.state == State::Waiting { self.deadline } else { Time::MAX };
        self.rewind(to);
        if config.resend_delay > Span::ZERO {
            self.state = State::Waiting;
            self.deadline = fetched.min(earlier);
        }
    }

    /// Nothing is outstanding after a rewind: the timer starts with the first packet that is sent again.
    fn rewind(&mut self, to: u64) {
        self.flight.rewind(to);
        self.queue.rewind();
        self.reads = 0;
        self.echo_left = 0;
        self.state = State::Open;
        self.deadline = Time::MAX;
    }

    fn fail(&mut self, status: Status) {
        self.state = State::Failed(status);
        self.deadline = Time::MAX;
        self.echo_left = 0;
        self.tail.on_idle();
    }

    /// The oldest sequence number that is not acknowledged, or the next one to be used.
    #[inline]
    pub fn oldest(&self) -> Psn {
        self.psn(self.flight.una)
    }

    /// Sequence numbers sent in this round and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.flight.outstanding() as u32
    }

    #[inline]
    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }

    /// The number behind a PSN, if that was sent and is not acknowledged.
    #[inline]
    fn sent(&self, psn: Psn) -> Option<u64> {
        let distance = psn.distance(self.psn(self.flight.una));
        let seq = self.flight.una + u64::try_from(distance).ok()?;
        (seq < self.flight.high).then_some(seq)
    }
}

/// Where a response's payload lies, if the response is one of this READ.
fn response_offset(read: &Item, seq: u64, mtu: u16) -> Option<u32> {
    (seq < read.end()).then(|| read.offset(seq, mtu))
}

#[inline]
fn after(now: Time, timeout: Option<Span>) -> Time {
    timeout.map_or(Time::MAX, |timeout| now.saturating_add(timeout))
}
