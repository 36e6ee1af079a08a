//! Complete frames: a link header between the addresses of a frame and its rest, and control frames.

use super::{LinkHeader, bytes};
use crate::{MIN_FRAME_BYTES, MacAddr, Malformed, Trailer, view};

/// The `EtherType` of link headers. Both ends of a link must use the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkCodec {
    /// Must not be the `EtherType` of other frames on the link.
    pub ethertype: u16,
}

/// A received frame with a link header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkFrame<'a> {
    /// The link header.
    pub header: LinkHeader,
    /// Destination and source of the carried frame or of the control frame.
    pub addresses: &'a [u8; ADDRESSES_BYTES],
    /// The carried frame behind its addresses, from its `EtherType` on. Empty in a control frame.
    pub carried: &'a [u8],
}

const ADDRESSES_BYTES: usize = 12;
const ETHERTYPE_BYTES: usize = 2;

impl Default for LinkCodec {
    fn default() -> Self {
        Self { ethertype: Self::LOCAL_EXPERIMENTAL }
    }
}

impl LinkCodec {
    /// The first local experimental `EtherType` (IEEE 802 clause 9.2.3).
    pub const LOCAL_EXPERIMENTAL: u16 = 0x88B5;

    /// Whether a link header follows the addresses. Such a frame from the host side is refused: it would
    /// forge a header, and on an unprotected link it would be taken for one.
    #[inline]
    pub fn recognises(self, frame: &[u8]) -> bool {
        frame.get(ADDRESSES_BYTES..ADDRESSES_BYTES + ETHERTYPE_BYTES) == Some(&self.ethertype.to_be_bytes())
    }

    /// Parses a frame without its FCS.
    pub fn parse(self, frame: &[u8]) -> Result<LinkFrame<'_>, Malformed> {
        let (addresses, rest) = frame.split_first_chunk().ok_or(Malformed::Truncated("Ethernet header"))?;
        let (ethertype, rest) = rest.split_first_chunk().ok_or(Malformed::Truncated("EtherType"))?;
        let ethertype = u16::from_be_bytes(*ethertype);
        if ethertype != self.ethertype {
            return Err(Malformed::EtherType(ethertype));
        }
        let (header, rest) = bytes::parse(rest)?;
        if header.is_data() {
            if rest.len() < ETHERTYPE_BYTES {
                return Err(Malformed::Truncated("EtherType of the carried frame"));
            }
            return Ok(LinkFrame { header, addresses, carried: rest });
        }
        // A bridge forwards frames to other addresses, so this frame is not from the other end of the link.
        if addresses[..size_of::<MacAddr>()] != MacAddr::NEAREST_BRIDGE.0 {
            return Err(Malformed::LinkDestination);
        }
        Ok(LinkFrame { header, addresses, carried: &[] })
    }

    /// Writes the addresses and the link header, which replace the first twelve bytes of a frame, into
    /// `buffer` of `12 + header.added_len()` bytes. For callers that send frames in pieces.
    pub fn emit_head(self, header: &LinkHeader, addresses: &[u8; ADDRESSES_BYTES], buffer: &mut [u8]) {
        assert!(header.is_data(), "only a data header stands in front of a frame");
        assert_eq!(
            buffer.len(),
            ADDRESSES_BYTES + header.added_len() as usize,
            "a buffer has the length its header asks for"
        );
        let (front, rest) = buffer.split_at_mut(ADDRESSES_BYTES);
        front.copy_from_slice(addresses);
        let (ethertype, words) = rest.split_at_mut(ETHERTYPE_BYTES);
        ethertype.copy_from_slice(&self.ethertype.to_be_bytes());
        bytes::emit(header, words);
    }

    /// Inserts a data header into the frame at `start` of `buffer`, without its FCS, and returns its new
    /// start. At least `header.added_len()` bytes before `start` must be free. Only the addresses move.
    pub fn encapsulate(
        self,
        header: &LinkHeader,
        buffer: &mut [u8],
        start: usize,
    ) -> Result<usize, Malformed> {
        let frame = &buffer[start..];
        view::split::<[u8; ADDRESSES_BYTES + ETHERTYPE_BYTES]>(frame, "Ethernet header")?;
        let addresses = *frame.first_chunk().expect("there are as many bytes and more");
        let added = header.added_len() as usize;
        assert!(start >= added, "{start} bytes before a frame are too few for {added} of header");
        let new_start = start - added;
        self.emit_head(header, &addresses, &mut buffer[new_start..start + ADDRESSES_BYTES]);
        Ok(new_start)
    }

    /// Removes the header from the frame at `start` of `buffer`, without its FCS. Returns the header and the
    /// start of the carried frame, which is as before [`LinkCodec::encapsulate`]. A control frame is
    /// unchanged.
    pub fn decapsulate(self, buffer: &mut [u8], start: usize) -> Result<(LinkHeader, usize), Malformed> {
        let header = self.parse(&buffer[start..])?.header;
        let new_start = start + header.added_len() as usize;
        buffer.copy_within(start..start + ADDRESSES_BYTES, new_start);
        Ok((header, new_start))
    }

    /// Length of a control frame: the Ethernet minimum.
    pub const fn control_len(self, trailer: Trailer) -> usize {
        MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes() + trailer.bytes()
    }

    /// Writes a control frame into `buffer` of its length. `source` is the port's address.
    pub fn emit_control(self, header: &LinkHeader, source: MacAddr, trailer: Trailer, buffer: &mut [u8]) {
        assert!(!header.is_data(), "a data header stands in front of a frame");
        assert_eq!(buffer.len(), self.control_len(trailer), "a buffer has the length its frame asks for");
        buffer.fill(0);
        let fields = [&MacAddr::NEAREST_BRIDGE.0[..], &source.0, &self.ethertype.to_be_bytes()];
        let mut at = 0;
        for field in fields {
            buffer[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        bytes::emit(header, &mut buffer[at..at + bytes::len(header)]);
        trailer.seal(buffer);
    }
}
