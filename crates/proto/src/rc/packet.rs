//! The headers of a packet of a reliable connection as values.

use std::fmt;

use crate::engine::{Op, StateVisitor};
use wiremend_units::{Psn, QpNum};
use wiremend_wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, Encapsulation, Extension, IethRepr, ImmDtRepr,
    Layout, Opcode, RethRepr, Syndrome,
};

/// The headers of one packet. The opcode determines which extensions are present.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// Destination queue pair.
    pub dest_qp: QpNum,
    /// Sequence number; a response carries the number of its request.
    pub psn: Psn,
    /// Immediate data, or the key to invalidate.
    imm: u32,
    /// Extension headers, by opcode. RETH, and address and key of an atomic request: address (high, low), key, length.
    /// Responses: AETH, key, local address of the payload (high, low); or AETH, unused, old value (high, low).
    extension: [u32; 4],
    /// Payload bytes without padding.
    pub payload_len: u16,
    /// Opcode.
    pub opcode: Opcode,
    flags: u8,
}

/// Two packets fit in a cache line.
const _: () = assert!(size_of::<Packet>() == 32 && align_of::<Packet>() == 4);

const ACK_REQ: u8 = 1;
const SOLICITED: u8 = 2;

const MSN_MASK: u32 = (1 << 24) - 1;

impl Packet {
    /// Creates a packet without extensions, payload or flags.
    #[inline]
    pub const fn new(opcode: Opcode, dest_qp: QpNum, psn: Psn) -> Self {
        Self { dest_qp, psn, imm: 0, extension: [0; 4], payload_len: 0, opcode, flags: 0 }
    }

    /// Creates an ACK, NAK or RNR NAK.
    #[inline]
    pub const fn acknowledge(dest_qp: QpNum, psn: Psn, aeth: AethRepr) -> Self {
        Self::new(Opcode::Acknowledge, dest_qp, psn).with_aeth(aeth)
    }

    /// Creates a congestion notification packet (IBA A17.9.3).
    #[inline]
    pub const fn cnp(dest_qp: QpNum) -> Self {
        Self::new(Opcode::Cnp, dest_qp, Psn::new(0))
    }

    /// Sets the RETH; ignored if the opcode has none.
    #[inline]
    pub const fn with_reth(mut self, reth: RethRepr) -> Self {
        self.extension = [(reth.address >> 32) as u32, reth.address as u32, reth.remote_key, reth.dma_len];
        self
    }

    /// Sets the AETH; ignored if the opcode has none.
    #[inline]
    pub const fn with_aeth(mut self, aeth: AethRepr) -> Self {
        self.extension[0] = (aeth.syndrome.to_byte() as u32) << 24 | (aeth.msn & MSN_MASK);
        self
    }

    /// Sets the immediate data, or the key to invalidate; ignored if the opcode has neither.
    #[inline]
    pub const fn with_imm(mut self, imm: u32) -> Self {
        self.imm = imm;
        self
    }

    /// Sets the payload length.
    #[inline]
    pub const fn with_payload(mut self, len: u16) -> Self {
        self.payload_len = len;
        self
    }

    /// Sets or clears the `AckReq` bit.
    #[inline]
    pub const fn with_ack_req(mut self, wanted: bool) -> Self {
        self.flags = if wanted { self.flags | ACK_REQ } else { self.flags & !ACK_REQ };
        self
    }

    /// Sets or clears the solicited event bit.
    #[inline]
    pub const fn with_solicited(mut self, wanted: bool) -> Self {
        self.flags = if wanted { self.flags | SOLICITED } else { self.flags & !SOLICITED };
        self
    }

    /// Sets the local address of the payload of a READ response and the key by which it was requested.
    #[inline]
    pub(super) const fn with_source(mut self, key: u32, addr: u64) -> Self {
        self.extension[1] = key;
        self.extension[2] = (addr >> 32) as u32;
        self.extension[3] = addr as u32;
        self
    }

    /// Visits the headers of a packet of the connection whose numbers are the sequence `of`.
    #[inline]
    pub fn visit_state(&mut self, visitor: &mut impl StateVisitor, of: u64) {
        let Self { dest_qp, psn, imm, extension: [a, b, c, d], payload_len, opcode, flags } = self;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        visitor.psn(of, psn);
        visitor.exact(pair(dest_qp.get(), *imm));
        visitor.exact(pair(*a, *b));
        visitor.exact(pair(*c, *d));
        visitor.exact(u64::from(*payload_len) << 16 | (*opcode as u64) << 8 | u64::from(*flags));
    }

    /// Returns the RETH, if the opcode has one.
    #[inline]
    pub const fn reth(&self) -> Option<RethRepr> {
        if !self.opcode.has_reth() {
            return None;
        }
        let [high, low, remote_key, dma_len] = self.extension;
        Some(RethRepr { address: (high as u64) << 32 | low as u64, remote_key, dma_len })
    }

    /// Returns address, key and length of the memory that a WRITE, READ or atomic operation accesses.
    #[inline]
    pub const fn target(&self) -> Option<RethRepr> {
        if !self.opcode.has_reth() && !matches!(self.opcode.layout(), Layout::AtomicEth) {
            return None;
        }
        let [high, low, remote_key, dma_len] = self.extension;
        Some(RethRepr { address: (high as u64) << 32 | low as u64, remote_key, dma_len })
    }

    /// Returns whether this is an empty WRITE without a memory key, or an empty READ: see [`crate::mend::Dummies`].
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        let [.., remote_key, dma_len] = self.extension;
        match self.opcode {
            Opcode::WriteOnly => remote_key == 0 && dma_len == 0,
            Opcode::ReadRequest => dma_len == 0,
            _ => false,
        }
    }

    /// Returns the AETH, if the opcode has one.
    #[inline]
    pub const fn aeth(&self) -> Option<AethRepr> {
        if !self.opcode.has_aeth() {
            return None;
        }
        let syndrome = Syndrome::from_byte((self.extension[0] >> 24) as u8);
        Some(AethRepr { syndrome, msn: self.extension[0] & MSN_MASK })
    }

    /// Returns the immediate data, if the opcode has them.
    #[inline]
    pub const fn imm(&self) -> Option<u32> {
        if self.opcode.has_imm() { Some(self.imm) } else { None }
    }

    /// Returns the key that the receiver invalidates, if the opcode has one.
    #[inline]
    pub const fn invalidate(&self) -> Option<u32> {
        if matches!(self.opcode.layout(), Layout::Ieth) { Some(self.imm) } else { None }
    }

    /// Local address of the payload of a READ response at its sender. It is not on the wire and is undefined
    /// in a received packet.
    #[inline]
    pub const fn source(&self) -> Option<u64> {
        if !self.opcode.is_read_response() {
            return None;
        }
        Some((self.extension[2] as u64) << 32 | self.extension[3] as u64)
    }

    /// The key by which a READ response was requested. Like [`Self::source`], it is not on the wire.
    #[inline]
    pub const fn source_key(&self) -> u32 {
        self.extension[1]
    }

    /// Returns the value before an atomic operation, if this is its response.
    #[inline]
    pub const fn original(&self) -> Option<u64> {
        if !matches!(self.opcode, Opcode::AtomicAcknowledge) {
            return None;
        }
        Some((self.extension[2] as u64) << 32 | self.extension[3] as u64)
    }

    /// Converts to wire headers, in the default partition and without congestion marks. The operands of an atomic
    /// request are zero: the host sets them.
    ///
    /// # Panics
    ///
    /// If the opcode is one of a datagram. No core sends such a packet.
    pub fn to_wire(&self) -> (BthRepr, Extension) {
        if self.opcode == Opcode::Cnp {
            return (BthRepr::cnp(self.dest_qp), Extension::Cnp);
        }
        let bth = BthRepr {
            solicited: self.solicited(),
            ack_request: self.ack_req(),
            ..BthRepr::new(self.opcode, self.dest_qp, self.psn)
        };
        let extension = match (self.opcode.layout(), self.aeth(), self.target()) {
            (Layout::Aeth, Some(aeth), _) => Extension::Aeth(aeth),
            (Layout::AethAtomicAck, Some(aeth), _) => {
                let original = self.original().unwrap_or_default();
                Extension::AethAtomicAck(aeth, AtomicAckEthRepr { original })
            }
            (Layout::AtomicEth, _, Some(RethRepr { address, remote_key, .. })) => {
                Extension::AtomicEth(AtomicEthRepr { address, remote_key, swap_or_add: 0, compare: 0 })
            }
            (Layout::Ieth, ..) => Extension::Ieth(IethRepr(self.imm)),
            (_, _, reth) => request_extension(self.opcode, reth, self.imm),
        };
        (bth, extension)
    }

    /// Converts from wire headers. Extension headers that this type cannot hold are dropped: the operands of an atomic
    /// request, which are content, and the headers of datagrams, whose BTH is enough to ignore them.
    ///
    /// # Panics
    ///
    /// If the extension headers do not match the opcode; headers parsed from one frame match.
    pub fn from_wire(bth: &BthRepr, extension: &Extension, payload_len: u16) -> Self {
        assert_eq!(extension.layout(), bth.opcode.layout(), "the extension headers must match the opcode");
        let mut packet = Self::new(bth.opcode, bth.dest_qp, bth.psn)
            .with_payload(payload_len)
            .with_ack_req(bth.ack_request)
            .with_solicited(bth.solicited);
        if let Some(reth) = extension.reth() {
            packet = packet.with_reth(*reth);
        }
        if let Some(aeth) = extension.aeth() {
            packet = packet.with_aeth(*aeth);
        }
        if let Some(imm) = extension.imm() {
            packet = packet.with_imm(imm.0);
        }
        match extension {
            Extension::Ieth(key) => packet.with_imm(key.0),
            Extension::AtomicEth(AtomicEthRepr { address, remote_key, .. }) => packet.with_reth(RethRepr {
                address: *address,
                remote_key: *remote_key,
                dma_len: Op::ATOMIC_LEN,
            }),
            Extension::AethAtomicAck(_, atomic) => packet.with_source(0, atomic.original),
            _ => packet,
        }
    }

    /// Length of the Ethernet frame over IPv4, from MAC header to frame check sequence.
    #[inline]
    pub const fn frame_len(&self) -> u16 {
        frame_len(self.opcode, self.payload_len)
    }

    /// Returns whether the sender requests an acknowledgement.
    #[inline]
    pub const fn ack_req(&self) -> bool {
        self.flags & ACK_REQ != 0
    }

    /// Returns whether the receiver raises an event when the message completes.
    #[inline]
    pub const fn solicited(&self) -> bool {
        self.flags & SOLICITED != 0
    }

    /// Returns whether this is a NAK, "receiver not ready" included.
    #[inline]
    pub const fn is_nak(&self) -> bool {
        matches!(self.opcode, Opcode::Acknowledge)
            && Syndrome::from_byte((self.extension[0] >> 24) as u8).is_nak()
    }
}

/// Builds the extension headers of a request.
///
/// # Panics
///
/// If the opcode has other extension headers, or if its RETH is missing.
pub(crate) fn request_extension(opcode: Opcode, reth: Option<RethRepr>, imm: u32) -> Extension {
    let imm = ImmDtRepr(imm);
    match (opcode.layout(), reth) {
        (Layout::Bare, _) => Extension::Bare,
        (Layout::Imm, _) => Extension::Imm(imm),
        (Layout::Reth, Some(reth)) => Extension::Reth(reth),
        (Layout::RethImm, Some(reth)) => Extension::RethImm(reth, imm),
        _ => panic!("{opcode} is not sent on a reliable connection"),
    }
}

/// Length of a frame over IPv4 with this opcode and payload length.
#[inline]
pub const fn frame_len(opcode: Opcode, payload: u16) -> u16 {
    wiremend_wire::frame_len(opcode, payload as u32, Encapsulation::IPV4) as u16
}

/// `WriteFirst psn 7 len 1024 ackreq`, `Nak(PsnSequence) psn 5 msn 0`.
impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (Opcode::Acknowledge, Some(aeth)) = (self.opcode, self.aeth()) {
            match aeth.syndrome {
                Syndrome::Ack { .. } => f.write_str("Ack")?,
                Syndrome::Rnr { timer } => write!(f, "Rnr({})", timer.code())?,
                Syndrome::Nak(code) => write!(f, "Nak({code:?})")?,
                Syndrome::Reserved(byte) => write!(f, "Reserved({byte:#04x})")?,
            }
            return write!(f, " psn {} msn {}", self.psn, aeth.msn);
        }
        write!(f, "{:?} psn {}", self.opcode, self.psn)?;
        match (self.opcode, self.reth()) {
            (Opcode::ReadRequest, Some(reth)) => write!(f, " addr {:#x} len {}", reth.address, reth.dma_len)?,
            _ => write!(f, " len {}", self.payload_len)?,
        }
        if self.ack_req() { f.write_str(" ackreq") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use wiremend_wire::{DethRepr, NakCode};

    use super::*;

    #[test]
    fn extensions_are_returned_only_where_the_opcode_has_them() {
        let reth = RethRepr { address: 0x1234_5678_9ABC_DEF0, remote_key: 7, dma_len: 4096 };
        let aeth = AethRepr { syndrome: Syndrome::from_byte(0x29), msn: 0xFF_FFFF };
        let packet = |opcode| Packet::new(opcode, QpNum::new(3), Psn::new(5));
        assert_eq!(packet(Opcode::WriteFirst).with_reth(reth).reth(), Some(reth));
        assert_eq!(packet(Opcode::WriteMiddle).with_reth(reth).reth(), None);
        assert_eq!(packet(Opcode::Acknowledge).with_aeth(aeth).aeth(), Some(aeth));
        assert_eq!(packet(Opcode::ReadResponseMiddle).with_aeth(aeth).aeth(), None);
        assert_eq!(packet(Opcode::SendOnlyImm).with_imm(8).imm(), Some(8));
        assert_eq!(packet(Opcode::SendOnly).with_imm(8).imm(), None);
        let response = packet(Opcode::ReadResponseLast).with_source(5, u64::MAX - 3).with_aeth(aeth);
        assert_eq!((response.source_key(), response.original()), (5, None));
        assert_eq!((response.source(), response.aeth()), (Some(u64::MAX - 3), Some(aeth)));
    }

    #[test]
    fn packets_of_a_connection_round_trip_through_wire_headers() {
        let aeth = AethRepr { syndrome: Syndrome::ACK, msn: 9 };
        let reth = RethRepr { address: u64::MAX - 9, remote_key: 7, dma_len: 4096 };
        let mut sent = 0;
        for opcode in Opcode::ALL {
            let mut packet = Packet::new(opcode, QpNum::new(3), Psn::new(5)).with_payload(100);
            packet = match opcode.layout() {
                Layout::Bare => packet.with_ack_req(true),
                Layout::Imm => packet.with_imm(8).with_solicited(true),
                Layout::Reth => packet.with_reth(reth),
                Layout::RethImm => packet.with_reth(reth).with_imm(8),
                Layout::Aeth => packet.with_aeth(aeth),
                Layout::AethAtomicAck => packet.with_aeth(aeth).with_source(0, u64::MAX - 3),
                Layout::AtomicEth => packet.with_reth(RethRepr { dma_len: Op::ATOMIC_LEN, ..reth }),
                Layout::Ieth => packet.with_imm(8),
                _ => continue,
            };
            let (bth, extension) = packet.to_wire();
            assert_eq!(extension.layout(), opcode.layout());
            assert_eq!(Packet::from_wire(&bth, &extension, 100), packet);
            sent += 1;
        }
        assert_eq!(sent, 24, "23 operations of reliable connections and the one of unreliable ones");
        let cnp = Packet::cnp(QpNum::new(3));
        let (bth, extension) = cnp.to_wire();
        assert!(bth.becn && extension == Extension::Cnp);
        assert_eq!(Packet::from_wire(&bth, &extension, 0), cnp);
        let response = Packet::new(Opcode::ReadResponseOnly, QpNum::new(3), Psn::new(5)).with_aeth(aeth);
        let (bth, extension) = response.with_source(0, 64).to_wire();
        assert_eq!(Packet::from_wire(&bth, &extension, 0), response, "the local address is not on the wire");
    }

    #[test]
    fn an_unsupported_opcode_keeps_the_headers_needed_to_ignore_it() {
        let bth = BthRepr::new(Opcode::UdSendOnly, QpNum::new(3), Psn::new(5));
        let deth = DethRepr { queue_key: 1, source_qp: QpNum::new(2) };
        let packet = Packet::from_wire(&bth, &Extension::Deth(deth), 100);
        assert_eq!(packet, Packet::new(bth.opcode, bth.dest_qp, bth.psn).with_payload(100));
    }

    #[test]
    fn packets_are_displayed_in_a_short_form() {
        let qp = QpNum::new(3);
        let sequence = AethRepr { syndrome: Syndrome::Nak(NakCode::PsnSequence), msn: 2 };
        let nak = Packet::acknowledge(qp, Psn::new(5), sequence);
        assert_eq!(nak.to_string(), "Nak(PsnSequence) psn 5 msn 2");
        assert!(nak.is_nak());
        let write = Packet::new(Opcode::WriteLast, qp, Psn::new(9)).with_payload(100).with_ack_req(true);
        assert_eq!(write.to_string(), "WriteLast psn 9 len 100 ackreq");
        assert!(!write.is_nak() && !write.with_ack_req(false).ack_req());
    }
}
