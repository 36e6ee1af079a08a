//! The IPv4 header (RFC 791).

use std::net::Ipv4Addr;

use zerocopy::byteorder::big_endian::U16;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Body, TrafficClass};
use crate::Malformed;
use crate::view;

/// IP protocol number of UDP.
pub(crate) const PROTOCOL_UDP: u8 = 17;
pub(crate) const MIN_HEADER_BYTES: usize = 20;

/// An IPv4 header. Options are skipped by `parse` and never written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ipv4Repr {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// DSCP and ECN.
    pub class: TrafficClass,
    /// Identification field.
    pub identification: u16,
    /// DF flag; `RoCEv2` sets it.
    pub dont_fragment: bool,
    /// Time to live.
    pub ttl: u8,
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    version_words: u8,
    class: u8,
    total_len: U16,
    identification: U16,
    fragment: U16,
    ttl: u8,
    protocol: u8,
    checksum: U16,
    source: [u8; 4],
    destination: [u8; 4],
}
const _: () = assert!(size_of::<Header>() == MIN_HEADER_BYTES);

const VERSION_WORDS: u8 = 0x45;
const DONT_FRAGMENT: u16 = 1 << 14;
/// MF flag or fragment offset.
const FRAGMENTED: u16 = 0x3FFF;

impl Ipv4Repr {
    /// Length of the header as written.
    pub const fn buffer_len(&self) -> usize {
        MIN_HEADER_BYTES
    }

    /// Parses the header; returns it, the protocol of the payload and the payload.
    pub fn parse(bytes: &[u8]) -> Result<(Self, u8, Body<'_>), Malformed> {
        let (header, _) = view::split::<Header>(bytes, "IPv4 header")?;
        let (version, words) = (header.version_words >> 4, header.version_words & 0x0F);
        if version != 4 {
            return Err(Malformed::IpVersion(version));
        }
        if words < 5 {
            return Err(Malformed::IpHeaderWords(words));
        }
        let (with_options, rest) =
            bytes.split_at_checked(4 * words as usize).ok_or(Malformed::Truncated("IPv4 options"))?;
        if checksum(with_options) != 0 {
            return Err(Malformed::IpChecksum);
        }
        if header.fragment.get() & FRAGMENTED != 0 {
            return Err(Malformed::Fragment);
        }
        let body_len = (header.total_len.get() as usize).checked_sub(with_options.len());
        let body_len = body_len.ok_or(Malformed::Length("IPv4 total length"))?;
        let ip = Self {
            source: header.source.into(),
            destination: header.destination.into(),
            class: TrafficClass::from_byte(header.class),
            identification: header.identification.get(),
            dont_fragment: header.fragment.get() & DONT_FRAGMENT != 0,
            ttl: header.ttl,
        };
        Ok((ip, header.protocol, Body::new(rest, body_len)))
    }

    /// Writes the header of a packet with `body_len` bytes of `protocol` into `buffer` of its length.
    pub fn emit(&self, protocol: u8, body_len: usize, buffer: &mut [u8]) {
        let total_len = u16::try_from(MIN_HEADER_BYTES + body_len);
        let mut header = Header {
            version_words: VERSION_WORDS,
            class: self.class.to_byte(),
            total_len: total_len.expect("an IPv4 packet has at most 65535 bytes").into(),
            identification: self.identification.into(),
            fragment: U16::new(if self.dont_fragment { DONT_FRAGMENT } else { 0 }),
            ttl: self.ttl,
            protocol,
            checksum: U16::ZERO,
            source: self.source.octets(),
            destination: self.destination.octets(),
        };
        header.checksum = checksum(header.as_bytes()).into();
        view::fill(&header, buffer);
    }
}

/// Internet checksum (RFC 1071); zero over a header with a valid checksum.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}
