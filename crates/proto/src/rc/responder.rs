//! The responder: accepts requests in order, responds, and sends one NAK for a missing packet (IBA 9.7.4,
//! 9.7.5).

use std::cmp::Ordering;

use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::{AethRepr, Credits, NakCode, Opcode, Syndrome};

use super::config::Config;
use super::inbound::{Inbound, PacketShape};
use super::packet::Packet;
use super::profile::NakRule;
use super::reads::{Output, Reads, Request};
use super::recovery::OutOfSequence;
use crate::engine::{self, Message, Op, RequestOutcome, Responder as _, ResponderCounters, StateVisitor};

/// The receiving half of a queue pair.
#[derive(Clone, Debug)]
pub struct Responder {
    inbound: Inbound,
    /// The next reply; a newer one replaces it, because replies are cumulative.
    reply: Option<Reply>,
    reads: Option<Box<Reads>>,
    counters: ResponderCounters,
    peer: QpNum,
    first: Psn,
    msn: u32,
    /// Posted receive buffers; [`UNLIMITED`]: not counted.
    receives: u32,
    failed: bool,
}

const _: () = assert!(size_of::<Responder>() <= 160);

const UNLIMITED: u32 = u32::MAX;

/// Why the expected packet is not accepted.
#[derive(Clone, Copy, Debug)]
enum Obstacle {
    Invalid(NakCode),
    NoBuffer,
}

/// A response without payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reply {
    psn: Psn,
    msn: u32,
    syndrome: Syndrome,
}

impl Responder {
    /// Creates a responder that expects PSN `first`, with unlimited receive buffers.
    pub fn new(peer: QpNum, first: Psn) -> Self {
        Self {
            inbound: Inbound::default(),
            reply: None,
            reads: None,
            counters: ResponderCounters::default(),
            peer,
            first,
            msn: 0,
            receives: UNLIMITED,
            failed: false,
        }
    }
}

impl engine::Responder for Responder {
    type Config = Config;
    type Packet = Packet;

    #[inline]
    fn on_packet(&mut self, config: &Config, _now: Time, packet: &Packet) -> RequestOutcome {
        if self.failed || !is_request(packet.opcode) {
            return self.ignore();
        }
        let distance = packet.psn.distance(self.expected());
        match distance.cmp(&0) {
            Ordering::Equal => self.on_expected(config, packet),
            Ordering::Greater => self.on_out_of_sequence(config, distance),
            Ordering::Less => self.on_duplicate(config, packet, distance),
        }
    }

    #[inline]
    fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        let output = self.reads.as_mut().and_then(|reads| reads.poll(config.mtu));
        match output {
            Some(Output::Response { seq, opcode, payload_len, msn, source, key }) => {
                self.counters.responses += 1;
                let aeth = AethRepr { syndrome: self.acknowledged(config), msn };
                let packet = Packet::new(opcode, self.peer, self.psn(seq)).with_payload(payload_len);
                Some(packet.with_source(key, source).with_aeth(aeth))
            }
            Some(Output::Reply(reply)) => Some(self.reply_packet(config, reply)),
            None => self.reply.take().map(|reply| self.reply_packet(config, reply)),
        }
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.reply.is_some() || self.has_read_responses()
    }

    #[inline]
    fn has_read_responses(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| reads.has_output())
    }

    #[inline]
    fn expected(&self) -> Psn {
        self.psn(self.inbound.expected)
    }

    #[inline]
    fn nak_sent(&self) -> bool {
        self.inbound.nak_sent
    }

    #[inline]
    fn counters(&self) -> ResponderCounters {
        self.counters
    }
}

impl Responder {
    /// Limits the receive buffers to `n`.
    pub fn limit_receives(&mut self, n: u32) {
        self.receives = n.min(UNLIMITED - 1);
    }

    /// Adds `n` receive buffers, if they are limited.
    pub fn add_receives(&mut self, n: u32) {
        if self.receives != UNLIMITED {
            self.limit_receives(self.receives.saturating_add(n));
        }
    }

    /// Sets the old value of an atomic operation that was just accepted. The host calls it before it polls.
    pub fn set_original(&mut self, original: u64) {
        if let Some(reads) = &mut self.reads {
            reads.set_original(original);
        }
    }

    /// Refuses a request that the host does not permit. Only the expected packet can be refused; any other is
    /// ignored.
    pub fn refuse(&mut self, packet: &Packet, why: NakCode) -> RequestOutcome {
        if self.failed || !is_request(packet.opcode) || packet.psn != self.expected() {
            return self.ignore();
        }
        self.failed = true;
        self.reply = Some(self.new_reply(packet.psn, Syndrome::Nak(why)));
        RequestOutcome::Refused
    }

    #[inline]
    fn on_expected(&mut self, config: &Config, packet: &Packet) -> RequestOutcome {
        self.inbound.nak_sent = false;
        let shape = match self.admit(config, packet) {
            Ok(shape) => shape,
            Err(Obstacle::Invalid(why)) => return self.refuse(packet, why),
            Err(Obstacle::NoBuffer) => return self.on_no_buffer(config, packet.psn),
        };
        self.counters.accepted += 1;
        if shape.op.has_response() {
            return self.execute_read(config, shape.op, packet);
        }
        if shape.consumes_receive_buffer(packet) && self.receives != UNLIMITED {
            self.receives -= 1;
        }
        let (place, len) = self.inbound.accept(shape, packet);
        let completed = shape.last.then(|| {
            self.count_message();
            Message { op: shape.op, len, imm: packet.imm(), invalidate: packet.invalidate(), msn: self.msn }
        });
        if packet.ack_req() {
            self.queue_reply(packet.psn, Syndrome::ACK);
        }
        RequestOutcome::Accepted { placement: place, completed }
    }

    /// Checks the expected packet: sequence of opcodes, lengths, receive buffer.
    #[inline]
    fn admit(&self, config: &Config, packet: &Packet) -> Result<PacketShape, Obstacle> {
        let shape = PacketShape::from_rc_opcode(packet.opcode);
        let shape = shape.ok_or(Obstacle::Invalid(NakCode::InvalidRequest))?;
        self.inbound.check(config, shape, packet).map_err(Obstacle::Invalid)?;
        // A SEND needs its buffer from the first packet on. The message consumes the buffer when it
        // completes, so that a restarted message does not consume two.
        let needs_buffer = shape.consumes_receive_buffer(packet) || shape.op == Op::Send && shape.first;
        if needs_buffer && self.receives == 0 { Err(Obstacle::NoBuffer) } else { Ok(shape) }
    }

    /// Returns whether [`engine::Responder::on_packet`] would find the packet in sequence and well-formed, so that its
    /// effect depends on the permissions of the peer and on receive buffers only.
    #[inline]
    pub fn is_expected(&self, config: &Config, packet: &Packet) -> bool {
        let is_next = !self.failed && packet.psn == self.expected();
        is_next && !matches!(self.admit(config, packet), Err(Obstacle::Invalid(_)))
    }

    /// Returns whether the expected packet lacks a receive buffer.
    #[inline]
    pub fn lacks_buffer(&self, config: &Config, packet: &Packet) -> bool {
        matches!(self.admit(config, packet), Err(Obstacle::NoBuffer))
    }

    fn execute_read(&mut self, config: &Config, op: Op, packet: &Packet) -> RequestOutcome {
        let Some(reth) = packet.target() else { return self.ignore() };
        let first = self.inbound.expected;
        let is_atomic = op.is_atomic();
        let packets = if is_atomic { 1 } else { config.packet_count(reth.dma_len) };
        self.inbound.accept_read(packets);
        self.count_message();
        let request = Request { first, reth, msn: self.msn, is_atomic, preceding_reply: self.reply.take() };
        self.reads.get_or_insert_default().push(&request, packets, config.reads_max);
        let completed = Message { op, len: reth.dma_len, imm: None, invalidate: None, msn: self.msn };
        RequestOutcome::Accepted { placement: None, completed: Some(completed) }
    }

    /// The requester will resend this packet. Packets after it are dropped until then.
    #[cold]
    fn on_no_buffer(&mut self, config: &Config, psn: Psn) -> RequestOutcome {
        self.inbound.nak_sent = !config.profile.nak_after_rnr;
        self.queue_reply(psn, Syndrome::Rnr { timer: config.rnr_timer });
        RequestOutcome::NotReady
    }

    fn on_out_of_sequence(&mut self, config: &Config, distance: i32) -> RequestOutcome {
        self.counters.out_of_sequence += 1;
        match config.profile.nak {
            NakRule::EachPacket => self.inbound.nak_sent = false,
            NakRule::EachRound => self.inbound.detect_new_round(distance as u64),
            NakRule::Once if config.mend.check_epsn => self.inbound.detect_new_round(distance as u64),
            NakRule::Once => {}
        }
        match config.recovery.on_out_of_sequence(&mut self.inbound) {
            OutOfSequence::Drop => RequestOutcome::Gap { nak: false },
            OutOfSequence::Nak(missing) => {
                self.queue_reply(self.psn(missing), Syndrome::Nak(NakCode::PsnSequence));
                RequestOutcome::Gap { nak: true }
            }
        }
    }

    /// Executes a READ again; sends the saved result of an atomic operation again; responds to other duplicates with the latest ACK (IBA 9.7.5).
    fn on_duplicate(&mut self, config: &Config, packet: &Packet, distance: i32) -> RequestOutcome {
        let Some(seq) = self.inbound.expected.checked_add_signed(distance as i64) else {
            return self.ignore();
        };
        if let (Opcode::ReadRequest, Some(reth)) = (packet.opcode, packet.reth()) {
            let known = self.reads.as_mut().is_some_and(|reads| reads.restart(seq, reth, config.mtu));
            if !known {
                return self.ignore();
            }
        } else if matches!(packet.opcode, Opcode::CompareSwap | Opcode::FetchAdd) {
            if !self.reads.as_mut().is_some_and(|reads| reads.replay(seq)) {
                return self.ignore();
            }
        } else {
            let latest = self.psn(self.inbound.expected - 1);
            if !config.profile.silent_duplicates {
                self.queue_reply(latest, Syndrome::ACK);
            }
        }
        self.counters.duplicates += 1;
        RequestOutcome::Duplicate
    }

    fn ignore(&mut self) -> RequestOutcome {
        self.counters.ignored += 1;
        RequestOutcome::Ignored
    }

    const fn count_message(&mut self) {
        self.msn = (self.msn + 1) & 0xFF_FFFF;
    }

    const fn new_reply(&self, psn: Psn, syndrome: Syndrome) -> Reply {
        Reply { psn, msn: self.msn, syndrome }
    }

    /// A newer reply replaces a waiting one, because it includes the same information. The exception is an
    /// ACK for packets before a waiting NAK, which the NAK implies.
    #[inline]
    fn queue_reply(&mut self, psn: Psn, syndrome: Syndrome) {
        if let Some(waiting) = self.reply {
            if waiting.syndrome.is_nak() && !syndrome.is_nak() && psn.distance(waiting.psn) < 0 {
                self.counters.coalesced += 1;
                return;
            }
            self.counters.coalesced += u32::from(!waiting.syndrome.is_nak());
        }
        self.reply = Some(self.new_reply(psn, syndrome));
    }

    #[inline]
    fn reply_packet(&mut self, config: &Config, mut reply: Reply) -> Packet {
        match reply.syndrome {
            Syndrome::Ack { .. } => {
                self.counters.acks += 1;
                reply.syndrome = self.acknowledged(config);
            }
            Syndrome::Rnr { .. } => self.counters.rnr_naks += 1,
            Syndrome::Nak(_) | Syndrome::Reserved(_) => self.counters.naks += 1,
        }
        Packet::acknowledge(self.peer, reply.psn, AethRepr { syndrome: reply.syndrome, msn: reply.msn })
    }

    /// Syndrome of an acknowledgement. Credits count from its message number, which may be older than they are: as
    /// buffers are consumed in order, they promise no message too many.
    #[inline]
    const fn acknowledged(&self, config: &Config) -> Syndrome {
        if config.flow_control && self.receives != UNLIMITED {
            Syndrome::Ack { credits: Credits::at_most(self.receives) }
        } else {
            Syndrome::ACK
        }
    }

    /// Visits the state. `of` names the sequence of its packets.
    pub fn visit_state(&mut self, visitor: &mut impl StateVisitor, of: u64) {
        self.inbound.visit_state(visitor, of);
        visitor.absent(self.reads.is_none());
        visitor.exact(self.reply.is_some());
        if let Some(reply) = &mut self.reply {
            visitor.psn(of, &mut reply.psn);
            visitor.exact(reply.msn);
            visitor.exact(reply.syndrome.to_byte());
        }
        visitor.exact(self.msn);
        visitor.exact(self.receives);
        visitor.exact(self.failed);
        let counters = &mut self.counters;
        visitor.counter(&mut counters.accepted);
        visitor.counter(&mut counters.acks);
        let mut coalesced = u64::from(counters.coalesced);
        visitor.counter(&mut coalesced);
        counters.coalesced = coalesced as u32;
        visitor.exact(counters.responses);
        visitor.exact(counters.duplicates);
        visitor.exact(counters.out_of_sequence);
        visitor.exact(counters.naks);
        visitor.exact(counters.rnr_naks);
        visitor.exact(counters.ignored);
    }

    /// Messages executed, modulo 2^24.
    #[inline]
    pub fn msn(&self) -> u32 {
        self.msn
    }

    /// Returns whether it has refused a request and is in error.
    #[inline]
    pub fn is_error(&self) -> bool {
        self.failed
    }

    #[inline]
    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }
}

/// Returns whether the opcode is a request of a reliable connection. Unsupported ones get a NAK when they are
/// expected.
#[inline]
const fn is_request(opcode: Opcode) -> bool {
    !opcode.is_response() && (opcode as u8) < 0x20
}
