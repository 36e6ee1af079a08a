//! Words ⇄ values: what stands behind the `EtherType` of a link.

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Ack, Hello, HelloKind, Hole, Missing, Signal};
use crate::{MIN_FRAME_BYTES, Malformed, view};

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u8 = crate::numbers::LINK_VERSION;
/// Width of a sequence number.
pub const NUMBER_BITS: u32 = 20;
/// Width of an epoch, everywhere but in a [`Hello`].
pub const EPOCH_BITS: u32 = 4;

/// `version 2 │ type 3 │ A R O │ epoch 4 │ number 20`.
#[derive(Clone, Copy)]
struct Word(u32);

/// `epoch 4 │ pause 1 │ reserved 7 │ number 20`.
#[derive(Clone, Copy)]
struct AckWord(u32);

/// How many holes follow.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct HoleCount {
    count: u8,
    reserved: u8,
}

/// The number in its lowest 20 bits, as everywhere.
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
/// Behind the MAC header and before the FCS of the shortest frame.
pub(super) const BODY_BYTES_MAX: usize = MIN_FRAME_BYTES as usize - 14 - 4;
const MISSING_BYTES_MAX: usize =
    2 * WORD_BYTES + size_of::<HoleCount>() + Missing::HOLES_MAX * size_of::<HoleView>();
const _: () =
    assert!(MISSING_BYTES_MAX <= BODY_BYTES_MAX, "a frame of the link's own has the shortest length");

/// Two uses of an experimental `EtherType` on one cable are told apart before protection starts.
const MAGIC: [u8; 4] = *b"wmnd";
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;
const EPOCH_MASK: u32 = (1 << EPOCH_BITS) - 1;

/// `EtherType`, word and ACK word of a frame that carries another.
pub(super) const fn data_len(ack: bool) -> usize {
    ETHERTYPE_BYTES + WORD_BYTES * (1 + ack as usize)
}

/// Reads what stands behind the `EtherType`, and gives what follows it: the rest of a frame, or padding.
pub(super) fn parse(bytes: &[u8]) -> Result<(Signal, &[u8]), Malformed> {
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
            let (ordered, again) = (word.has(Word::ORDERED), word.has(Word::AGAIN));
            Ok((Signal::Data { epoch, seq: number, ordered, again, ack }, rest))
        }
        Word::DUMMY => Ok((Signal::Dummy { epoch, next: number, ack }, rest)),
        Word::BARE_ACK => Ok((Signal::Ack(ack.ok_or(Malformed::LinkAck)?), rest)),
        Word::MISSING => {
            let (missing, rest) = parse_missing(ack.ok_or(Malformed::LinkAck)?, number, rest)?;
            Ok((Signal::Missing(missing), rest))
        }
        Word::HELLO => {
            let (hello, rest) = parse_hello(rest)?;
            Ok((Signal::Hello(hello), rest))
        }
        Word::LOOSE => Ok((Signal::Loose { epoch, next: number, ack }, rest)),
        other => Err(Malformed::LinkType(other)),
    }
}

/// The length of what `emit` writes.
pub(super) fn len(signal: &Signal) -> usize {
    let ack = WORD_BYTES * usize::from(signal.ack().is_some());
    let body = match signal {
        Signal::Missing(missing) => {
            size_of::<HoleCount>() + size_of::<HoleView>() * missing.hole_count as usize
        }
        Signal::Hello(_) => size_of::<HelloView>(),
        _ => 0,
    };
    WORD_BYTES + ack + body
}

/// Writes what stands behind the `EtherType` into `buffer`, which has its length.
pub(super) fn emit(signal: &Signal, buffer: &mut [u8]) {
    assert_eq!(buffer.len(), len(signal), "a buffer has the length its header asks for");
    let (word, mut rest) = buffer.split_at_mut(WORD_BYTES);
    view::fill(&U32::new(Word::of(signal).0), word);
    if let Some(ack) = signal.ack() {
        let (word, behind) = rest.split_at_mut(WORD_BYTES);
        view::fill(&U32::new(AckWord::of(ack).0), word);
        rest = behind;
    }
    match signal {
        Signal::Missing(missing) => emit_missing(missing, rest),
        Signal::Hello(hello) => view::fill(&HelloView::from(*hello), rest),
        Signal::Data { .. } | Signal::Dummy { .. } | Signal::Loose { .. } | Signal::Ack(_) => {}
    }
}

/// Holes must lie in order between what is settled and `upto`: a sender may believe a notification that was read.
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
    const LOOSE: u8 = 5;

    const ACK: u32 = 1 << 26;
    const AGAIN: u32 = 1 << 25;
    const ORDERED: u32 = 1 << 24;

    fn of(signal: &Signal) -> Self {
        let (kind, epoch, number) = match *signal {
            Signal::Data { epoch, seq, .. } => (Self::DATA, epoch, seq),
            Signal::Dummy { epoch, next, .. } => (Self::DUMMY, epoch, next),
            Signal::Ack(_) => (Self::BARE_ACK, 0, 0),
            Signal::Missing(missing) => (Self::MISSING, 0, missing.upto),
            Signal::Hello(_) => (Self::HELLO, 0, 0),
            Signal::Loose { epoch, next, .. } => (Self::LOOSE, epoch, next),
        };
        let (ordered, again) = match *signal {
            Signal::Data { ordered, again, .. } => (ordered, again),
            _ => (false, false),
        };
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let flags =
            flag(signal.ack().is_some(), Self::ACK) | flag(again, Self::AGAIN) | flag(ordered, Self::ORDERED);
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

    const fn of(ack: Ack) -> Self {
        let pause = if ack.pause { Self::PAUSE } else { 0 };
        Self((ack.epoch as u32 & EPOCH_MASK) << 28 | pause | ack.next & NUMBER_MASK)
    }

    const fn value(self) -> Ack {
        let (epoch, next) = ((self.0 >> 28) as u8, self.0 & NUMBER_MASK);
        Ack { epoch, next, pause: self.0 & Self::PAUSE != 0 }
    }
}
