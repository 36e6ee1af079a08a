//! A segment: what travels between the two ends of a TCP connection.
//!
//! Data and acknowledgements take opposite ways, so that a segment is one or the other. Numbers are bytes in 32 bits; the ends
//! keep 64 and widen what they hear to the nearest. The timestamp option takes its 12 bytes but says nothing: its
//! clock ticks in milliseconds, and the ends know better when they sent what.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::{TcpFlags, TcpRepr};

use super::multipath::Signal;

/// What a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// Bytes of the stream.
    Data(Data),
    /// What has come of it.
    Ack(Ack),
    /// The same on one of several subflows, with less room for it.
    SubflowAck(SubflowAck),
}

/// Bytes of the stream, or the wish to open one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags of the header")]
pub struct Data {
    /// The connection that shall receive it.
    pub dest_qp: QpNum,
    /// Its first byte.
    pub seq: u32,
    /// Bytes.
    pub len: u16,
    /// It opens the connection and carries nothing.
    pub syn: bool,
    /// It ends a message (PSH).
    pub push: bool,
    /// It is a message without bytes, for which a stream has no place: its one byte stands for nothing.
    pub empty: bool,
    /// The sender has answered an echo of a mark (CWR).
    pub cwr: bool,
    /// A switch has marked it. On the wire this stands in the IP header.
    pub marked: bool,
    /// Where it stands among the connection's data, if that has several subflows.
    pub signal: Option<Signal>,
}

/// What has come of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// Who shall receive it, and its flags.
    pub head: AckHead,
    /// All bytes before this one are there.
    pub ack: u32,
    /// What is there beyond a gap, the newest first; a first block that is there already tells of something that came twice
    /// (RFC 2883).
    pub blocks: [Block; SACK_BLOCKS],
}

/// What has come of one subflow, and of the data of the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SubflowAck {
    /// Who shall receive it, and its flags.
    pub head: AckHead,
    /// All bytes of the subflow before this one are there.
    pub ack: u32,
    /// The subflow, as in [`Signal::subflow`].
    pub subflow: u8,
    /// The first byte of the connection's data that is missing, as in [`Signal::data`].
    pub data: u32,
    /// As in [`Ack::blocks`].
    pub blocks: [Block; SUBFLOW_SACK_BLOCKS],
}

/// The connection that shall receive an acknowledgement, in 24 bits, and two flags above them: beside three blocks a frame that fits a cache
/// line has no other room for these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckHead(u32);

impl AckHead {
    const SYN: u32 = 1 << 24;
    const ECHO: u32 = 1 << 25;

    /// To that connection. `syn`: it answers a SYN. `echo`: a mark has come (ECE).
    pub const fn new(dest_qp: QpNum, syn: bool, echo: bool) -> Self {
        Self(dest_qp.get() | if syn { Self::SYN } else { 0 } | if echo { Self::ECHO } else { 0 })
    }

    /// The connection that shall receive it.
    #[inline]
    pub const fn dest_qp(self) -> QpNum {
        QpNum::new(self.0 & QpNum::MAX)
    }

    /// It answers a SYN.
    pub const fn syn(self) -> bool {
        self.0 & Self::SYN != 0
    }

    /// A mark has come (ECE).
    pub const fn echo(self) -> bool {
        self.0 & Self::ECHO != 0
    }
}

/// Bytes from `start` to `end - 1`; none if these are equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// The first byte.
    pub start: u32,
    /// The one behind the last.
    pub end: u32,
}

impl Block {
    /// It tells nothing.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Blocks of an acknowledgement: as many as have room in 40 bytes of options beside timestamps (RFC 2018 §3).
pub const SACK_BLOCKS: usize = 3;
/// Blocks of one that acknowledges data of a connection with several subflows, too: what [`Signal::ACK_BYTES`] leaves room for.
pub const SUBFLOW_SACK_BLOCKS: usize = 2;

const _: () = assert!(size_of::<Segment>() <= 36 && align_of::<Segment>() == 4);

/// Ethernet header and frame check sequence, IPv4, TCP and its timestamps.
const BARE_BYTES: u16 = 14 + 4 + 20 + 20 + 12;
const FRAME_BYTES_MIN: u16 = 64;

impl Segment {
    /// The connection that shall receive it.
    #[inline]
    pub const fn dest_qp(&self) -> QpNum {
        match self {
            Self::Data(data) => data.dest_qp,
            Self::Ack(ack) => ack.head.dest_qp(),
            Self::SubflowAck(ack) => ack.head.dest_qp(),
        }
    }

    /// Its number in the 24 bits of other transports' numbers: its first byte, or the acknowledged one; those of the connection's
    /// data if there are several subflows.
    #[inline]
    pub const fn psn(&self) -> Psn {
        Psn::new(match self {
            Self::Data(Data { signal: Some(signal), .. }) => signal.data,
            Self::Data(data) => data.seq,
            Self::Ack(ack) => ack.ack,
            Self::SubflowAck(ack) => ack.data,
        })
    }

    /// What it says of its subflow; `None` if the connection has one way only.
    #[inline]
    pub const fn signal(&self) -> Option<Signal> {
        match self {
            Self::Data(data) => data.signal,
            Self::Ack(_) => None,
            Self::SubflowAck(ack) => Some(Signal { subflow: ack.subflow, data: ack.data }),
        }
    }

    /// Bytes of the stream that it carries.
    #[inline]
    pub const fn payload_len(&self) -> u16 {
        match self {
            Self::Data(data) => data.len,
            Self::Ack(_) | Self::SubflowAck(_) => 0,
        }
    }

    /// The same as its receiver sees it when a switch has marked its IP header for congestion.
    #[inline]
    pub const fn marked(mut self) -> Self {
        if let Self::Data(data) = &mut self {
            data.marked = true;
        }
        self
    }

    /// The header that says the same on the wire, but for what it says of subflows. The sender has the port `sender_port`. A SYN takes
    /// the number before the first byte; the receiver, who sends no data, numbers its bytes from 0 on.
    pub fn to_wire(&self, sender_port: u16, receiver_port: u16) -> TcpRepr {
        let forth = TcpRepr {
            source_port: sender_port,
            destination_port: receiver_port,
            seq: 0,
            ack: 0,
            flags: TcpFlags::ACK,
            window: u16::MAX,
            timestamps: (0, 0),
            blocks: [None; 3],
        };
        let back = TcpRepr { source_port: receiver_port, destination_port: sender_port, ..forth };
        let answer = |head: AckHead, ack: u32, told: &[Block]| {
            let mut blocks = [None; 3];
            let told = told.iter().filter(|block| !block.is_empty());
            blocks.iter_mut().zip(told).for_each(|(place, block)| *place = Some((block.start, block.end)));
            let flags = TcpFlags::ACK | TcpFlags::SYN.when(head.syn()) | TcpFlags::ECE.when(head.echo());
            TcpRepr { seq: if head.syn() { u32::MAX } else { 0 }, ack, flags, blocks, ..back }
        };
        match self {
            Self::Ack(said) => answer(said.head, said.ack, &said.blocks),
            Self::SubflowAck(said) => answer(said.head, said.ack, &said.blocks),
            Self::Data(data) if data.syn => TcpRepr { seq: u32::MAX, flags: TcpFlags::SYN, ..forth },
            Self::Data(data) => TcpRepr {
                seq: data.seq,
                flags: TcpFlags::ACK | TcpFlags::PSH.when(data.push) | TcpFlags::CWR.when(data.cwr),
                ..forth
            },
        }
    }

    /// The length of the Ethernet frame that carries it over IPv4, from MAC header to frame check sequence. For what segments of subflows
    /// say beyond a plain one, see [`Signal`].
    #[inline(never)]
    pub fn frame_len(&self) -> u16 {
        frame_len(match self {
            Self::Data(Data { len, signal: Some(_), .. }) => len + Signal::DATA_BYTES,
            Self::Data(data) => data.len,
            Self::Ack(ack) => sack_bytes(&ack.blocks),
            Self::SubflowAck(ack) => Signal::ACK_BYTES + sack_bytes(&ack.blocks),
        })
    }
}

/// The first block of an acknowledgement takes 12 bytes with its padding, each further one 8 (RFC 2018 §3).
#[inline]
fn sack_bytes(blocks: &[Block]) -> u16 {
    let told = blocks.iter().filter(|block| !block.is_empty()).count() as u16;
    if told == 0 { 0 } else { 4 + 8 * told }
}

/// The length of the frame that carries so many bytes of a stream, or of options beyond timestamps.
#[inline]
pub const fn frame_len(payload: u16) -> u16 {
    let len = BARE_BYTES + payload;
    if len < FRAME_BYTES_MIN { FRAME_BYTES_MIN } else { len }
}

impl Ack {
    /// The same on a subflow. The oldest blocks are left out where there is less room.
    pub(super) fn on_subflow(&self, signal: Signal) -> SubflowAck {
        let &Self { head, ack, blocks } = self;
        let Signal { subflow, data } = signal;
        let blocks = std::array::from_fn(|place| blocks[place]);
        SubflowAck { head, ack, subflow, data, blocks }
    }
}

impl SubflowAck {
    /// What it says of its subflow alone.
    pub(super) fn of_subflow(&self) -> Ack {
        let &Self { head, ack, blocks, .. } = self;
        let blocks = std::array::from_fn(|place| blocks.get(place).copied().unwrap_or_default());
        Ack { head, ack, blocks }
    }
}

/// The 64-bit number whose low 32 bits are `low` and that lies nearest to `near`; none if that is below zero.
#[inline]
pub(super) const fn widen(near: u64, low: u32) -> Option<u64> {
    near.checked_add_signed(low.wrapping_sub(near as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a subflow adds takes nothing away but blocks that have no room beside it.
    #[test]
    fn acknowledgements_of_subflows_read_back() {
        let block = |start| Block { start, end: start.wrapping_add(1_000) };
        let blocks = std::array::from_fn(|place| block(u32::MAX - 4_000 * place as u32));
        let head = AckHead::new(QpNum::new(QpNum::MAX), false, true);
        assert_eq!((head.dest_qp(), head.syn(), head.echo()), (QpNum::new(QpNum::MAX), false, true));
        let ack = Ack { head, ack: u32::MAX - 9, blocks };
        let signal = Signal { subflow: 7, data: 0xFEDC_BA98 };
        let mapped = ack.on_subflow(signal);
        assert_eq!(Segment::SubflowAck(mapped).signal(), Some(signal));
        assert_eq!(Segment::SubflowAck(mapped).psn(), Psn::new(0xDC_BA98));
        let back = mapped.of_subflow();
        assert_eq!(back.blocks[..SUBFLOW_SACK_BLOCKS], blocks[..SUBFLOW_SACK_BLOCKS]);
        assert!(back.blocks[SUBFLOW_SACK_BLOCKS..].iter().all(|block| block.is_empty()));
        assert_eq!(Ack { blocks, ..back }, ack);
    }

    /// A full segment fills the 1518 bytes of an Ethernet frame; bare acknowledgements take 70, and blocks their options.
    #[test]
    fn frames_have_the_length_of_their_headers() {
        let block = Block { start: 2_000, end: 3_000 };
        let ack = |told: usize| {
            let blocks = std::array::from_fn(|place| if place < told { block } else { Block::default() });
            Ack { ack: 1_000, blocks, ..Ack::default() }
        };
        let data = Data { len: 1448, ..Data::default() };
        assert_eq!(Segment::Data(data).frame_len(), 1518);
        let signal = Signal { subflow: 1, data: 0 };
        let mapped = Data { len: 1428, signal: Some(signal), ..data };
        assert_eq!(Segment::Data(mapped).frame_len(), 1518);
        assert_eq!([0, 1, 2, 3].map(|told| Segment::Ack(ack(told)).frame_len()), [70, 82, 90, 98]);
        assert_eq!(Segment::SubflowAck(ack(2).on_subflow(signal)).frame_len(), 98);
        assert_eq!(frame_len(143), 213);
    }

    #[test]
    fn headers_say_what_segments_say() {
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
    fn short_numbers_widen_to_the_nearest() {
        assert_eq!(widen(1 << 32, u32::MAX), Some(u64::from(u32::MAX)));
        assert_eq!(widen(u64::from(u32::MAX), 5), Some((1 << 32) + 5));
        assert_eq!(widen(3, u32::MAX), None);
    }
}
