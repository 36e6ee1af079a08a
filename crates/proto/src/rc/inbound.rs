//! The receiving side of a responder: which packet comes next and what message it belongs to.

use wiremend_wire::{NakCode, Opcode, RethRepr};

use super::config::Config;
use super::packet::Packet;
use crate::engine::{Op, Place};

/// Numbers count from 0 without wrapping, as in the requester.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbound {
    /// The packet that comes next.
    pub(super) expected: u64,
    /// The first packet of the message that `expected` belongs to.
    message_first: u64,
    /// A NAK for `expected` is out; there is no second one.
    pub(super) nak_sent: bool,
    /// The last packet that came too early, where somebody wants to know.
    last_ahead: u64,
    /// The operation that is under way, between FIRST and LAST.
    open: Option<Op>,
    /// Bytes of the message received so far; 0 between messages.
    offset: u32,
    /// Bytes of the whole message and their address, for WRITE.
    len: u32,
    addr: u64,
}

/// The place of a packet in its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) op: Op,
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl Shape {
    /// What a request is; `None` for everything that is no SEND, WRITE or READ.
    #[inline]
    pub(crate) const fn of(opcode: Opcode) -> Option<Self> {
        let (op, first, last) = match opcode {
            Opcode::SendFirst => (Op::Send, true, false),
            Opcode::SendMiddle => (Op::Send, false, false),
            Opcode::SendLast | Opcode::SendLastImm => (Op::Send, false, true),
            Opcode::SendOnly | Opcode::SendOnlyImm => (Op::Send, true, true),
            Opcode::WriteFirst => (Op::Write, true, false),
            Opcode::WriteMiddle => (Op::Write, false, false),
            Opcode::WriteLast | Opcode::WriteLastImm => (Op::Write, false, true),
            Opcode::WriteOnly | Opcode::WriteOnlyImm => (Op::Write, true, true),
            Opcode::ReadRequest => (Op::Read, true, true),
            _ => return None,
        };
        Some(Self { op, first, last })
    }

    /// The opcode of a SEND or WRITE packet.
    #[inline]
    pub(crate) const fn opcode(self, imm: bool) -> Opcode {
        match (self.op, self.first, self.last) {
            (Op::Send, true, false) => Opcode::SendFirst,
            (Op::Send, false, false) => Opcode::SendMiddle,
            (Op::Send, false, true) if imm => Opcode::SendLastImm,
            (Op::Send, false, true) => Opcode::SendLast,
            (Op::Send, true, true) if imm => Opcode::SendOnlyImm,
            (Op::Send, true, true) => Opcode::SendOnly,
            (Op::Write, true, false) => Opcode::WriteFirst,
            (Op::Write, false, false) => Opcode::WriteMiddle,
            (Op::Write, false, true) if imm => Opcode::WriteLastImm,
            (Op::Write, false, true) => Opcode::WriteLast,
            (Op::Write, true, true) if imm => Opcode::WriteOnlyImm,
            (Op::Write, true, true) => Opcode::WriteOnly,
            (Op::Read, ..) => Opcode::ReadRequest,
        }
    }

    /// The message takes a receive buffer when it completes.
    #[inline]
    pub(crate) fn takes_receive(self, packet: &Packet) -> bool {
        self.last && (self.op == Op::Send || packet.opcode.has_imm())
    }
}

impl Inbound {
    /// A packet `distance` before its turn. If it starts a round of packets that were sent again, what is missing was
    /// among them and is lost again: it may be asked for once more.
    #[cold]
    pub(super) fn check_round(&mut self, distance: u64) {
        let ahead = self.expected + distance;
        self.nak_sent &= ahead > self.last_ahead;
        self.last_ahead = ahead;
    }

    /// Whether the expected packet keeps the rules for opcodes and lengths (IBA 9.7.4).
    #[inline]
    pub(super) fn check(&self, config: &Config, shape: Shape, packet: &Packet) -> Result<(), NakCode> {
        let in_sequence = if shape.first { self.open.is_none() } else { self.open == Some(shape.op) };
        if !in_sequence || !payload_fits(config, shape, packet.payload_len) {
            return Err(NakCode::InvalidRequest);
        }
        match packet.reth() {
            Some(reth) => check_reth(shape, packet, reth),
            None if shape.op == Op::Write => self.check_write(shape, packet),
            None if self.offset > Config::MESSAGE_LEN_MAX - packet.payload_len as u32 => {
                Err(NakCode::InvalidRequest)
            }
            None => Ok(()),
        }
    }

    /// A WRITE ends exactly where its first packet said.
    #[inline]
    fn check_write(&self, shape: Shape, packet: &Packet) -> Result<(), NakCode> {
        let received = self.offset + packet.payload_len as u32;
        let right = if shape.last { received == self.len } else { received < self.len };
        if right { Ok(()) } else { Err(NakCode::InvalidRequest) }
    }

    /// Takes a SEND or WRITE packet that was checked. Says where its payload goes and how long the message is so far.
    #[inline]
    pub(super) fn accept(&mut self, shape: Shape, packet: &Packet) -> (Option<Place>, u32) {
        if shape.first {
            (self.addr, self.len) = packet.reth().map_or((0, 0), |reth| (reth.address, reth.dma_len));
        }
        let place = Place { addr: self.addr, offset: self.offset, len: packet.payload_len };
        let len = self.offset + packet.payload_len as u32;
        self.expected += 1;
        if shape.last {
            self.open = None;
            self.offset = 0;
            self.message_first = self.expected;
        } else {
            self.open = Some(shape.op);
            self.offset = len;
        }
        ((place.len > 0).then_some(place), len)
    }

    /// Takes a READ request, which is a message of its own.
    pub(super) const fn accept_read(&mut self, packets: u32) {
        self.expected += packets as u64;
        self.message_first = self.expected;
    }

    /// The missing number to ask for, unless that was done: one NAK per expected number (IBA 9.7.5).
    #[inline]
    pub(super) const fn ask_once(&mut self) -> Option<u64> {
        if self.nak_sent {
            return None;
        }
        self.nak_sent = true;
        Some(self.expected)
    }

    /// Forgets what was received of the message that is under way.
    pub(super) const fn restart_message(&mut self) {
        self.expected = self.message_first;
        self.open = None;
        self.offset = 0;
    }
}

/// FIRST and MIDDLE are full, LAST is not empty, ONLY may be anything up to full, a READ request carries nothing.
#[inline]
pub(crate) fn payload_fits(config: &Config, shape: Shape, len: u16) -> bool {
    match (shape.op, shape.first, shape.last) {
        (Op::Read, ..) => len == 0,
        (_, _, false) => len == config.mtu,
        (_, false, true) => (1..=config.mtu).contains(&len),
        (_, true, true) => len <= config.mtu,
    }
}

pub(crate) fn check_reth(shape: Shape, packet: &Packet, reth: RethRepr) -> Result<(), NakCode> {
    let payload = packet.payload_len as u32;
    let right = match (shape.op, shape.last) {
        (Op::Read, _) => true,
        (_, true) => reth.dma_len == payload,
        (_, false) => reth.dma_len > payload,
    };
    if !right || reth.dma_len > Config::MESSAGE_LEN_MAX {
        return Err(NakCode::InvalidRequest);
    }
    // An empty access touches no memory, so its address is never looked at (IBA 9.7.4).
    let ends = reth.address.checked_add(reth.dma_len as u64);
    if reth.dma_len > 0 && ends.is_none() { Err(NakCode::RemoteAccess) } else { Ok(()) }
}
