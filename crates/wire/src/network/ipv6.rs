//! The IPv6 header (RFC 8200). `RoCEv2` has no extension header between it and UDP.

use std::net::Ipv6Addr;

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Body, TrafficClass};
use crate::Malformed;
use crate::view;

pub(crate) const HEADER_BYTES: usize = 40;

/// An IPv6 header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ipv6Repr {
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
    /// DSCP and ECN.
    pub class: TrafficClass,
    /// Flow label: twenty bits, higher bits are ignored.
    pub flow_label: u32,
    /// Hop limit.
    pub hop_limit: u8,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    version_class_label: U32,
    body_len: U16,
    protocol: u8,
    hop_limit: u8,
    source: [u8; 16],
    destination: [u8; 16],
}
const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

const LABEL_MASK: u32 = (1 << 20) - 1;

impl Ipv6Repr {
    /// Length of the header.
    pub const fn buffer_len(&self) -> usize {
        HEADER_BYTES
    }

    /// Parses the header; returns it, the protocol of the payload and the payload.
    pub fn parse(bytes: &[u8]) -> Result<(Self, u8, Body<'_>), Malformed> {
        let (header, rest) = view::split::<Header>(bytes, "IPv6 header")?;
        let first = header.version_class_label.get();
        if first >> 28 != 6 {
            return Err(Malformed::IpVersion((first >> 28) as u8));
        }
        let ip = Self {
            source: header.source.into(),
            destination: header.destination.into(),
            class: TrafficClass::from_byte((first >> 20) as u8),
            flow_label: first & LABEL_MASK,
            hop_limit: header.hop_limit,
        };
        Ok((ip, header.protocol, Body::new(rest, header.body_len.get() as usize)))
    }

    /// Writes the header of a packet with `body_len` bytes of `protocol` into `buffer` of its length.
    pub fn emit(&self, protocol: u8, body_len: usize, buffer: &mut [u8]) {
        let first = 6 << 28 | (self.class.to_byte() as u32) << 20 | self.flow_label & LABEL_MASK;
        let body_len = u16::try_from(body_len).expect("an IPv6 packet carries at most 65535 bytes");
        let header = Header {
            version_class_label: first.into(),
            body_len: body_len.into(),
            protocol,
            hop_limit: self.hop_limit,
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        view::fill(&header, buffer);
    }
}
