//! Whole frames: a header between the addresses of a frame and the rest of it, and frames of the link's own.

use super::{Signal, header};
use crate::{MIN_FRAME_BYTES, MacAddr, Malformed, Trailer, view};

/// By which `EtherType` a link header is known. Both ends of a link must agree on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// Not one that a frame of somebody else's starts with.
    pub ethertype: u16,
}

/// A frame that came with a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received<'a> {
    /// What the header says.
    pub signal: Signal,
    /// Destination and source: of the frame that is carried, or of the link's own.
    pub addresses: &'a [u8; ADDRESSES_BYTES],
    /// What follows the addresses in the frame that is carried, its `EtherType` first. Nothing in the link's own.
    pub carried: &'a [u8],
}

const ADDRESSES_BYTES: usize = 12;
const ETHERTYPE_BYTES: usize = 2;

impl Default for Dialect {
    fn default() -> Self {
        Self { ethertype: Self::LOCAL_EXPERIMENTAL }
    }
}

impl Dialect {
    /// For experiments within a network (IEEE 802 clause 9.2.3).
    pub const LOCAL_EXPERIMENTAL: u16 = 0x88B5;

    /// Whether a link header follows the addresses. Such a frame is never taken from the side of the host: not as a header,
    /// because it would forge one, and not as a frame to carry, because on a dormant link it would arrive as one.
    #[inline]
    pub fn recognises(self, frame: &[u8]) -> bool {
        frame.get(ADDRESSES_BYTES..ADDRESSES_BYTES + ETHERTYPE_BYTES) == Some(&self.ethertype.to_be_bytes())
    }

    /// Reads a frame without its FCS.
    pub fn parse(self, frame: &[u8]) -> Result<Received<'_>, Malformed> {
        let (addresses, rest) = frame.split_first_chunk().ok_or(Malformed::Truncated("Ethernet header"))?;
        let (ethertype, rest) = rest.split_first_chunk().ok_or(Malformed::Truncated("EtherType"))?;
        let ethertype = u16::from_be_bytes(*ethertype);
        if ethertype != self.ethertype {
            return Err(Malformed::EtherType(ethertype));
        }
        let (signal, rest) = header::parse(rest)?;
        if signal.is_data() {
            if rest.len() < ETHERTYPE_BYTES {
                return Err(Malformed::Truncated("EtherType of the carried frame"));
            }
            return Ok(Received { signal, addresses, carried: rest });
        }
        // A bridge would have forwarded a frame to anybody else: it is not from the other end of this link.
        if addresses[..size_of::<MacAddr>()] != MacAddr::NEAREST_BRIDGE.0 {
            return Err(Malformed::LinkDestination);
        }
        Ok(Received { signal, addresses, carried: &[] })
    }

    /// Writes what stands on the wire in place of the first twelve bytes of a frame, its `addresses`: these and the header.
    /// `buffer` has `12 + signal.added_len()` bytes. For those who hand frames over in pieces.
    pub fn emit_head(self, signal: &Signal, addresses: &[u8; ADDRESSES_BYTES], buffer: &mut [u8]) {
        assert!(signal.is_data(), "only a data header stands in front of a frame");
        assert_eq!(
            buffer.len(),
            ADDRESSES_BYTES + signal.added_len() as usize,
            "a buffer has the length its header asks for"
        );
        let (front, rest) = buffer.split_at_mut(ADDRESSES_BYTES);
        front.copy_from_slice(addresses);
        let (ethertype, words) = rest.split_at_mut(ETHERTYPE_BYTES);
        ethertype.copy_from_slice(&self.ethertype.to_be_bytes());
        header::emit(signal, words);
    }

    /// Puts a data header into the frame that lies in `buffer` from `start` on, without its FCS, and gives its new start: there are
    /// at least `signal.added_len()` bytes of room before it. Only addresses move.
    pub fn encapsulate(self, signal: &Signal, buffer: &mut [u8], start: usize) -> Result<usize, Malformed> {
        let frame = &buffer[start..];
        view::split::<[u8; ADDRESSES_BYTES + ETHERTYPE_BYTES]>(frame, "Ethernet header")?;
        let addresses = *frame.first_chunk().expect("there are as many bytes and more");
        let added = signal.added_len() as usize;
        assert!(start >= added, "{start} bytes before a frame are too few for {added} of header");
        let new_start = start - added;
        self.emit_head(signal, &addresses, &mut buffer[new_start..start + ADDRESSES_BYTES]);
        Ok(new_start)
    }

    /// Takes a header out of the frame that lies in `buffer` from `start` on, without its FCS: what it says, and where the frame
    /// starts that it carried, which is as it was before [`Dialect::encapsulate`]. A frame of the link's own stays as it is.
    pub fn decapsulate(self, buffer: &mut [u8], start: usize) -> Result<(Signal, usize), Malformed> {
        let signal = self.parse(&buffer[start..])?.signal;
        let new_start = start + signal.added_len() as usize;
        buffer.copy_within(start..start + ADDRESSES_BYTES, new_start);
        Ok((signal, new_start))
    }

    /// The length of a frame of the link's own: the shortest there is.
    pub const fn own_len(self, trailer: Trailer) -> usize {
        MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes() + trailer.bytes()
    }

    /// Writes a frame of the link's own into `buffer`, which has its length. `source` is the port's address.
    pub fn emit_own(self, signal: &Signal, source: MacAddr, trailer: Trailer, buffer: &mut [u8]) {
        assert!(!signal.is_data(), "a data header stands in front of a frame");
        assert_eq!(buffer.len(), self.own_len(trailer), "a buffer has the length its frame asks for");
        buffer.fill(0);
        let fields = [&MacAddr::NEAREST_BRIDGE.0[..], &source.0, &self.ethertype.to_be_bytes()];
        let mut at = 0;
        for field in fields {
            buffer[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        header::emit(signal, &mut buffer[at..at + header::len(signal)]);
        trailer.seal(buffer);
    }
}
