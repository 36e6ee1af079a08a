//! The UDP header (RFC 768).

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Body;
use crate::Malformed;
use crate::view;

/// A UDP header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct UdpRepr {
    /// Source port; in `RoCEv2` the entropy for path choice.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Checksum field, not computed: `RoCEv2` sends 0, because the ICRC covers more.
    pub checksum: u16,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    source_port: U16,
    destination_port: U16,
    len: U16,
    checksum: U16,
}
const _: () = assert!(size_of::<Header>() == UdpRepr::BYTES);

impl UdpRepr {
    /// Length of the header.
    pub const BYTES: usize = 8;

    /// Length of the header.
    pub const fn buffer_len(&self) -> usize {
        Self::BYTES
    }

    /// Parses the header; returns it and the payload.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Body<'_>), Malformed> {
        let (header, rest) = view::split::<Header>(bytes, "UDP header")?;
        let body_len = (header.len.get() as usize).checked_sub(Self::BYTES);
        let udp = Self {
            source_port: header.source_port.get(),
            destination_port: header.destination_port.get(),
            checksum: header.checksum.get(),
        };
        Ok((udp, Body::new(rest, body_len.ok_or(Malformed::Length("UDP length"))?)))
    }

    /// Writes the header of a datagram with `body_len` bytes into `buffer` of its length.
    pub fn emit(&self, body_len: usize, buffer: &mut [u8]) {
        let len = u16::try_from(Self::BYTES + body_len).expect("a datagram has at most 65535 bytes");
        let header = Header {
            source_port: self.source_port.into(),
            destination_port: self.destination_port.into(),
            len: len.into(),
            checksum: self.checksum.into(),
        };
        view::fill(&header, buffer);
    }
}
