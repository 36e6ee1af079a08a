//! A segment as a value, and in the words of a [`Packet`].
//!
//! Data and acknowledgements take opposite ways, so that a segment is one or the other. Numbers are bytes in 32 bits; the ends
//! keep 64 and widen what they hear to the nearest. The timestamp option takes its 12 bytes but says nothing: its
//! clock ticks in milliseconds, and the ends know better when they sent what.

use wiremend_units::{Psn, QpNum};
use wiremend_wire::Opcode;

use super::multipath::Signal;
use crate::rc::Packet;

/// What a segment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Segment {
    /// Bytes of the stream.
    Data(Data),
    /// What has come of it.
    Ack(Ack),
}

/// Bytes of the stream, or the wish to open one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are flags of the header")]
pub struct Data {
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
}

/// What has come of the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// All bytes before this one are there.
    pub ack: u32,
    /// It answers a SYN.
    pub syn: bool,
    /// A mark has come (ECE).
    pub echo: bool,
    /// What is there beyond a gap, the newest first; a first block that is there already tells of something that came twice
    /// (RFC 2883). A real stack has room for three beside timestamps.
    pub blocks: [Block; SACK_BLOCKS],
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

/// Blocks of an acknowledgement: as many as the words of a packet hold.
pub const SACK_BLOCKS: usize = 2;

/// Ethernet header and frame check sequence, IPv4, TCP and its timestamps.
const BARE_BYTES: u16 = 14 + 4 + 20 + 20 + 12;
const FRAME_BYTES_MIN: u16 = 64;

const SYN: u32 = 1;
const PUSH: u32 = 2;
const CWR: u32 = 4;
const ECHO: u32 = 8;
const EMPTY: u32 = 16;
/// Data of a subflow: the next words say which, and where its first byte stands.
const MAPPED: u32 = 32;

/// The highest byte of the words of an acknowledgement of a subflow, whose number stands in its last three bits. To other transports it is a
/// count of credits, not a NAK.
const OF_SUBFLOW: u32 = 0x10;

/// An edge of a block lies this near to the acknowledged byte.
const EDGE_BITS: u32 = 29;
/// The same where the number of a subflow and of its connection's data need room too.
const EDGE_BITS_OF_SUBFLOW: u32 = 26;

impl Segment {
    /// The packet that carries it to the peer's end.
    #[inline]
    pub fn packet(self, peer: QpNum) -> Packet {
        match self {
            Self::Data(data) => {
                let bit = |set: bool, bit| if set { bit } else { 0 };
                let flags =
                    bit(data.syn, SYN) | bit(data.push, PUSH) | bit(data.empty, EMPTY) | bit(data.cwr, CWR);
                let packet = Packet::new(Opcode::SendOnly, peer, Psn::new(data.seq))
                    .with_payload(data.len)
                    .with_imm(data.seq)
                    .with_words([flags, 0, 0, 0]);
                if data.marked { packet.marked() } else { packet }
            }
            Self::Ack(ack) => {
                let packet = Packet::new(Opcode::Acknowledge, peer, Psn::new(ack.ack));
                packet.with_imm(ack.ack).with_words(words_of(&ack))
            }
        }
    }

    /// What a packet carries; `None` if it is none of a TCP connection.
    #[inline]
    pub fn read(packet: &Packet) -> Option<Self> {
        let words = packet.words();
        match packet.opcode {
            Opcode::SendOnly => Some(Self::Data(Data {
                seq: packet.imm_word(),
                len: packet.payload_len,
                syn: words[0] & SYN != 0,
                push: words[0] & PUSH != 0,
                empty: words[0] & EMPTY != 0,
                cwr: words[0] & CWR != 0,
                marked: packet.is_marked(),
            })),
            Opcode::Acknowledge => Some(Self::Ack(ack_of(packet.imm_word(), words))),
            _ => None,
        }
    }
}

/// The four edges in 29 bits each, relative to the acknowledged byte, and the flags: 120 bits. The highest byte of the first word stays
/// clear, where acknowledgements of other transports say that they are NAKs.
fn words_of(ack: &Ack) -> [u32; 4] {
    words_from(edges_of(ack, EDGE_BITS) | (flags_of(ack) as u128) << (4 * EDGE_BITS))
}

fn flags_of(ack: &Ack) -> u32 {
    let bit = |set: bool, bit| if set { bit } else { 0 };
    bit(ack.syn, SYN) | bit(ack.echo, ECHO)
}

fn edges_of(ack: &Ack, bits: u32) -> u128 {
    let mut edges = 0_u128;
    for block in ack.blocks.iter().rev() {
        for edge in [block.end, block.start] {
            let edge = edge.wrapping_sub(ack.ack).wrapping_add(1 << (bits - 1)) & ((1 << bits) - 1);
            edges = edges << bits | edge as u128;
        }
    }
    edges
}

const fn words_from(bits: u128) -> [u32; 4] {
    [(bits >> 96) as u32, (bits >> 64) as u32, (bits >> 32) as u32, bits as u32]
}

fn ack_of(ack: u32, words: [u32; 4]) -> Ack {
    let (edge_bits, flags_at) = if is_of_subflow(words) {
        (EDGE_BITS_OF_SUBFLOW, FLAGS_AT_OF_SUBFLOW)
    } else {
        (EDGE_BITS, 4 * EDGE_BITS)
    };
    let mut bits = words.iter().fold(0_u128, |bits, word| bits << 32 | *word as u128);
    let flags = (bits >> flags_at) as u32;
    let mut edge = || {
        let edge = bits as u32 & ((1 << edge_bits) - 1);
        bits >>= edge_bits;
        edge.wrapping_sub(1 << (edge_bits - 1)).wrapping_add(ack)
    };
    let blocks = std::array::from_fn(|_| Block { start: edge(), end: edge() });
    Ack { ack, syn: flags & SYN != 0, echo: flags & ECHO != 0, blocks }
}

const FLAGS_AT_OF_SUBFLOW: u32 = 108;
const DATA_AT_OF_SUBFLOW: u32 = 112;

#[inline]
const fn is_of_subflow(words: [u32; 4]) -> bool {
    words[0] >> 24 & OF_SUBFLOW != 0
}

impl Signal {
    /// The same packet as one of a subflow. Its sequence number is that of the connection's data; those of the subflow stand where TCP has
    /// them. A block that lies farther off than an edge can tell is left out.
    pub(super) fn on(self, mut packet: Packet) -> Packet {
        let Self { subflow, data } = self;
        packet.psn = Psn::new(data);
        if packet.opcode != Opcode::Acknowledge {
            let [flags, ..] = packet.words();
            return packet.with_words([flags | MAPPED, data, subflow as u32, 0]);
        }
        let mut ack = ack_of(packet.imm_word(), packet.words());
        let near = |edge: u32| {
            let distance = (edge.wrapping_sub(ack.ack) as i32).unsigned_abs();
            distance < 1 << (EDGE_BITS_OF_SUBFLOW - 1)
        };
        for block in &mut ack.blocks {
            if !near(block.start) || !near(block.end) {
                *block = Block { start: ack.ack, end: ack.ack };
            }
        }
        let top = ((OF_SUBFLOW | subflow as u32) as u128) << 120;
        let data = ((data >> 24) as u128) << DATA_AT_OF_SUBFLOW;
        let flags = (flags_of(&ack) as u128) << FLAGS_AT_OF_SUBFLOW;
        packet.with_words(words_from(top | data | flags | edges_of(&ack, EDGE_BITS_OF_SUBFLOW)))
    }

    /// What a packet says of its subflow; `None` if it is none of a connection with several.
    #[inline]
    pub fn read(packet: &Packet) -> Option<Self> {
        let words = packet.words();
        if packet.opcode == Opcode::Acknowledge {
            let data = (words[0] >> 16 & 0xFF) << 24 | packet.psn.get();
            return is_of_subflow(words).then_some(Self { subflow: (words[0] >> 24 & 7) as u8, data });
        }
        let mapped = packet.opcode == Opcode::SendOnly && words[0] & MAPPED != 0;
        mapped.then_some(Self { subflow: words[2] as u8, data: words[1] })
    }
}

/// The length of the frame that carries a packet of a TCP connection over IPv4, from MAC header to frame check sequence. The first block of an
/// acknowledgement takes 12 bytes with its padding, the next 8 (RFC 2018 §3). For what packets of subflows say beyond that, see [`Signal`].
#[inline]
pub fn frame_len(packet: &Packet) -> u16 {
    let words = packet.words();
    let options = if packet.opcode == Opcode::Acknowledge {
        let ack = ack_of(packet.imm_word(), words);
        let blocks = ack.blocks.iter().filter(|block| !block.is_empty()).count() as u16;
        let signal = if is_of_subflow(words) { Signal::ACK_BYTES } else { 0 };
        signal + if blocks == 0 { 0 } else { 4 + 8 * blocks }
    } else if words[0] & MAPPED != 0 {
        Signal::DATA_BYTES
    } else {
        0
    };
    frame_len_with(packet.payload_len + options)
}

/// The length of the frame that carries so many bytes of a stream.
#[inline]
pub const fn frame_len_with(payload: u16) -> u16 {
    let len = BARE_BYTES + payload;
    if len < FRAME_BYTES_MIN { FRAME_BYTES_MIN } else { len }
}

/// The 64-bit number whose low 32 bits are `low` and that lies nearest to `near`; none if that is below zero.
#[inline]
pub(super) const fn widen(near: u64, low: u32) -> Option<u64> {
    near.checked_add_signed(low.wrapping_sub(near as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_read_back() {
        let data = Data {
            seq: u32::MAX - 3,
            len: 1448,
            push: true,
            empty: true,
            cwr: true,
            marked: true,
            ..Data::default()
        };
        let syn = Data { syn: true, ..Data::default() };
        let ack = Ack {
            ack: u32::MAX - 9,
            echo: true,
            syn: false,
            blocks: [Block { start: 5, end: 8_000_000 }, Block { start: u32::MAX - 50, end: u32::MAX - 20 }],
        };
        let answer = Ack { syn: true, ..Ack::default() };
        for segment in [Segment::Data(data), Segment::Data(syn), Segment::Ack(ack), Segment::Ack(answer)] {
            let packet = segment.packet(QpNum::new(3));
            assert_eq!(Segment::read(&packet), Some(segment));
            assert!(!packet.is_nak() && !packet.is_dummy());
        }
    }

    /// What a subflow adds takes nothing away, but for blocks that lie too far off.
    #[test]
    fn segments_of_subflows_read_back() {
        let (near, far) = (Block { start: 8_000, end: 8_388_000 }, Block { start: 1 << 26, end: 1 << 27 });
        for (number, block) in [(0, near), (7, near), (3, far)] {
            let ack = Ack { ack: u32::MAX - 9, echo: number == 7, syn: false, blocks: [block, near] };
            let signal = Signal { subflow: number, data: 0xFEDC_BA98 };
            let packet = signal.on(Segment::Ack(ack).packet(QpNum::new(3)));
            let none = Block { start: ack.ack, end: ack.ack };
            let blocks = [if block == far { none } else { block }, near];
            assert_eq!(Segment::read(&packet), Some(Segment::Ack(Ack { blocks, ..ack })));
            assert_eq!(Signal::read(&packet), Some(signal));
            assert!(!packet.is_nak());
            let data = Data { seq: 5, len: 1428, push: true, ..Data::default() };
            let plain = Segment::Data(data).packet(QpNum::new(3));
            assert_eq!(Signal::read(&plain), None);
            let packet = signal.on(plain);
            assert_eq!(Segment::read(&packet), Some(Segment::Data(data)));
            assert_eq!((Signal::read(&packet), frame_len(&packet)), (Some(signal), 1518));
        }
        let ack = Segment::Ack(Ack { ack: 7, blocks: [near, near], ..Ack::default() }).packet(QpNum::new(3));
        let mapped = Signal { subflow: 1, data: 0 }.on(ack);
        assert_eq!((Signal::read(&ack), frame_len(&ack), frame_len(&mapped)), (None, 90, 98));
    }

    /// A full segment fills the 1518 bytes of an Ethernet frame; bare acknowledgements take 70, and blocks their options.
    #[test]
    fn frames_have_the_length_of_their_headers() {
        let len = |segment: Segment| frame_len(&segment.packet(QpNum::new(3)));
        let block = Block { start: 2_000, end: 3_000 };
        let ack = |blocks| len(Segment::Ack(Ack { ack: 1_000, blocks, ..Ack::default() }));
        assert_eq!(len(Segment::Data(Data { len: 1448, ..Data::default() })), 1518);
        assert_eq!(frame_len_with(143), 213);
        assert_eq!(
            [ack([Block::default(); 2]), ack([block, Block::default()]), ack([block; 2])],
            [70, 82, 90]
        );
    }

    #[test]
    fn short_numbers_widen_to_the_nearest() {
        assert_eq!(widen(1 << 32, u32::MAX), Some(u64::from(u32::MAX)));
        assert_eq!(widen(u64::from(u32::MAX), 5), Some((1 << 32) + 5));
        assert_eq!(widen(3, u32::MAX), None);
    }
}
