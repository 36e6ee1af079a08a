//! Conversion between link headers and bytes behind the `EtherType`.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Ack, Hello, HelloKind, Hole, LinkHeader, Missing};
use crate::{MIN_FRAME_BYTES, Malformed, view};

/// The version that is written, and the only one that is read.
pub const VERSION: u8 = crate::numbers::LINK_VERSION;
/// Width of a sequence number.
pub const NUMBER_BITS: u32 = 20;
/// Width of an epoch in all headers but [`Hello`].
pub const EPOCH_BITS: u32 = 4;

/// `version 2 │ type 3 │ A R O │ epoch 4 │ number 20`.
#[derive(Clone, Copy)]
struct Word(u32);

/// `epoch 4 │ pause 1 │ reserved 7 │ number 20`.
#[derive(Clone, Copy)]
struct AckWord(u32);

/// Number of holes that follow.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HoleCount {
    count: u8,
    reserved: u8,
}

/// The number is in the lowest 20 bits.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HoleView {
    first: U32,
    len: U16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HelloView {
    magic: [u8; 4],
    kind: u8,
    reserved: [u8; 3],
    epoch: U32,
    stamp_ns: U32,
    rtt_ns: U32,
}
const _: () = assert!(size_of::<HelloView>() == 20);

const WORD_BYTES: usize = size_of::<U32>();
const ETHERTYPE_BYTES: usize = 2;
/// Bytes between the MAC header and the FCS of the shortest frame.
pub(super) const BODY_BYTES_MAX: usize = MIN_FRAME_BYTES as usize - 14 - 4;
const MISSING_BYTES_MAX: usize =
    2 * WORD_BYTES + size_of::<HoleCount>() + Missing::HOLES_MAX * size_of::<HoleView>();
const _: () =
    assert!(MISSING_BYTES_MAX <= BODY_BYTES_MAX, "a frame of the link's own has the shortest length");

/// Distinguishes this protocol from other uses of the experimental `EtherType`.
const MAGIC: [u8; 4] = *b"wmnd";
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;
const EPOCH_MASK: u32 = (1 << EPOCH_BITS) - 1;

/// Length of `EtherType`, word and ACK word in front of a carried frame.
pub(super) const fn data_len(ack: bool) -> usize {
    ETHERTYPE_BYTES + WORD_BYTES * (1 + ack as usize)
}

/// Parses the header behind the `EtherType`; returns it and the remaining bytes: the carried frame, or
/// padding.
pub(super) fn parse(bytes: &[u8]) -> Result<(LinkHeader, &[u8]), Malformed> {
    let (word, rest) = view::split::<U32>(bytes, "link header")?;
    let word = Word(word.get());
    if word.version() != VERSION {
        return Err(Malformed::LinkVersion(word.version()));
    }
    let (ack, rest) = if word.has(Word::ACK) {
        let (ack, rest) = view::split::<U32>(rest, "ACK word")?;
        (Some(AckWord(ack.get()).value()), rest)
    } else {
        (None, rest)
    };
    let (epoch, number) = (word.epoch(), word.number());
    match word.kind() {
        Word::DATA => {
            let (ordered, retransmitted) = (word.has(Word::ORDERED), word.has(Word::RETRANSMITTED));
            Ok((LinkHeader::Data { epoch, seq: number, ordered, retransmitted, ack }, rest))
        }
        Word::DUMMY => Ok((LinkHeader::Dummy { epoch, next: number, ack }, rest)),
        Word::BARE_ACK => Ok((LinkHeader::Ack(ack.ok_or(Malformed::LinkAck)?), rest)),
        Word::MISSING => {
            let (missing, rest) = parse_missing(ack.ok_or(Malformed::LinkAck)?, number, rest)?;
            Ok((LinkHeader::Missing(missing), rest))
        }
        Word::HELLO => {
            let (hello, rest) = parse_hello(rest)?;
            Ok((LinkHeader::Hello(hello), rest))
        }
        Word::UNPROTECTED => Ok((LinkHeader::Unprotected { epoch, next: number, ack }, rest)),
        other => Err(Malformed::LinkType(other)),
    }
}

/// Length of the output of `emit`.
pub(super) fn len(header: &LinkHeader) -> usize {
    let ack = WORD_BYTES * usize::from(header.ack().is_some());
    let body = match header {
        LinkHeader::Missing(missing) => {
            size_of::<HoleCount>() + size_of::<HoleView>() * missing.hole_count as usize
        }
        LinkHeader::Hello(_) => size_of::<HelloView>(),
        _ => 0,
    };
    WORD_BYTES + ack + body
}

/// Writes the header behind the `EtherType` into `buffer` of its length.
pub(super) fn emit(header: &LinkHeader, buffer: &mut [u8]) {
    assert_eq!(buffer.len(), len(header), "a buffer has the length its header asks for");
    let (word, mut rest) = buffer.split_at_mut(WORD_BYTES);
    view::fill(&U32::new(Word::new(header).0), word);
    if let Some(ack) = header.ack() {
        let (word, behind) = rest.split_at_mut(WORD_BYTES);
        view::fill(&U32::new(AckWord::new(ack).0), word);
        rest = behind;
    }
    match header {
        LinkHeader::Missing(missing) => emit_missing(missing, rest),
        LinkHeader::Hello(hello) => view::fill(&HelloView::from(*hello), rest),
        LinkHeader::Data { .. }
        | LinkHeader::Dummy { .. }
        | LinkHeader::Unprotected { .. }
        | LinkHeader::Ack(_) => {}
    }
}

/// Holes must be in order between the acknowledged number and `upto`, so that the sender can rely on them.
fn parse_missing(ack: Ack, upto: u32, rest: &[u8]) -> Result<(Missing, &[u8]), Malformed> {
    let (HoleCount { count, .. }, mut rest) = view::split::<HoleCount>(rest, "count of holes")?;
    if *count as usize > Missing::HOLES_MAX {
        return Err(Malformed::LinkHoles);
    }
    let from_settled = |number: u32| number.wrapping_sub(ack.next) & NUMBER_MASK;
    let mut holes = [Hole::default(); Missing::HOLES_MAX];
    let mut free = 0;
    for hole in &mut holes[..*count as usize] {
        let (view, behind) = view::split::<HoleView>(rest, "hole")?;
        *hole = Hole { first: view.first.get() & NUMBER_MASK, len: view.len.get() };
        rest = behind;
        let (start, len) = (from_settled(hole.first), hole.len as u32);
        if len == 0 || start < free || start + len > from_settled(upto) {
            return Err(Malformed::LinkHoles);
        }
        free = start + len;
    }
    Ok((Missing { ack, upto, holes, hole_count: *count }, rest))
}

fn emit_missing(missing: &Missing, buffer: &mut [u8]) {
    let (count, rest) = buffer.split_at_mut(size_of::<HoleCount>());
    view::fill(&HoleCount { count: missing.hole_count, reserved: 0 }, count);
    let holes = &missing.holes[..missing.hole_count as usize];
    for (hole, buffer) in holes.iter().zip(rest.chunks_exact_mut(size_of::<HoleView>())) {
        let (first, len) = (U32::new(hole.first & NUMBER_MASK), U16::new(hole.len));
        view::fill(&HoleView { first, len }, buffer);
    }
}

fn parse_hello(rest: &[u8]) -> Result<(Hello, &[u8]), Malformed> {
    let (view, rest) = view::split::<HelloView>(rest, "hello")?;
    if view.magic != MAGIC {
        return Err(Malformed::LinkMagic(u32::from_be_bytes(view.magic)));
    }
    let kind = match view.kind {
        1 => HelloKind::Open,
        2 => HelloKind::Accept,
        3 => HelloKind::Close,
        4 => HelloKind::Closed,
        5 => HelloKind::Unknown,
        6 => HelloKind::Leave,
        7 => HelloKind::Challenge,
        other => return Err(Malformed::LinkHello(other)),
    };
    let (epoch, stamp_ns, rtt_ns) = (view.epoch.get(), view.stamp_ns.get(), view.rtt_ns.get());
    Ok((Hello { kind, epoch, stamp_ns, rtt_ns }, rest))
}

impl From<Hello> for HelloView {
    fn from(hello: Hello) -> Self {
        let kind = match hello.kind {
            HelloKind::Open => 1,
            HelloKind::Accept => 2,
            HelloKind::Close => 3,
            HelloKind::Closed => 4,
            HelloKind::Unknown => 5,
            HelloKind::Leave => 6,
            HelloKind::Challenge => 7,
        };
        let (epoch, stamp_ns, rtt_ns) = (hello.epoch.into(), hello.stamp_ns.into(), hello.rtt_ns.into());
        Self { magic: MAGIC, kind, reserved: [0; 3], epoch, stamp_ns, rtt_ns }
    }
}

impl Word {
    const DATA: u8 = 0;
    const DUMMY: u8 = 1;
    const BARE_ACK: u8 = 2;
    const MISSING: u8 = 3;
    const HELLO: u8 = 4;
    const UNPROTECTED: u8 = 5;

    const ACK: u32 = 1 << 26;
    const RETRANSMITTED: u32 = 1 << 25;
    const ORDERED: u32 = 1 << 24;

    fn new(header: &LinkHeader) -> Self {
        let (kind, epoch, number) = match *header {
            LinkHeader::Data { epoch, seq, .. } => (Self::DATA, epoch, seq),
            LinkHeader::Dummy { epoch, next, .. } => (Self::DUMMY, epoch, next),
            LinkHeader::Ack(_) => (Self::BARE_ACK, 0, 0),
            LinkHeader::Missing(missing) => (Self::MISSING, 0, missing.upto),
            LinkHeader::Hello(_) => (Self::HELLO, 0, 0),
            LinkHeader::Unprotected { epoch, next, .. } => (Self::UNPROTECTED, epoch, next),
        };
        let (ordered, retransmitted) = match *header {
            LinkHeader::Data { ordered, retransmitted, .. } => (ordered, retransmitted),
            _ => (false, false),
        };
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let flags = flag(header.ack().is_some(), Self::ACK)
            | flag(retransmitted, Self::RETRANSMITTED)
            | flag(ordered, Self::ORDERED);
        let head = (VERSION as u32) << 30 | (kind as u32) << 27 | flags;
        Self(head | (epoch as u32 & EPOCH_MASK) << NUMBER_BITS | number & NUMBER_MASK)
    }

    const fn version(self) -> u8 {
        (self.0 >> 30) as u8
    }

    const fn kind(self) -> u8 {
        (self.0 >> 27 & 0b111) as u8
    }

    const fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    const fn epoch(self) -> u8 {
        (self.0 >> NUMBER_BITS & EPOCH_MASK) as u8
    }

    const fn number(self) -> u32 {
        self.0 & NUMBER_MASK
    }
}

impl AckWord {
    const PAUSE: u32 = 1 << 27;

    const fn new(ack: Ack) -> Self {
        let pause = if ack.pause { Self::PAUSE } else { 0 };
        Self((ack.epoch as u32 & EPOCH_MASK) << 28 | pause | ack.next & NUMBER_MASK)
    }

    const fn value(self) -> Ack {
        let (epoch, next) = ((self.0 >> 28) as u8, self.0 & NUMBER_MASK);
        Ack { epoch, next, pause: self.0 & Self::PAUSE != 0 }
    }
}
