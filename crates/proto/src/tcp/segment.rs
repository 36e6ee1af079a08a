//! Segments: the packets of a TCP connection.
//!
//! Data flow in one direction only, so a segment is either data or an ACK. Sequence numbers have 32 bits
//! here; the ends extend them to 64 bits. The timestamp option takes 12 bytes but has no content: its clock
//! ticks in milliseconds, and the ends keep exact send times.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{TcpFlags, TcpRepr};

use super::dss::Dss;

/// A segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// Data or a SYN.
    Data(Data),
    /// An acknowledgement.
    Ack(Ack),
    /// An acknowledgement of an MPTCP subflow, with fewer SACK blocks.
    SubflowAck(SubflowAck),
}

/// Bytes of the stream, or a SYN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "header flags")]
pub struct Data {
    /// Destination connection.
    pub dest_qp: QpNum,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Payload bytes.
    pub len: u16,
    /// SYN: opens the connection and has no payload.
    pub syn: bool,
    /// PSH: the segment ends a message.
    pub push: bool,
    /// The message has no bytes. Its segment carries one filler byte, because a stream cannot hold empty
    /// messages.
    pub empty: bool,
    /// CWR: the sender has reduced its window after an ECN echo.
    pub cwr: bool,
    /// A switch has set the CE mark. On the wire it is in the IP header.
    pub marked: bool,
    /// Data sequence of an MPTCP connection.
    pub dss: Option<Dss>,
}

/// An acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// Destination and flags.
    pub head: AckHead,
    /// Cumulative ACK: the first byte that is missing.
    pub ack: u32,
    /// SACK blocks, newest first. A first block below `ack` or within the second is a DSACK (RFC 2883).
    pub blocks: [Block; SACK_BLOCKS],
}

/// An acknowledgement of an MPTCP subflow and of the connection's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SubflowAck {
    /// Destination and flags.
    pub head: AckHead,
    /// Cumulative ACK of the subflow.
    pub ack: u32,
    /// Subflow, as in [`Dss::subflow`].
    pub subflow: u8,
    /// `DATA_ACK`, as in [`Dss::data`].
    pub data: u32,
    /// SACK blocks, as in [`Ack::blocks`].
    pub blocks: [Block; SUBFLOW_SACK_BLOCKS],
}

/// Destination connection of an ACK in 24 bits and two flags above. Packed, so that a frame with three SACK
/// blocks fits a cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckHead(u32);

impl AckHead {
    const SYN: u32 = 1 << 24;
    const ECHO: u32 = 1 << 25;

    /// Packs a destination, SYN (the ACK answers a SYN) and ECE (echo of a mark).
    pub const fn new(dest_qp: QpNum, syn: bool, echo: bool) -> Self {
        Self(dest_qp.get() | if syn { Self::SYN } else { 0 } | if echo { Self::ECHO } else { 0 })
    }

    /// Destination connection.
    #[inline]
    pub const fn dest_qp(self) -> QpNum {
        QpNum::new(self.0 & QpNum::MAX)
    }

    /// Whether the ACK answers a SYN.
    pub const fn syn(self) -> bool {
        self.0 & Self::SYN != 0
    }

    /// Whether the ACK echoes a mark (ECE).
    pub const fn echo(self) -> bool {
        self.0 & Self::ECHO != 0
    }
}

/// A SACK block: bytes from `start` to `end - 1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// First byte.
    pub start: u32,
    /// First byte after the block.
    pub end: u32,
}

impl Block {
    /// Whether the block is unused.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// SACK blocks of an ACK: as many as fit into 40 bytes of options beside timestamps (RFC 2018 §3).
pub const SACK_BLOCKS: usize = 3;
/// SACK blocks of a subflow's ACK: as many as fit beside [`Dss::ACK_BYTES`].
pub const SUBFLOW_SACK_BLOCKS: usize = 2;

const _: () = assert!(size_of::<Segment>() <= 36 && align_of::<Segment>() == 4);

/// Bytes of Ethernet header, FCS, IPv4, TCP and timestamps.
const BARE_BYTES: u16 = 14 + 4 + 20 + 20 + 12;
const FRAME_BYTES_MIN: u16 = 64;

impl Segment {
    /// Destination connection.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Data(data) => data.dest_qp,
            Self::Ack(ack) => ack.head.dest_qp(),
            Self::SubflowAck(ack) => ack.head.dest_qp(),
        }
    }

    /// Low 24 bits of the sequence or ACK number; with MPTCP, of the data sequence number.
    #[inline]
    pub const fn psn(&self) -> Psn {
        Psn::new(match self {
            Self::Data(Data { dss: Some(dss), .. }) => dss.data,
            Self::Data(data) => data.seq,
            Self::Ack(ack) => ack.ack,
            Self::SubflowAck(ack) => ack.data,
        })
    }

    /// Data sequence signal; `None` without MPTCP.
    #[inline]
    pub const fn dss(&self) -> Option<Dss> {
        match self {
            Self::Data(data) => data.dss,
            Self::Ack(_) => None,
            Self::SubflowAck(ack) => Some(Dss { subflow: ack.subflow, data: ack.data }),
        }
    }

    /// Payload bytes.
    #[inline]
    pub const fn payload_len(&self) -> u16 {
        match self {
            Self::Data(data) => data.len,
            Self::Ack(_) | Self::SubflowAck(_) => 0,
        }
    }

    /// The segment with a CE mark set by a switch.
    #[inline]
    pub const fn marked(mut self) -> Self {
        if let Self::Data(data) = &mut self {
            data.marked = true;
        }
        self
    }

    /// Returns the TCP header of the segment, without MPTCP options. The data sender has port `sender_port`.
    /// A SYN has the sequence number before the first byte. Sequence numbers of ACKs are 0.
    pub fn to_wire(&self, sender_port: u16, receiver_port: u16) -> TcpRepr {
        let from_sender = TcpRepr {
            source_port: sender_port,
            destination_port: receiver_port,
            seq: 0,
            ack: 0,
            flags: TcpFlags::ACK,
            window: u16::MAX,
            timestamps: (0, 0),
            blocks: [None; 3],
        };
        let to_sender = TcpRepr { source_port: receiver_port, destination_port: sender_port, ..from_sender };
        let answer = |head: AckHead, ack: u32, sacked: &[Block]| {
            let mut blocks = [None; 3];
            let used = sacked.iter().filter(|block| !block.is_empty());
            blocks.iter_mut().zip(used).for_each(|(place, block)| *place = Some((block.start, block.end)));
            let flags = TcpFlags::ACK | TcpFlags::SYN.when(head.syn()) | TcpFlags::ECE.when(head.echo());
            TcpRepr { seq: if head.syn() { u32::MAX } else { 0 }, ack, flags, blocks, ..to_sender }
        };
        match self {
            Self::Ack(ack) => answer(ack.head, ack.ack, &ack.blocks),
            Self::SubflowAck(ack) => answer(ack.head, ack.ack, &ack.blocks),
            Self::Data(data) if data.syn => TcpRepr { seq: u32::MAX, flags: TcpFlags::SYN, ..from_sender },
            Self::Data(data) => TcpRepr {
                seq: data.seq,
                flags: TcpFlags::ACK | TcpFlags::PSH.when(data.push) | TcpFlags::CWR.when(data.cwr),
                ..from_sender
            },
        }
    }

    /// Length of the Ethernet frame over IPv4, from MAC header to FCS, including MPTCP options (see [`Dss`]).
    #[inline(never)]
    pub fn frame_len(&self) -> u16 {
        frame_len(match self {
            Self::Data(Data { len, dss: Some(_), .. }) => len + Dss::DATA_BYTES,
            Self::Data(data) => data.len,
            Self::Ack(ack) => sack_bytes(&ack.blocks),
            Self::SubflowAck(ack) => Dss::ACK_BYTES + sack_bytes(&ack.blocks),
        })
    }
}

/// Bytes of the SACK option: 12 for the first block with padding, 8 for each further block (RFC 2018 §3).
#[inline]
fn sack_bytes(blocks: &[Block]) -> u16 {
    let used = blocks.iter().filter(|block| !block.is_empty()).count() as u16;
    if used == 0 { 0 } else { 4 + 8 * used }
}

/// Length of a frame with `payload` bytes of payload, or of options beyond timestamps.
#[inline]
pub const fn frame_len(payload: u16) -> u16 {
    let len = BARE_BYTES + payload;
    if len < FRAME_BYTES_MIN { FRAME_BYTES_MIN } else { len }
}

impl Ack {
    /// Returns the ACK with a data sequence signal. Drops the oldest blocks that do not fit.
    pub(super) fn with_dss(&self, dss: Dss) -> SubflowAck {
        let &Self { head, ack, blocks } = self;
        let Dss { subflow, data } = dss;
        let blocks = std::array::from_fn(|place| blocks[place]);
        SubflowAck { head, ack, subflow, data, blocks }
    }
}

impl SubflowAck {
    /// Returns the subflow's own acknowledgement, without the data sequence signal.
    pub(super) fn without_dss(&self) -> Ack {
        let &Self { head, ack, blocks, .. } = self;
        let blocks = std::array::from_fn(|place| blocks.get(place).copied().unwrap_or_default());
        Ack { head, ack, blocks }
    }
}

/// Extends a 32-bit sequence number to the nearest 64-bit one; `None` below zero.
#[inline]
pub(super) const fn widen(near: u64, low: u32) -> Option<u64> {
    near.checked_add_signed(low.wrapping_sub(near as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data sequence signal displaces only the blocks that do not fit beside it.
    #[test]
    fn subflow_acks_keep_all_fields_and_two_blocks() {
        let block = |start| Block { start, end: start.wrapping_add(1_000) };
        let blocks = std::array::from_fn(|place| block(u32::MAX - 4_000 * place as u32));
        let head = AckHead::new(QpNum::new(QpNum::MAX), false, true);
        assert_eq!((head.dest_qp(), head.syn(), head.echo()), (QpNum::new(QpNum::MAX), false, true));
        let ack = Ack { head, ack: u32::MAX - 9, blocks };
        let dss = Dss { subflow: 7, data: 0xFEDC_BA98 };
        let map_to_connection = ack.with_dss(dss);
        assert_eq!(Segment::SubflowAck(map_to_connection).dss(), Some(dss));
        assert_eq!(Segment::SubflowAck(map_to_connection).psn(), Psn::new(0xDC_BA98));
        let without = map_to_connection.without_dss();
        assert_eq!(without.blocks[..SUBFLOW_SACK_BLOCKS], blocks[..SUBFLOW_SACK_BLOCKS]);
        assert!(without.blocks[SUBFLOW_SACK_BLOCKS..].iter().all(|block| block.is_empty()));
        assert_eq!(Ack { blocks, ..without }, ack);
    }

    /// A full segment fills a 1518-byte Ethernet frame. A bare ACK takes 70 bytes, plus its SACK option.
    #[test]
    fn frame_lengths_include_headers_and_options() {
        let block = Block { start: 2_000, end: 3_000 };
        let ack = |used: usize| {
            let blocks = std::array::from_fn(|place| if place < used { block } else { Block::default() });
            Ack { ack: 1_000, blocks, ..Ack::default() }
        };
        let data = Data { len: 1448, ..Data::default() };
        assert_eq!(Segment::Data(data).frame_len(), 1518);
        let dss = Dss { subflow: 1, data: 0 };
        let map_to_connection = Data { len: 1428, dss: Some(dss), ..data };
        assert_eq!(Segment::Data(map_to_connection).frame_len(), 1518);
        assert_eq!([0, 1, 2, 3].map(|used| Segment::Ack(ack(used)).frame_len()), [70, 82, 90, 98]);
        assert_eq!(Segment::SubflowAck(ack(2).with_dss(dss)).frame_len(), 98);
        assert_eq!(frame_len(143), 213);
    }

    #[test]
    fn wire_headers_match_segments() {
        let block = Block { start: 5, end: 8_000_000 };
        let head = AckHead::new(QpNum::new(3), false, true);
        let mut ack = Ack { head, ack: 4, ..Ack::default() };
        ack.blocks[1] = block;
        let header = Segment::Ack(ack).to_wire(0xC000, 5_001);
        assert_eq!((header.source_port, header.ack), (5_001, 4));
        assert_eq!(header.blocks, [Some((5, 8_000_000)), None, None]);
        assert_eq!(header.flags, TcpFlags::ACK | TcpFlags::ECE);
        let syn = Segment::Data(Data { syn: true, ..Data::default() }).to_wire(0xC000, 5_001);
        assert_eq!((syn.source_port, syn.seq, syn.flags), (0xC000, u32::MAX, TcpFlags::SYN));
    }

    #[test]
    fn sequence_numbers_extend_to_the_nearest() {
        assert_eq!(widen(1 << 32, u32::MAX), Some(u64::from(u32::MAX)));
        assert_eq!(widen(u64::from(u32::MAX), 5), Some((1 << 32) + 5));
        assert_eq!(widen(3, u32::MAX), None);
    }
}
