//! The headers of the published `LinkGuardian` prototype (SIGCOMM 2023, artifact), which [`super`] replaces.
//!
//! ```text
//! destination, source │ 0xABCD │ header 3 or 6 │ what followed the EtherType
//!
//! 00 data, dummy    type 2 │ pad 1 │ era 1 │ reTx 1 │ dummy 1 │ blocking 1 │ rx_buffered 1 │ seqNo 16
//! 01 ACK            type 2 │ piggybacked 1 │ era 1 │ pad 3 │ stacked 1 │ leadingAck 16
//! 10 notification   as 01, then hole_size 8 │ first_lost_seq 16
//! 11                copies inside a switch, never on a wire
//! ```
//!
//! The `EtherType` 0xABCD replaces the original one, which is lost: every frame leaves as IPv4.
//!
//! One deviation: the prototype protects one direction of a link, so a frame never needs both headers. If a
//! simulation protects both, the ACK is before the data header and its last pad bit is set (`stacked`).

use std::cmp::Ordering;

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{ETHERTYPE_IPV4, MIN_FRAME_BYTES, Malformed, view};

/// Replaces the original `EtherType`.
pub const ETHERTYPE: u16 = 0xABCD;

/// The header of a frame on a link that the prototype protects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrototypeHeader {
    /// A protected frame follows.
    Data {
        /// Its number.
        number: EraSeq,
        /// `reTx`: it is a retransmission.
        retransmitted: bool,
        /// In-order delivery; otherwise it is delivered immediately.
        blocking: bool,
        /// ACK for the other direction.
        ack: Option<Ack>,
    },
    /// Announces the number of the next frame.
    Dummy {
        /// Number of the next frame.
        number: EraSeq,
        /// Copied from data frames; it has no meaning here.
        blocking: bool,
    },
    /// An ACK in a separate frame.
    Ack(Ack),
    /// An ACK before a frame of an unprotected direction.
    Piggyback(Ack),
    /// Reports a hole.
    Notification {
        /// The latest number that arrived.
        ack: Ack,
        /// Number of missing frames, limited to eight bits.
        hole_size: u8,
        /// The first missing number.
        first_lost: u16,
    },
}

/// `leadingAck`: the latest number that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack(pub EraSeq);

/// A sequence number, and the bit that flips at each wrap-around.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EraSeq {
    /// `seqNo`.
    pub seq: u16,
    /// `era`.
    pub era: bool,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Mac {
    addresses: [u8; 12],
    ethertype: U16,
}
const _: () = assert!(size_of::<Mac>() == 14);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    bits: u8,
    seq: U16,
}
const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HoleView {
    size: u8,
    first: U16,
}
const _: () = assert!(size_of::<HoleView>() == 3);

const HEADER_BYTES: usize = 3;
const TYPE_DATA: u8 = 0b00;
const TYPE_ACK: u8 = 0b01;
const TYPE_NOTIFICATION: u8 = 0b10;
const PIGGYBACKED: u8 = 1 << 5;
const ERA: u8 = 1 << 4;
const RETRANSMITTED: u8 = 1 << 3;
const DUMMY: u8 = 1 << 2;
const BLOCKING: u8 = 1 << 1;
const STACKED: u8 = 1;

impl EraSeq {
    /// The next number; the era flips at wrap-around.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { seq: self.seq.wrapping_add(1), era: self.era ^ (self.seq == u16::MAX) }
    }

    /// The previous number.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self { seq: self.seq.wrapping_sub(1), era: self.era ^ (self.seq == 0) }
    }

    /// Compares as the prototype does: if the eras differ, both numbers are shifted by half the space. This
    /// is right if both are less than half the space apart and both eras are right. Different eras of equal
    /// numbers are not detected.
    pub fn compare(self, other: Self) -> Ordering {
        const HALF: u16 = 1 << 15;
        let shift = if self.era == other.era { 0 } else { HALF };
        self.seq.wrapping_sub(shift).cmp(&other.seq.wrapping_sub(shift))
    }
}

impl PrototypeHeader {
    /// Bytes that the header adds to a carried frame: 3 for each header. 0 in a control frame.
    #[inline]
    pub const fn added_len(&self) -> u32 {
        match self {
            Self::Data { .. } | Self::Piggyback(_) => self.buffer_len() as u32,
            _ => 0,
        }
    }

    /// Length on the wire, MAC header to FCS, with a carried frame of `carried_bytes`; the Ethernet minimum
    /// for a control frame.
    #[inline]
    pub const fn frame_len(&self, carried_bytes: u32) -> u32 {
        match self {
            Self::Data { .. } | Self::Piggyback(_) => carried_bytes + self.added_len(),
            _ => MIN_FRAME_BYTES,
        }
    }

    /// The header of a retransmitted copy: without an ACK, because the prototype does not rebuild it.
    #[must_use]
    pub const fn sent_again(self) -> Self {
        match self {
            Self::Data { number, blocking, .. } => {
                Self::Data { number, retransmitted: true, blocking, ack: None }
            }
            other => other,
        }
    }

    /// The frame as the prototype sends it, for [`PrototypeHeader::Data`] and [`PrototypeHeader::Piggyback`];
    /// without FCS.
    pub fn encapsulate(&self, frame: &[u8]) -> Result<Vec<u8>, Malformed> {
        let (mac, rest) = view::split::<Mac>(frame, "Ethernet header")?;
        let mac = Mac { ethertype: ETHERTYPE.into(), ..*mac };
        let mut bytes = vec![0; size_of::<Mac>() + self.buffer_len()];
        let (front, header) = bytes.split_at_mut(size_of::<Mac>());
        view::fill(&mac, front);
        self.emit(header);
        bytes.extend(rest);
        Ok(bytes)
    }

    /// The frame as the prototype delivers it: its `EtherType` is IPv4, whatever it was before.
    pub fn decapsulate(frame: &[u8]) -> Result<(Self, Vec<u8>), Malformed> {
        let (mac, rest) = view::split::<Mac>(frame, "Ethernet header")?;
        if mac.ethertype.get() != ETHERTYPE {
            return Err(Malformed::EtherType(mac.ethertype.get()));
        }
        let (signal, rest) = Self::parse(rest)?;
        let mac = Mac { ethertype: ETHERTYPE_IPV4.into(), ..*mac };
        Ok((signal, [mac.as_bytes(), rest].concat()))
    }

    /// Length of the header or headers.
    pub const fn buffer_len(&self) -> usize {
        match self {
            Self::Data { ack: Some(_), .. } | Self::Notification { .. } => 2 * HEADER_BYTES,
            _ => HEADER_BYTES,
        }
    }

    /// Parses the header behind the `EtherType`; returns it and the remaining bytes.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = view::split::<Header>(bytes, "prototype's header")?;
        let ack = Ack(header.number());
        match header.bits >> 6 {
            TYPE_DATA => Ok((header.data(None), rest)),
            TYPE_ACK if header.has(STACKED) => {
                let (inner, rest) = view::split::<Header>(rest, "prototype's data header")?;
                let is_data = inner.bits >> 6 == TYPE_DATA && !inner.has(DUMMY);
                is_data.then(|| (inner.data(Some(ack)), rest)).ok_or(Malformed::LinkType(inner.bits >> 6))
            }
            TYPE_ACK if header.has(PIGGYBACKED) => Ok((Self::Piggyback(ack), rest)),
            TYPE_ACK => Ok((Self::Ack(ack), rest)),
            TYPE_NOTIFICATION => {
                let (hole, rest) = view::split::<HoleView>(rest, "prototype's hole")?;
                let (hole_size, first_lost) = (hole.size, hole.first.get());
                Ok((Self::Notification { ack, hole_size, first_lost }, rest))
            }
            internal => Err(Malformed::LinkType(internal)),
        }
    }

    /// Writes the header or headers into `buffer` of their length.
    pub fn emit(&self, buffer: &mut [u8]) {
        let (first, second) = buffer.split_at_mut(HEADER_BYTES);
        assert_eq!(
            HEADER_BYTES + second.len(),
            self.buffer_len(),
            "a buffer has the length its header asks for"
        );
        match *self {
            Self::Data { number, retransmitted, blocking, ack } => {
                let bits = flag(retransmitted, RETRANSMITTED) | flag(blocking, BLOCKING);
                let header = Header::new(TYPE_DATA, bits, number);
                match ack {
                    Some(ack) => {
                        view::fill(&Header::new(TYPE_ACK, PIGGYBACKED | STACKED, ack.0), first);
                        view::fill(&header, second);
                    }
                    None => view::fill(&header, first),
                }
            }
            Self::Dummy { number, blocking } => {
                view::fill(&Header::new(TYPE_DATA, DUMMY | flag(blocking, BLOCKING), number), first);
            }
            Self::Ack(ack) => view::fill(&Header::new(TYPE_ACK, 0, ack.0), first),
            Self::Piggyback(ack) => view::fill(&Header::new(TYPE_ACK, PIGGYBACKED, ack.0), first),
            Self::Notification { ack, hole_size, first_lost } => {
                view::fill(&Header::new(TYPE_NOTIFICATION, 0, ack.0), first);
                view::fill(&HoleView { size: hole_size, first: first_lost.into() }, second);
            }
        }
    }
}

impl Header {
    fn new(kind: u8, bits: u8, number: EraSeq) -> Self {
        Self { bits: kind << 6 | flag(number.era, ERA) | bits, seq: number.seq.into() }
    }

    const fn has(&self, flag: u8) -> bool {
        self.bits & flag != 0
    }

    fn number(&self) -> EraSeq {
        EraSeq { seq: self.seq.get(), era: self.has(ERA) }
    }

    fn data(&self, ack: Option<Ack>) -> PrototypeHeader {
        let (number, blocking) = (self.number(), self.has(BLOCKING));
        if self.has(DUMMY) {
            PrototypeHeader::Dummy { number, blocking }
        } else {
            PrototypeHeader::Data { number, retransmitted: self.has(RETRANSMITTED), blocking, ack }
        }
    }
}

const fn flag(set: bool, flag: u8) -> u8 {
    if set { flag } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: EraSeq = EraSeq { seq: 0x1234, era: true };
    const SIGNALS: [(PrototypeHeader, &[u8]); 8] = [
        (
            PrototypeHeader::Data { number: NUMBER, retransmitted: false, blocking: true, ack: None },
            &[0x12, 0x12, 0x34],
        ),
        (
            PrototypeHeader::Data { number: NUMBER, retransmitted: true, blocking: false, ack: None },
            &[0x18, 0x12, 0x34],
        ),
        (
            PrototypeHeader::Data {
                number: NUMBER,
                retransmitted: false,
                blocking: true,
                ack: Some(Ack(EraSeq { seq: 9, era: false })),
            },
            &[0x61, 0x00, 0x09, 0x12, 0x12, 0x34],
        ),
        (PrototypeHeader::Dummy { number: NUMBER, blocking: true }, &[0x16, 0x12, 0x34]),
        (PrototypeHeader::Ack(Ack(NUMBER)), &[0x50, 0x12, 0x34]),
        (PrototypeHeader::Ack(Ack(EraSeq { seq: 7, era: false })), &[0x40, 0x00, 0x07]),
        (PrototypeHeader::Piggyback(Ack(NUMBER)), &[0x70, 0x12, 0x34]),
        (
            PrototypeHeader::Notification { ack: Ack(NUMBER), hole_size: 3, first_lost: 0x1231 },
            &[0x90, 0x12, 0x34, 0x03, 0x12, 0x31],
        ),
    ];

    #[test]
    fn headers_have_the_published_bits() {
        for (signal, bytes) in SIGNALS {
            let mut emitted = vec![0xAA; signal.buffer_len()];
            signal.emit(&mut emitted);
            assert_eq!(emitted, bytes, "{signal:?}");
            emitted.extend(b"rest");
            assert_eq!(PrototypeHeader::parse(&emitted), Ok((signal, &b"rest"[..])));
            for cut in 0..bytes.len() {
                assert!(PrototypeHeader::parse(&bytes[..cut]).is_err());
            }
        }
    }

    #[test]
    fn lengths_are_as_published() {
        let [data, .., notification] = SIGNALS.map(|(signal, _)| signal);
        assert_eq!((data.added_len(), data.frame_len(1518)), (3, 1521));
        assert_eq!((notification.added_len(), notification.frame_len(0)), (0, 64));
    }

    /// ARP and VLAN tags leave as IPv4.
    #[test]
    fn only_ipv4_survives() {
        let (data, _) = SIGNALS[0];
        for (ethertype, survives) in [(0x0800_u16, true), (0x86DD, false), (0x0806, false), (0x8100, false)] {
            let frame = [&[7; 12][..], &ethertype.to_be_bytes(), b"payload"].concat();
            let wire = data.encapsulate(&frame).unwrap();
            assert_eq!(wire.len(), frame.len() + 3);
            let (signal, arrived) = PrototypeHeader::decapsulate(&wire).unwrap();
            assert_eq!((signal, arrived == frame), (data, survives), "{ethertype:#06x}");
            assert_eq!(PrototypeHeader::decapsulate(&frame), Err(Malformed::EtherType(ethertype)));
        }
    }

    /// Any first byte, stacked or not, is parsed or refused.
    #[test]
    fn any_bytes_are_parsed_or_refused() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let bytes = [first, 0, 1, second, 0, 2];
                let Ok((signal, rest)) = PrototypeHeader::parse(&bytes) else { continue };
                assert_eq!(signal.buffer_len() + rest.len(), bytes.len());
            }
        }
        assert_eq!(PrototypeHeader::parse(&[0xC0, 0, 0]), Err(Malformed::LinkType(3)));
        assert_eq!(PrototypeHeader::parse(&[0x41, 0, 0, 0x04, 0, 0]), Err(Malformed::LinkType(0)));
    }

    /// Up to half the space apart, at any position.
    #[test]
    fn eras_order_numbers_across_the_wrap() {
        for seq in (0..=u16::MAX).step_by(257).chain([32_767, 32_768, 65_535]) {
            let mut later = EraSeq { seq, era: false };
            let number = later;
            assert_eq!((number.next().previous(), number.compare(number)), (number, Ordering::Equal));
            for ahead in 1..=32_768 {
                later = later.next();
                if ahead % 127 == 0 || ahead == 1 || ahead == 32_768 {
                    assert_eq!(later.compare(number), Ordering::Greater, "{seq} and {ahead} later");
                    assert_eq!(number.compare(later), Ordering::Less);
                }
            }
        }
    }
}
