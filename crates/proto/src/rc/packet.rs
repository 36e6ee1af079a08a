//! A packet of a reliable connection as a value: what its headers say, without bytes.

use std::fmt;

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{AethRepr, BthRepr, Extension, ImmDtRepr, Layout, Opcode, RethRepr, Syndrome};

/// The headers of one packet. The opcode tells which extensions mean something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The queue pair that shall receive it.
    pub dest_qp: QpNum,
    /// Its sequence number; an answer carries the number of the request it answers.
    pub psn: Psn,
    imm: u32,
    /// RETH: address (high, low), key, length. Responses: AETH, unused, local address of the payload (high, low).
    /// Packets of [`crate::dcp`]: see there.
    ext: [u32; 4],
    /// Bytes of payload, without padding.
    pub payload_len: u16,
    /// What it is.
    pub opcode: Opcode,
    flags: u8,
}

/// Two packets fit in a cache line.
const _: () = assert!(size_of::<Packet>() == 32 && align_of::<Packet>() == 4);

const ACK_REQ: u8 = 1;
const SOLICITED: u8 = 2;
const TRIMMED: u8 = 4;
const BOUNCED: u8 = 8;
const PLACED: u8 = 16;
/// Of a request: a question. Of an answer: the wish to count anew.
const PROBE: u8 = 32;
const MARKED: u8 = 64;
const UNIT_END: u8 = 128;

const MSN_MASK: u32 = (1 << 24) - 1;

impl Packet {
    /// A packet without extensions, payload or flags.
    #[inline]
    pub const fn new(opcode: Opcode, dest_qp: QpNum, psn: Psn) -> Self {
        Self { dest_qp, psn, imm: 0, ext: [0; 4], payload_len: 0, opcode, flags: 0 }
    }

    /// An ACK, NAK or RNR NAK.
    #[inline]
    pub const fn acknowledge(dest_qp: QpNum, psn: Psn, aeth: AethRepr) -> Self {
        Self::new(Opcode::Acknowledge, dest_qp, psn).with_aeth(aeth)
    }

    /// A congestion notification (IBA A17.9.3).
    #[inline]
    pub const fn cnp(dest_qp: QpNum) -> Self {
        Self::new(Opcode::Cnp, dest_qp, Psn::new(0))
    }

    /// The same with a RETH; it counts only if the opcode has one.
    #[inline]
    pub const fn with_reth(mut self, reth: RethRepr) -> Self {
        self.ext = [(reth.address >> 32) as u32, reth.address as u32, reth.remote_key, reth.dma_len];
        self
    }

    /// The same with an AETH; it counts only if the opcode has one.
    #[inline]
    pub const fn with_aeth(mut self, aeth: AethRepr) -> Self {
        self.ext[0] = (aeth.syndrome.to_byte() as u32) << 24 | (aeth.msn & MSN_MASK);
        self
    }

    /// The same with immediate data; it counts only if the opcode has them.
    #[inline]
    pub const fn with_imm(mut self, imm: u32) -> Self {
        self.imm = imm;
        self
    }

    /// The same with that much payload.
    #[inline]
    pub const fn with_payload(mut self, len: u16) -> Self {
        self.payload_len = len;
        self
    }

    /// The same with the `AckReq` bit set or cleared.
    #[inline]
    pub const fn with_ack_req(mut self, wanted: bool) -> Self {
        self.flags = if wanted { self.flags | ACK_REQ } else { self.flags & !ACK_REQ };
        self
    }

    /// The same with the solicited event bit set or cleared.
    #[inline]
    pub const fn with_solicited(mut self, wanted: bool) -> Self {
        self.flags = if wanted { self.flags | SOLICITED } else { self.flags & !SOLICITED };
        self
    }

    /// The same with the local address that a READ response takes its payload from.
    #[inline]
    pub(super) const fn with_source(mut self, addr: u64) -> Self {
        self.ext[2] = (addr >> 32) as u32;
        self.ext[3] = addr as u32;
        self
    }

    /// The same with words behind the AETH of an acknowledgement: what a scheme says beyond it.
    #[inline]
    pub(crate) const fn with_said(mut self, words: [u32; 3]) -> Self {
        self.ext = [self.ext[0], words[0], words[1], words[2]];
        self
    }

    /// What an acknowledgement says behind its AETH.
    #[inline]
    pub(crate) const fn said(&self) -> [u32; 3] {
        [self.ext[1], self.ext[2], self.ext[3]]
    }

    /// The RETH that every packet carries where packets are placed out of order, whatever the opcode.
    #[inline]
    pub(crate) const fn placement(&self) -> RethRepr {
        let address = (self.ext[0] as u64) << 32 | self.ext[1] as u64;
        RethRepr { address, remote_key: self.ext[2], dma_len: self.ext[3] }
    }

    /// The RETH, if the opcode has one.
    #[inline]
    pub const fn reth(&self) -> Option<RethRepr> {
        if !self.opcode.has_reth() {
            return None;
        }
        let address = (self.ext[0] as u64) << 32 | self.ext[1] as u64;
        // A packet that carries its own place describes no other bytes than its own.
        let dma_len = if self.is_placed() { self.payload_len as u32 } else { self.ext[3] };
        Some(RethRepr { address, remote_key: self.ext[2], dma_len })
    }

    /// A WRITE or READ of no bytes that names no memory: see [`crate::mend::Dummies`].
    #[inline]
    pub const fn is_dummy(&self) -> bool {
        matches!(self.opcode, Opcode::WriteOnly | Opcode::ReadRequest)
            && self.ext[2] == 0
            && self.ext[3] == 0
            && !self.is_placed()
    }

    /// The AETH, if the opcode has one.
    #[inline]
    pub const fn aeth(&self) -> Option<AethRepr> {
        if !self.opcode.has_aeth() {
            return None;
        }
        let syndrome = Syndrome::from_byte((self.ext[0] >> 24) as u8);
        Some(AethRepr { syndrome, msn: self.ext[0] & MSN_MASK })
    }

    /// The immediate data, if the opcode has them.
    #[inline]
    pub const fn imm(&self) -> Option<u32> {
        if self.opcode.has_imm() { Some(self.imm) } else { None }
    }

    /// Where a host that sends this READ response finds the payload in its memory. Local knowledge: it is not on
    /// the wire, and means nothing in a packet that was received.
    #[inline]
    pub const fn source(&self) -> Option<u64> {
        if !self.opcode.is_read_response() {
            return None;
        }
        Some((self.ext[2] as u64) << 32 | self.ext[3] as u64)
    }

    /// The headers that say the same on the wire, in the default partition and without congestion marks.
    ///
    /// # Panics
    ///
    /// If the operation has extension headers for which this value has no room: those of atomics, invalidation and
    /// datagrams. No core sends such a packet.
    pub fn to_wire(&self) -> (BthRepr, Extension) {
        if self.opcode == Opcode::Cnp {
            return (BthRepr::cnp(self.dest_qp), Extension::Cnp);
        }
        let bth = BthRepr {
            solicited: self.solicited(),
            ack_request: self.ack_req(),
            ..BthRepr::new(self.opcode, self.dest_qp, self.psn)
        };
        let imm = ImmDtRepr(self.imm);
        let extension = match (self.opcode.layout(), self.reth(), self.aeth()) {
            (Layout::Bare, ..) => Extension::Bare,
            (Layout::Imm, ..) => Extension::Imm(imm),
            (Layout::Reth, Some(reth), _) => Extension::Reth(reth),
            (Layout::RethImm, Some(reth), _) => Extension::RethImm(reth, imm),
            (Layout::Aeth, _, Some(aeth)) => Extension::Aeth(aeth),
            _ => panic!("{} is not sent on a reliable connection", self.opcode),
        };
        (bth, extension)
    }

    /// What the headers of a packet with that much payload say to a connection. Extension
    /// headers for which this value has no room are dropped; the BTH is enough to refuse or to ignore their packet.
    ///
    /// # Panics
    ///
    /// If the extension headers are not those of the operation; from one frame, they are.
    pub fn from_wire(bth: &BthRepr, extension: &Extension, payload_len: u16) -> Self {
        assert_eq!(extension.layout(), bth.opcode.layout(), "an operation has its own extension headers");
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
        packet
    }

    /// The sender wants an acknowledgement.
    #[inline]
    pub const fn ack_req(&self) -> bool {
        self.flags & ACK_REQ != 0
    }

    /// The receiver shall raise an event when the message completes.
    #[inline]
    pub const fn solicited(&self) -> bool {
        self.flags & SOLICITED != 0
    }

    /// The same without its payload: what a switch leaves of a packet that it has no room for.
    #[inline]
    pub const fn trimmed(mut self) -> Self {
        self.payload_len = 0;
        self.flags |= TRIMMED;
        self
    }

    /// The same as its receiver sees it when a switch has marked its IP header for congestion.
    #[inline]
    pub const fn marked(mut self) -> Self {
        self.flags |= MARKED;
        self
    }

    /// A switch has marked it for congestion.
    #[inline]
    pub const fn is_marked(&self) -> bool {
        self.flags & MARKED != 0
    }

    /// A switch has cut its payload off.
    #[inline]
    pub const fn is_trimmed(&self) -> bool {
        self.flags & TRIMMED != 0
    }

    /// What a receiver makes of a header that a switch has left: the same header on its way back to the requester's
    /// queue pair.
    #[inline]
    pub const fn bounced(mut self, requester: QpNum) -> Self {
        self.dest_qp = requester;
        self.payload_len = 0;
        self.flags |= TRIMMED | BOUNCED;
        self
    }

    /// It is on its way back, without its payload.
    #[inline]
    pub const fn is_bounced(&self) -> bool {
        self.flags & BOUNCED != 0
    }

    /// It carries its own place, in any order of arrival: see [`crate::dcp`].
    #[inline]
    pub const fn is_placed(&self) -> bool {
        self.flags & PLACED != 0
    }

    /// It asks what is missing and carries nothing: see [`crate::dcp`].
    #[inline]
    pub const fn is_probe(&self) -> bool {
        self.flags & PROBE != 0 && !self.opcode.is_response()
    }

    /// It asks for a whole unit to be sent and counted anew: see [`crate::dcp`].
    #[inline]
    pub const fn is_recount(&self) -> bool {
        self.flags & PROBE != 0 && self.opcode.is_response()
    }

    /// It is the last of what is counted together: see [`crate::dcp`].
    #[inline]
    pub const fn ends_unit(&self) -> bool {
        self.flags & UNIT_END != 0
    }

    /// The same, as a packet that carries its own place.
    #[inline]
    pub(crate) const fn placed(mut self, ends_unit: bool) -> Self {
        self.flags |= if ends_unit { PLACED | UNIT_END } else { PLACED };
        self
    }

    /// The same as a question.
    #[inline]
    pub(crate) const fn probing(mut self) -> Self {
        self.payload_len = 0;
        self.flags |= PROBE;
        self
    }

    /// The same as a wish to count anew.
    #[inline]
    pub(crate) const fn recounting(mut self) -> Self {
        self.flags |= PROBE;
        self
    }

    /// The words behind the BTH, for those who give them another meaning.
    #[inline]
    pub(crate) const fn words(&self) -> [u32; 4] {
        self.ext
    }

    /// The same with other words behind the BTH.
    #[inline]
    pub(crate) const fn with_words(mut self, words: [u32; 4]) -> Self {
        self.ext = words;
        self
    }

    /// The word that holds immediate data where an operation has them.
    #[inline]
    pub(crate) const fn imm_word(&self) -> u32 {
        self.imm
    }

    /// A NAK of any kind, "receiver not ready" included.
    #[inline]
    pub const fn is_nak(&self) -> bool {
        matches!(self.opcode, Opcode::Acknowledge) && Syndrome::from_byte((self.ext[0] >> 24) as u8).is_nak()
    }
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
        let flags = [
            (self.is_bounced(), " bounced"),
            (self.is_trimmed() && !self.is_bounced(), " trimmed"),
            (self.is_probe(), " probe"),
            (self.ack_req(), " ackreq"),
        ];
        flags.iter().filter(|(set, _)| *set).try_for_each(|(_, text)| f.write_str(text))
    }
}

#[cfg(test)]
mod tests {
    use wiremend_wire::{IethRepr, NakCode};

    use super::*;

    #[test]
    fn extensions_read_back_only_where_the_opcode_has_them() {
        let reth = RethRepr { address: 0x1234_5678_9ABC_DEF0, remote_key: 7, dma_len: 4096 };
        let aeth = AethRepr { syndrome: Syndrome::from_byte(0x29), msn: 0xFF_FFFF };
        let packet = |opcode| Packet::new(opcode, QpNum::new(3), Psn::new(5));
        assert_eq!(packet(Opcode::WriteFirst).with_reth(reth).reth(), Some(reth));
        assert_eq!(packet(Opcode::WriteMiddle).with_reth(reth).reth(), None);
        assert_eq!(packet(Opcode::Acknowledge).with_aeth(aeth).aeth(), Some(aeth));
        assert_eq!(packet(Opcode::ReadResponseMiddle).with_aeth(aeth).aeth(), None);
        assert_eq!(packet(Opcode::SendOnlyImm).with_imm(8).imm(), Some(8));
        assert_eq!(packet(Opcode::SendOnly).with_imm(8).imm(), None);
        let response = packet(Opcode::ReadResponseLast).with_source(u64::MAX - 3).with_aeth(aeth);
        assert_eq!((response.source(), response.aeth()), (Some(u64::MAX - 3), Some(aeth)));
    }

    #[test]
    fn what_a_connection_sends_survives_the_wire() {
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
                _ => continue,
            };
            let (bth, extension) = packet.to_wire();
            assert_eq!(extension.layout(), opcode.layout());
            assert_eq!(Packet::from_wire(&bth, &extension, 100), packet);
            sent += 1;
        }
        assert_eq!(sent, 19, "18 operations of reliable connections and the one of unreliable ones");
        let cnp = Packet::cnp(QpNum::new(3));
        let (bth, extension) = cnp.to_wire();
        assert!(bth.becn && extension == Extension::Cnp);
        assert_eq!(Packet::from_wire(&bth, &extension, 0), cnp);
        let response = Packet::new(Opcode::ReadResponseOnly, QpNum::new(3), Psn::new(5)).with_aeth(aeth);
        let (bth, extension) = response.with_source(64).to_wire();
        assert_eq!(Packet::from_wire(&bth, &extension, 0), response, "where it came from stays at home");
    }

    #[test]
    fn an_operation_that_is_not_offered_keeps_what_is_needed_to_refuse_it() {
        let bth = BthRepr::new(Opcode::SendOnlyInvalidate, QpNum::new(3), Psn::new(5));
        let packet = Packet::from_wire(&bth, &Extension::Ieth(IethRepr(7)), 100);
        assert_eq!(packet, Packet::new(bth.opcode, bth.dest_qp, bth.psn).with_payload(100));
    }

    #[test]
    fn packets_read_as_people_write_them() {
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
