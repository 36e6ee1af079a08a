//! The seal behind a control frame of a link whose ends share a key.

use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::LinkCodec;
use crate::{Trailer, view};

/// Shows that a control frame is from an end with the key, and that it is not an old one. It follows the frame of
/// minimum length, so that an end without a key reads the frame and ignores the seal.
///
/// ```text
/// │ control frame 60 │ mark 4 │ counter 8 │ echo 8 │ tag 16 │
/// └──────────────── covered by the tag ─────────────┘
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seal {
    /// Grows by one with each sealed frame of an end, from a random start.
    pub counter: u64,
    /// Latest counter that the end has received, or 0.
    pub echo: u64,
    /// Keyed hash.
    pub tag: [u8; TAG_BYTES],
}

/// Length of a tag.
pub const TAG_BYTES: usize = 16;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SealView {
    mark: [u8; 4],
    counter: U64,
    echo: U64,
    tag: [u8; TAG_BYTES],
}

const MARK: [u8; 4] = *b"seal";
const CONTROL_BYTES: usize = LinkCodec { ethertype: 0 }.control_len(Trailer::None);
const COVERED_BYTES: usize = Seal::FRAME_BYTES - TAG_BYTES;

impl Seal {
    /// Length of a sealed frame without its FCS.
    pub const FRAME_BYTES: usize = CONTROL_BYTES + size_of::<SealView>();

    /// Returns the seal of a control frame and the bytes that its tag covers. `None`: it has no seal.
    pub fn parse(frame: &[u8]) -> Option<(Self, &[u8])> {
        let (view, _) = view::split::<SealView>(frame.get(CONTROL_BYTES..)?, "seal").ok()?;
        let seal = Self { counter: view.counter.get(), echo: view.echo.get(), tag: view.tag };
        (view.mark == MARK).then_some((seal, &frame[..COVERED_BYTES]))
    }

    /// Seals the control frame at the start of `frame`. `tag` computes the tag of the covered bytes.
    pub fn emit(
        frame: &mut [u8; Self::FRAME_BYTES],
        counter: u64,
        echo: u64,
        tag: impl FnOnce(&[u8]) -> [u8; TAG_BYTES],
    ) {
        let view = SealView { mark: MARK, counter: counter.into(), echo: echo.into(), tag: [0; TAG_BYTES] };
        view::fill(&view, &mut frame[CONTROL_BYTES..]);
        let tag = tag(&frame[..COVERED_BYTES]);
        frame[COVERED_BYTES..].copy_from_slice(&tag);
    }
}
