//! Receive state of a responder: the expected packet and the message it belongs to.

use wiremend_wire::{NakCode, Opcode, RethRepr};

use super::config::Config;
use super::packet::Packet;
use crate::engine::{Op, Placement, StateKind, StateVisitor};

/// Numbers count from 0 without wrapping, as in the requester.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbound {
    /// The expected packet.
    pub(super) expected: u64,
    /// First packet of the message that contains `expected`.
    message_first: u64,
    /// Whether a NAK for `expected` was sent. Only one is sent.
    pub(super) nak_sent: bool,
    /// Last packet received out of sequence, for [`Self::detect_new_round`].
    last_out_of_sequence: u64,
    /// Operation of the incomplete message, between FIRST and LAST.
    open: Option<Op>,
    /// Bytes received of the incomplete message; 0 between messages.
    offset: u32,
    /// Length of the message and its address, for WRITE.
    len: u32,
    addr: u64,
}

/// Operation and position of a packet in its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketShape {
    pub(crate) op: Op,
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl PacketShape {
    /// Decodes an opcode of a reliable connection, which has more operations than other transports.
    #[inline]
    pub(crate) const fn from_rc_opcode(opcode: Opcode) -> Option<Self> {
        let (op, first, last) = match opcode {
            Opcode::SendLastInvalidate => (Op::Send, false, true),
            Opcode::SendOnlyInvalidate => (Op::Send, true, true),
            Opcode::CompareSwap => (Op::CompareSwap, true, true),
            Opcode::FetchAdd => (Op::FetchAdd, true, true),
            _ => return Self::from_opcode(opcode),
        };
        Some(Self { op, first, last })
    }

    /// Decodes an opcode; `None` for anything but SEND, WRITE and READ requests.
    #[inline]
    pub(crate) const fn from_opcode(opcode: Opcode) -> Option<Self> {
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

    /// Opcode of a SEND or WRITE packet.
    #[inline]
    pub(crate) const fn opcode(self, imm: bool) -> Opcode {
        match (self.op, self.first, self.last) {
            (Op::Send | Op::SendInvalidate, true, false) => Opcode::SendFirst,
            (Op::Send | Op::SendInvalidate, false, false) => Opcode::SendMiddle,
            (Op::SendInvalidate, false, true) => Opcode::SendLastInvalidate,
            (Op::SendInvalidate, true, true) => Opcode::SendOnlyInvalidate,
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
            (Op::FetchAdd, ..) => Opcode::FetchAdd,
            (Op::CompareSwap, ..) => Opcode::CompareSwap,
        }
    }

    /// Whether the message consumes a receive buffer when it completes.
    #[inline]
    pub(crate) fn consumes_receive_buffer(self, packet: &Packet) -> bool {
        self.last && (self.op == Op::Send || packet.opcode.has_imm())
    }
}

impl Inbound {
    /// Visits the state of a responder that gets one packet of a message after the other. Each packet but the last
    /// must find room in the message, and the last one does not belong to the pattern.
    pub(super) fn visit_state(&mut self, visitor: &mut impl StateVisitor, of: u64) {
        let open = self.open.map_or(0, |op| op as u64 + 1);
        let end = if self.open == Some(Op::Write) { self.len } else { Config::MESSAGE_LEN_MAX };
        visitor.sequence(of, &mut self.expected, u64::MAX);
        visitor.exact(self.nak_sent);
        visitor.exact(open);
        let room = u64::from(end.saturating_sub(self.offset).saturating_sub(1));
        self.offset = visitor.visit(StateKind::Growing { room }, self.offset.into()) as u32;
        visitor.exact(self.message_first);
        visitor.exact(self.last_out_of_sequence);
        visitor.exact(self.addr);
        visitor.exact(self.len);
    }

    /// Handles a packet `distance` beyond the expected one. If a new round of retransmissions starts with it,
    /// the expected packet of that round was lost as well, and another NAK is permitted.
    #[cold]
    pub(super) fn detect_new_round(&mut self, distance: u64) {
        let ahead = self.expected + distance;
        self.nak_sent &= ahead > self.last_out_of_sequence;
        self.last_out_of_sequence = ahead;
    }

    /// Checks the opcode sequence and the lengths of the expected packet (IBA 9.7.4).
    #[inline]
    pub(super) fn check(&self, config: &Config, shape: PacketShape, packet: &Packet) -> Result<(), NakCode> {
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

    /// Checks that a WRITE has the length in its RETH.
    #[inline]
    fn check_write(&self, shape: PacketShape, packet: &Packet) -> Result<(), NakCode> {
        let received = self.offset + packet.payload_len as u32;
        let right = if shape.last { received == self.len } else { received < self.len };
        if right { Ok(()) } else { Err(NakCode::InvalidRequest) }
    }

    /// Accepts a checked SEND or WRITE packet. Returns where its payload goes and the message length so far.
    #[inline]
    pub(super) fn accept(&mut self, shape: PacketShape, packet: &Packet) -> (Option<Placement>, u32) {
        if shape.first {
            (self.addr, self.len) = packet.reth().map_or((0, 0), |reth| (reth.address, reth.dma_len));
        }
        let placement = Placement { addr: self.addr, offset: self.offset, len: packet.payload_len };
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
        ((placement.len > 0).then_some(placement), len)
    }

    /// Accepts a READ or atomic request, which is a complete message.
    pub(super) const fn accept_read(&mut self, packets: u32) {
        self.expected += packets as u64;
        self.message_first = self.expected;
    }

    /// Returns the number for a NAK, unless one was sent: one NAK for each expected number (IBA 9.7.5).
    #[inline]
    pub(super) const fn take_nak_seq(&mut self) -> Option<u64> {
        if self.nak_sent {
            return None;
        }
        self.nak_sent = true;
        Some(self.expected)
    }

    /// Discards the received part of the incomplete message.
    pub(super) const fn restart_message(&mut self) {
        self.expected = self.message_first;
        self.open = None;
        self.offset = 0;
    }
}

/// Checks the payload length: FIRST and MIDDLE are full, LAST is not empty, ONLY is at most full, a READ
/// or atomic request is empty.
#[inline]
pub(crate) fn payload_fits(config: &Config, shape: PacketShape, len: u16) -> bool {
    match (shape.op, shape.first, shape.last) {
        (Op::Read | Op::FetchAdd | Op::CompareSwap, ..) => len == 0,
        (_, _, false) => len == config.mtu,
        (_, false, true) => (1..=config.mtu).contains(&len),
        (_, true, true) => len <= config.mtu,
    }
}

pub(crate) fn check_reth(shape: PacketShape, packet: &Packet, reth: RethRepr) -> Result<(), NakCode> {
    let payload = packet.payload_len as u32;
    let right = match (shape.op, shape.last) {
        (Op::Read, _) => true,
        (_, true) => reth.dma_len == payload,
        (_, false) => reth.dma_len > payload,
    };
    if !right || reth.dma_len > Config::MESSAGE_LEN_MAX {
        return Err(NakCode::InvalidRequest);
    }
    // An empty access touches no memory, so its address is not checked (IBA 9.7.4).
    let ends = reth.address.checked_add(reth.dma_len as u64);
    if reth.dma_len > 0 && ends.is_none() { Err(NakCode::RemoteAccess) } else { Ok(()) }
}
