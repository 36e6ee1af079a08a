//! The header of a link that sends parities behind what it carries, version 1. Bit by bit: `docs/link-wire.md`.
//!
//! As with [`link`](crate::link), a frame of somebody else's is left as it is, and the header stands between its addresses and whatever followed
//! them. A parity is a frame of the link's own.
//!
//! ```text
//!                     ┌──────────── added ────────────┐
//! destination, source │ 0x88B6 │ version … parities 6 │ EtherType or tag, and the rest         Data
//! 01:80:…:0E,  source │ 0x88B6 │ version … parities 6 │ length 2 │ parity │ padding            Parity
//! ```
//!
//! ```
//! use wiremend_wire::fec::{Received, Signal};
//!
//! let frame = [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x06][..], &[0; 46]].concat();
//! let signal = Signal::Data { block: 100, index: 3, parities: 1 };
//! let mut buffer = [&[0; 8][..], &frame].concat();
//! let start = signal.encapsulate(&mut buffer, 8)?;
//! assert_eq!(Received::parse(&buffer[start..])?.carried, &frame[12..]);
//!
//! let (received, start) = Signal::decapsulate(&mut buffer, start)?;
//! assert_eq!((received, &buffer[start..]), (signal, &frame[..]));
//! # Ok::<(), wiremend_wire::Malformed>(())
//! ```

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{MIN_FRAME_BYTES, MacAddr, Malformed, Trailer, view};

/// For experiments within a network, the second of the two (IEEE 802 clause 9.2.3).
pub const ETHERTYPE: u16 = 0x88B6;
/// The version of the format that is written, and the only one that is read.
pub const VERSION: u8 = crate::numbers::FEC_VERSION;
/// The most frames of a block, parities included.
const BLOCK_MAX: u16 = 255;

/// The header of a frame on a link with error correction. A block is named by the number of its first frame, so that a receiver
/// that has missed the end of one, or all of it, can still tell how many frames it had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// A frame of somebody else's follows.
    Data {
        /// Of which block.
        block: u16,
        /// Its place in the block, from 0.
        index: u8,
        /// How many parities there will be.
        parities: u8,
    },
    /// A parity of the frames of a block follows. It closes the block.
    Parity {
        /// Of which block.
        block: u16,
        /// Its place in the block: from `data_count` on.
        index: u8,
        /// How many frames the block has.
        data_count: u8,
        /// How many parities there are.
        parities: u8,
    },
}

/// A frame that came with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received<'a> {
    /// What the header says.
    pub signal: Signal,
    /// Destination and source: of the frame that is carried, or of the link's own.
    pub addresses: &'a [u8; ADDRESSES_BYTES],
    /// What follows the addresses in the frame that is carried, its `EtherType` first; or the parity.
    pub carried: &'a [u8],
}

/// What stands behind the `EtherType`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct View {
    version: u8,
    /// Frames of the block; 0 in front of one of them.
    data_count: u8,
    block: U16,
    index: u8,
    parities: u8,
}
const _: () = assert!(size_of::<View>() == 6);

const ADDRESSES_BYTES: usize = 12;
const ETHERTYPE_BYTES: usize = 2;
const LENGTH_BYTES: usize = 2;
const HEADER_BYTES: usize = ETHERTYPE_BYTES + size_of::<View>();

/// Whether such a header follows the addresses of a frame.
#[inline]
pub fn recognises(frame: &[u8]) -> bool {
    frame.get(ADDRESSES_BYTES..ADDRESSES_BYTES + ETHERTYPE_BYTES) == Some(&ETHERTYPE.to_be_bytes())
}

impl Signal {
    /// Whether it travels in front of a frame of somebody else's; the other is a frame of the link's own.
    pub const fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. })
    }

    /// Bytes by which the frame behind it grows. None in a frame of the link's own.
    #[inline]
    pub const fn added_len(&self) -> u32 {
        match self {
            Self::Data { .. } => HEADER_BYTES as u32,
            Self::Parity { .. } => 0,
        }
    }

    /// The length of the frame that carries a parity of `parity_bytes`.
    pub const fn parity_frame_len(parity_bytes: usize, trailer: Trailer) -> usize {
        let len = ADDRESSES_BYTES + HEADER_BYTES + LENGTH_BYTES + parity_bytes;
        let least = MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes();
        trailer.bytes() + if len < least { least } else { len }
    }

    /// Puts a data header into the frame that lies in `buffer` from `start` on, without its FCS, and gives its new start: there are
    /// at least `self.added_len()` bytes of room before it. Only addresses move.
    pub fn encapsulate(&self, buffer: &mut [u8], start: usize) -> Result<usize, Malformed> {
        assert!(self.is_data(), "only a data header stands in front of a frame");
        assert!(start >= HEADER_BYTES, "{start} bytes before a frame are too few for a header");
        view::split::<[u8; ADDRESSES_BYTES + ETHERTYPE_BYTES]>(&buffer[start..], "Ethernet header")?;
        let new_start = start - HEADER_BYTES;
        buffer.copy_within(start..start + ADDRESSES_BYTES, new_start);
        self.emit(&mut buffer[new_start + ADDRESSES_BYTES..start + ADDRESSES_BYTES]);
        Ok(new_start)
    }

    /// Takes a header out of the frame that lies in `buffer` from `start` on, without its FCS: what it says, and where the frame
    /// starts that it carried, which is as it was before [`Signal::encapsulate`]. A frame of the link's own stays as it is.
    pub fn decapsulate(buffer: &mut [u8], start: usize) -> Result<(Self, usize), Malformed> {
        let signal = Received::parse(&buffer[start..])?.signal;
        let new_start = start + signal.added_len() as usize;
        buffer.copy_within(start..start + ADDRESSES_BYTES, new_start);
        Ok((signal, new_start))
    }

    /// Writes the frame of a parity into `buffer`, which has [its length](Self::parity_frame_len). `source` is the port's address.
    pub fn emit_parity(&self, parity: &[u8], source: MacAddr, trailer: Trailer, buffer: &mut [u8]) {
        assert!(!self.is_data(), "a data header stands in front of a frame");
        let len = u16::try_from(parity.len()).expect("a parity is not much longer than a frame");
        assert_eq!(
            buffer.len(),
            Self::parity_frame_len(parity.len(), trailer),
            "a buffer has the length its frame asks for"
        );
        buffer.fill(0);
        let (front, rest) = buffer.split_at_mut(ADDRESSES_BYTES);
        front[..size_of::<MacAddr>()].copy_from_slice(&MacAddr::NEAREST_BRIDGE.0);
        front[size_of::<MacAddr>()..].copy_from_slice(&source.0);
        let (header, rest) = rest.split_at_mut(HEADER_BYTES);
        self.emit(header);
        rest[..LENGTH_BYTES].copy_from_slice(&len.to_be_bytes());
        rest[LENGTH_BYTES..LENGTH_BYTES + parity.len()].copy_from_slice(parity);
        trailer.seal(buffer);
    }

    fn emit(self, buffer: &mut [u8]) {
        let (ethertype, rest) = buffer.split_at_mut(ETHERTYPE_BYTES);
        ethertype.copy_from_slice(&ETHERTYPE.to_be_bytes());
        let (block, index, data_count, parities) = match self {
            Self::Data { block, index, parities } => (block, index, 0, parities),
            Self::Parity { block, index, data_count, parities } => (block, index, data_count, parities),
        };
        view::fill(&View { version: VERSION, data_count, block: block.into(), index, parities }, rest);
    }

    /// Places that no block has are refused.
    fn read(view: &View) -> Result<Self, Malformed> {
        let View { version, data_count, block, index, parities } = *view;
        if version != VERSION {
            return Err(Malformed::FecVersion(version));
        }
        let block = block.get();
        let (signal, end) = if data_count == 0 {
            (Self::Data { block, index, parities }, u16::from(index) + 1)
        } else {
            (Self::Parity { block, index, data_count, parities }, u16::from(data_count))
        };
        let last = end + u16::from(parities);
        let is_place =
            parities > 0 && last <= BLOCK_MAX && (data_count == 0 || (end..last).contains(&u16::from(index)));
        if is_place { Ok(signal) } else { Err(Malformed::FecPlace { index, data_count, parities }) }
    }
}

impl<'a> Received<'a> {
    /// Reads a frame without its FCS.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let (addresses, rest) = frame.split_first_chunk().ok_or(Malformed::Truncated("Ethernet header"))?;
        let (ethertype, rest) = view::split::<U16>(rest, "EtherType")?;
        if ethertype.get() != ETHERTYPE {
            return Err(Malformed::EtherType(ethertype.get()));
        }
        let (view, rest) = view::split::<View>(rest, "FEC header")?;
        let signal = Signal::read(view)?;
        if signal.is_data() {
            if rest.len() < ETHERTYPE_BYTES {
                return Err(Malformed::Truncated("EtherType of the carried frame"));
            }
            return Ok(Self { signal, addresses, carried: rest });
        }
        // A bridge would have forwarded a frame to anybody else: it is not from the other end of this link.
        if addresses[..size_of::<MacAddr>()] != MacAddr::NEAREST_BRIDGE.0 {
            return Err(Malformed::LinkDestination);
        }
        let (len, rest) = view::split::<U16>(rest, "length of the parity")?;
        let carried = rest.get(..usize::from(len.get())).ok_or(Malformed::Truncated("parity"))?;
        Ok(Self { signal, addresses, carried })
    }
}
