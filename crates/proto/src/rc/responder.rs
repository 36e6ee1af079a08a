//! The responder: takes requests in order, answers them, and says once what is missing (IBA 9.7.4, 9.7.5).

use std::cmp::Ordering;

use wiremend_units::{Psn, QpNum, Time};
use wiremend_wire::{AethRepr, NakCode, Opcode, Syndrome};

use super::config::Config;
use super::inbound::{Inbound, Shape};
use super::packet::Packet;
use super::reads::{Output, Reads};
use super::recovery::Ahead;
use crate::engine::{self, Message, Op, Outcome, Responder as _, ResponderCounters};

/// The receiving half of a queue pair.
#[derive(Clone, Debug)]
pub struct Responder {
    inbound: Inbound,
    /// What will be said next; a newer answer replaces it, because answers are cumulative.
    reply: Option<Reply>,
    reads: Option<Box<Reads>>,
    counters: ResponderCounters,
    peer: QpNum,
    first: Psn,
    msn: u32,
    /// Posted receive buffers; [`UNLIMITED`]: they are not counted.
    receives: u32,
    failed: bool,
}

const _: () = assert!(size_of::<Responder>() <= 160);

const UNLIMITED: u32 = u32::MAX;

/// An answer without payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reply {
    psn: Psn,
    msn: u32,
    syndrome: Syndrome,
}

impl Responder {
    /// A responder that expects numbers from `first` on, with no end of receive buffers.
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
    fn on_packet(&mut self, config: &Config, _now: Time, packet: &Packet) -> Outcome {
        if self.failed || !is_request(packet.opcode) {
            return self.ignore();
        }
        let distance = packet.psn.distance(self.expected());
        match distance.cmp(&0) {
            Ordering::Equal => self.on_expected(config, packet),
            Ordering::Greater => self.on_ahead(config, distance),
            Ordering::Less => self.on_duplicate(config, packet, distance),
        }
    }

    #[inline]
    fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        let output = self.reads.as_mut().and_then(|reads| reads.poll(config.mtu));
        match output {
            Some(Output::Response { seq, opcode, payload_len, msn, source }) => {
                self.counters.responses += 1;
                let aeth = AethRepr { syndrome: Syndrome::ACK, msn };
                let packet = Packet::new(opcode, self.peer, self.psn(seq)).with_payload(payload_len);
                Some(packet.with_aeth(aeth).with_source(source))
            }
            Some(Output::Reply(reply)) => Some(self.send(reply)),
            None => self.reply.take().map(|reply| self.send(reply)),
        }
    }

    #[inline]
    fn has_output(&self) -> bool {
        self.reply.is_some() || self.is_reading()
    }

    #[inline]
    fn is_reading(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| reads.has_output())
    }

    /// The sequence number that comes next (ePSN).
    #[inline]
    fn expected(&self) -> Psn {
        self.psn(self.inbound.expected)
    }

    /// A NAK is out for the expected number, and there will be no other.
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
    /// From now on receive buffers count, and there are `n`.
    pub fn limit_receives(&mut self, n: u32) {
        self.receives = n.min(UNLIMITED - 1);
    }

    /// `n` more receive buffers, where they count.
    pub fn add_receives(&mut self, n: u32) {
        if self.receives != UNLIMITED {
            self.limit_receives(self.receives.saturating_add(n));
        }
    }

    /// Refuses a request instead of executing it, because the host does not permit it. Only the expected packet
    /// can be refused; any other is ignored.
    pub fn refuse(&mut self, packet: &Packet, why: NakCode) -> Outcome {
        if self.failed || !is_request(packet.opcode) || packet.psn != self.expected() {
            return self.ignore();
        }
        self.failed = true;
        self.reply = Some(self.answer(packet.psn, Syndrome::Nak(why)));
        Outcome::Refused
    }

    #[inline]
    fn on_expected(&mut self, config: &Config, packet: &Packet) -> Outcome {
        self.inbound.nak_sent = false;
        let Some(shape) = Shape::of(packet.opcode) else {
            return self.refuse(packet, NakCode::InvalidRequest);
        };
        if let Err(why) = self.inbound.check(config, shape, packet) {
            return self.refuse(packet, why);
        }
        // A SEND needs its buffer from the first packet on. The buffer is taken when the message completes, so that
        // a message that is started again does not take two.
        let wants_buffer = shape.takes_receive(packet) || shape.op == Op::Send && shape.first;
        if wants_buffer && self.receives == 0 {
            return self.on_no_buffer(config, packet.psn);
        }
        self.counters.accepted += 1;
        if shape.op == Op::Read {
            return self.execute_read(config, packet);
        }
        if shape.takes_receive(packet) && self.receives != UNLIMITED {
            self.receives -= 1;
        }
        let (place, len) = self.inbound.accept(shape, packet);
        let completed = shape.last.then(|| {
            self.count_message();
            Message { op: shape.op, len, imm: packet.imm(), msn: self.msn }
        });
        if packet.ack_req() {
            self.say(packet.psn, Syndrome::ACK);
        }
        Outcome::Accepted { place, completed }
    }

    fn execute_read(&mut self, config: &Config, packet: &Packet) -> Outcome {
        let Some(reth) = packet.reth() else { return self.ignore() };
        let first = self.inbound.expected;
        let packets = config.packets(reth.dma_len);
        self.inbound.accept_read(packets);
        self.count_message();
        let reads = self.reads.get_or_insert_default();
        reads.push(first, packets, reth, self.msn, self.reply.take(), config.reads_max);
        let completed = Message { op: Op::Read, len: reth.dma_len, imm: None, msn: self.msn };
        Outcome::Accepted { place: None, completed: Some(completed) }
    }

    /// The requester will come back to this packet; those behind it are dropped silently until then.
    #[cold]
    fn on_no_buffer(&mut self, config: &Config, psn: Psn) -> Outcome {
        self.inbound.nak_sent = true;
        self.say(psn, Syndrome::Rnr { timer: config.rnr_timer });
        Outcome::NotReady
    }

    fn on_ahead(&mut self, config: &Config, distance: i32) -> Outcome {
        self.counters.ahead += 1;
        if config.mend.check_epsn {
            self.inbound.check_round(distance as u64);
        }
        match config.recovery.on_ahead(&mut self.inbound) {
            Ahead::Drop => Outcome::Gap { nak: false },
            Ahead::Nak(missing) => {
                self.say(self.psn(missing), Syndrome::Nak(NakCode::PsnSequence));
                Outcome::Gap { nak: true }
            }
        }
    }

    /// A READ is executed again; anything else is answered with how far things are (IBA 9.7.5).
    fn on_duplicate(&mut self, config: &Config, packet: &Packet, distance: i32) -> Outcome {
        let Some(seq) = self.inbound.expected.checked_add_signed(distance as i64) else {
            return self.ignore();
        };
        if let (Opcode::ReadRequest, Some(reth)) = (packet.opcode, packet.reth()) {
            let known = self.reads.as_mut().is_some_and(|reads| reads.restart(seq, reth, config.mtu));
            if !known {
                return self.ignore();
            }
        } else {
            let latest = self.psn(self.inbound.expected - 1);
            self.say(latest, Syndrome::ACK);
        }
        self.counters.duplicates += 1;
        Outcome::Duplicate
    }

    fn ignore(&mut self) -> Outcome {
        self.counters.ignored += 1;
        Outcome::Ignored
    }

    const fn count_message(&mut self) {
        self.msn = (self.msn + 1) & 0xFF_FFFF;
    }

    const fn answer(&self, psn: Psn, syndrome: Syndrome) -> Reply {
        Reply { psn, msn: self.msn, syndrome }
    }

    /// A newer answer replaces the one that waits: it says the same and more. Except an ACK for what lies before a
    /// waiting NAK, which the NAK says as well.
    #[inline]
    fn say(&mut self, psn: Psn, syndrome: Syndrome) {
        if let Some(waiting) = self.reply {
            if waiting.syndrome.is_nak() && !syndrome.is_nak() && psn.distance(waiting.psn) < 0 {
                self.counters.coalesced += 1;
                return;
            }
            self.counters.coalesced += u32::from(!waiting.syndrome.is_nak());
        }
        self.reply = Some(self.answer(psn, syndrome));
    }

    #[inline]
    fn send(&mut self, reply: Reply) -> Packet {
        match reply.syndrome {
            Syndrome::Ack { .. } => self.counters.acks += 1,
            Syndrome::Rnr { .. } => self.counters.rnr_naks += 1,
            Syndrome::Nak(_) | Syndrome::Reserved(_) => self.counters.naks += 1,
        }
        Packet::acknowledge(self.peer, reply.psn, AethRepr { syndrome: reply.syndrome, msn: reply.msn })
    }

    /// Messages executed: 24 bits.
    #[inline]
    pub fn msn(&self) -> u32 {
        self.msn
    }

    /// It has refused a request for good.
    #[inline]
    pub fn is_error(&self) -> bool {
        self.failed
    }

    #[inline]
    fn psn(&self, seq: u64) -> Psn {
        self.first.ahead(seq as u32)
    }
}

/// Requests of a reliable connection, known here or not; those that are not known get a NAK in their turn.
#[inline]
const fn is_request(opcode: Opcode) -> bool {
    !opcode.is_response() && (opcode as u8) < 0x20
}
