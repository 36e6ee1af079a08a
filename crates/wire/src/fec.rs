//! The header of a link with forward error correction, version 1. Format: `docs/reference/link-header.md`.
//!
//! As with [`link`](crate::link), a carried frame is unchanged, and the header is between its addresses and
//! the rest. A parity is a control frame of the link.
//!
//! ```text
//!                     ┌──────────── added ────────────┐
//! destination, source │ 0x88B6 │ version … parities 6 │ EtherType or tag, and the rest         Data
//! 01:80:…:0E,  source │ 0x88B6 │ version … parities 6 │ length 2 │ parity │ padding            Parity
//! ```
//!
//! ```
//! use wiremend_wire::fec::{FecFrame, FecHeader};
//!
//! let frame = [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x06][..], &[0; 46]].concat();
//! let header = FecHeader::Data { block: 100, index: 3, parities: 1 };
//! let mut buffer = [&[0; 8][..], &frame].concat();
//! let start = header.encapsulate(&mut buffer, 8)?;
//! assert_eq!(FecFrame::parse(&buffer[start..])?.carried, &frame[12..]);
//!
//! let (received, start) = FecHeader::decapsulate(&mut buffer, start)?;
//! assert_eq!((received, &buffer[start..]), (header, &frame[..]));
//! # Ok::<(), wiremend_wire::Malformed>(())
//! ```

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{MIN_FRAME_BYTES, MacAddr, Malformed, Trailer, view};

/// The second local experimental `EtherType` (IEEE 802 clause 9.2.3).
pub const ETHERTYPE: u16 = 0x88B6;
/// The version that is written, and the only one that is read.
pub const VERSION: u8 = crate::numbers::FEC_VERSION;
/// Most frames of a block, parities included.
const BLOCK_MAX: u16 = 255;

/// The header of a frame on a link with error correction. A block is identified by the number of its first
/// frame, so that a receiver that missed the end of a block can compute its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FecHeader {
    /// A carried frame follows.
    Data {
        /// Number of the block.
        block: u16,
        /// Position in the block, from 0.
        index: u8,
        /// Number of parities of the block.
        parities: u8,
    },
    /// A parity of the frames of a block follows. It ends the block.
    Parity {
        /// Number of the block.
        block: u16,
        /// Position in the block, from `data_count`.
        index: u8,
        /// Number of data frames of the block.
        data_count: u8,
        /// Number of parities of the block.
        parities: u8,
    },
}

/// A received frame with an FEC header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FecFrame<'a> {
    /// The header.
    pub header: FecHeader,
    /// Destination and source of the carried frame or of the control frame.
    pub addresses: &'a [u8; ADDRESSES_BYTES],
    /// The carried frame behind its addresses, from its `EtherType` on; or the parity.
    pub carried: &'a [u8],
}

/// The header behind the `EtherType`.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct View {
    version: u8,
    /// Data frames of the block; 0 in a data header.
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

/// Whether an FEC header follows the addresses of a frame.
#[inline]
pub fn recognises(frame: &[u8]) -> bool {
    frame.get(ADDRESSES_BYTES..ADDRESSES_BYTES + ETHERTYPE_BYTES) == Some(&ETHERTYPE.to_be_bytes())
}

impl FecHeader {
    /// Whether a carried frame follows; otherwise it is a control frame.
    pub const fn is_data(&self) -> bool {
        matches!(self, Self::Data { .. })
    }

    /// Bytes that the header adds to a carried frame; 0 in a control frame.
    #[inline]
    pub const fn added_len(&self) -> u32 {
        match self {
            Self::Data { .. } => HEADER_BYTES as u32,
            Self::Parity { .. } => 0,
        }
    }

    /// Length of the frame that carries a parity of `parity_bytes`.
    pub const fn parity_frame_len(parity_bytes: usize, trailer: Trailer) -> usize {
        let len = ADDRESSES_BYTES + HEADER_BYTES + LENGTH_BYTES + parity_bytes;
        let least = MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes();
        trailer.bytes() + if len < least { least } else { len }
    }

    /// Inserts a data header into the frame at `start` of `buffer`, without its FCS, and returns its new
    /// start. At least `self.added_len()` bytes before `start` must be free. Only the addresses move.
    pub fn encapsulate(&self, buffer: &mut [u8], start: usize) -> Result<usize, Malformed> {
        assert!(self.is_data(), "only a data header stands in front of a frame");
        assert!(start >= HEADER_BYTES, "{start} bytes before a frame are too few for a header");
        view::split::<[u8; ADDRESSES_BYTES + ETHERTYPE_BYTES]>(&buffer[start..], "Ethernet header")?;
        let new_start = start - HEADER_BYTES;
        buffer.copy_within(start..start + ADDRESSES_BYTES, new_start);
        self.emit(&mut buffer[new_start + ADDRESSES_BYTES..start + ADDRESSES_BYTES]);
        Ok(new_start)
    }

    /// Removes the header from the frame at `start` of `buffer`, without its FCS. Returns the header and the
    /// start of the carried frame, which is as before [`FecHeader::encapsulate`]. A control frame is
    /// unchanged.
    pub fn decapsulate(buffer: &mut [u8], start: usize) -> Result<(Self, usize), Malformed> {
        let header = FecFrame::parse(&buffer[start..])?.header;
        let new_start = start + header.added_len() as usize;
        buffer.copy_within(start..start + ADDRESSES_BYTES, new_start);
        Ok((header, new_start))
    }

    /// Writes the frame of a parity into `buffer` of [its length](Self::parity_frame_len). `source` is the
    /// port's address.
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

    /// Reads a header; refuses positions outside a block.
    fn read(view: &View) -> Result<Self, Malformed> {
        let View { version, data_count, block, index, parities } = *view;
        if version != VERSION {
            return Err(Malformed::FecVersion(version));
        }
        let block = block.get();
        let (header, end) = if data_count == 0 {
            (Self::Data { block, index, parities }, u16::from(index) + 1)
        } else {
            (Self::Parity { block, index, data_count, parities }, u16::from(data_count))
        };
        let last = end + u16::from(parities);
        let is_place =
            parities > 0 && last <= BLOCK_MAX && (data_count == 0 || (end..last).contains(&u16::from(index)));
        if is_place { Ok(header) } else { Err(Malformed::FecPlace { index, data_count, parities }) }
    }
}

impl<'a> FecFrame<'a> {
    /// Parses a frame without its FCS.
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let (addresses, rest) = frame.split_first_chunk().ok_or(Malformed::Truncated("Ethernet header"))?;
        let (ethertype, rest) = view::split::<U16>(rest, "EtherType")?;
        if ethertype.get() != ETHERTYPE {
            return Err(Malformed::EtherType(ethertype.get()));
        }
        let (view, rest) = view::split::<View>(rest, "FEC header")?;
        let header = FecHeader::read(view)?;
        if header.is_data() {
            if rest.len() < ETHERTYPE_BYTES {
                return Err(Malformed::Truncated("EtherType of the carried frame"));
            }
            return Ok(Self { header, addresses, carried: rest });
        }
        // A bridge forwards frames to other addresses, so this frame is not from the other end of the link.
        if addresses[..size_of::<MacAddr>()] != MacAddr::NEAREST_BRIDGE.0 {
            return Err(Malformed::LinkDestination);
        }
        let (len, rest) = view::split::<U16>(rest, "length of the parity")?;
        let carried = rest.get(..usize::from(len.get())).ok_or(Malformed::Truncated("parity"))?;
        Ok(Self { header, addresses, carried })
    }
}
