//! IP headers of both versions.

use std::net::IpAddr;

use super::{Body, ETHERTYPE_IPV4, ETHERTYPE_IPV6, IPV4_BYTES, IPV6_BYTES, Ipv4Repr, Ipv6Repr, TrafficClass};
use crate::Malformed;

/// A version of IP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[expect(missing_docs, reason = "the names say all")]
pub enum IpVersion {
    #[default]
    V4,
    V6,
}

impl IpVersion {
    /// Length of a header without options.
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::V4 => IPV4_BYTES,
            Self::V6 => IPV6_BYTES,
        }
    }
}

/// An IP header of either version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the names say all")]
pub enum IpRepr {
    V4(Ipv4Repr),
    V6(Ipv6Repr),
}

impl IpRepr {
    /// The IP version.
    pub const fn version(&self) -> IpVersion {
        match self {
            Self::V4(_) => IpVersion::V4,
            Self::V6(_) => IpVersion::V6,
        }
    }

    /// The `EtherType` of this header.
    pub const fn ethertype(&self) -> u16 {
        match self {
            Self::V4(_) => ETHERTYPE_IPV4,
            Self::V6(_) => ETHERTYPE_IPV6,
        }
    }

    /// Source and destination address.
    pub const fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4(ip) => (IpAddr::V4(ip.source), IpAddr::V4(ip.destination)),
            Self::V6(ip) => (IpAddr::V6(ip.source), IpAddr::V6(ip.destination)),
        }
    }

    /// DSCP and ECN.
    pub const fn class(&self) -> TrafficClass {
        match self {
            Self::V4(ip) => ip.class,
            Self::V6(ip) => ip.class,
        }
    }

    /// Length of the header.
    pub const fn buffer_len(&self) -> usize {
        self.version().header_bytes()
    }

    /// Parses the header of `ethertype`; returns it, the protocol of the payload and the payload.
    pub fn parse(ethertype: u16, bytes: &[u8]) -> Result<(Self, u8, Body<'_>), Malformed> {
        match ethertype {
            ETHERTYPE_IPV4 => {
                Ipv4Repr::parse(bytes).map(|(ip, protocol, body)| (Self::V4(ip), protocol, body))
            }
            ETHERTYPE_IPV6 => {
                Ipv6Repr::parse(bytes).map(|(ip, protocol, body)| (Self::V6(ip), protocol, body))
            }
            other => Err(Malformed::EtherType(other)),
        }
    }

    /// Writes the header of a packet with `body_len` bytes of `protocol` into `buffer` of its length.
    pub fn emit(&self, protocol: u8, body_len: usize, buffer: &mut [u8]) {
        match self {
            Self::V4(ip) => ip.emit(protocol, body_len, buffer),
            Self::V6(ip) => ip.emit(protocol, body_len, buffer),
        }
    }
}

/// Length of the IP header at the start of `packet`, with options.
pub(crate) fn header_len(packet: &[u8]) -> Result<usize, Malformed> {
    let first = *packet.first().ok_or(Malformed::Truncated("IP header"))?;
    match first >> 4 {
        4 => match first & 0x0F {
            words @ 5.. => Ok(4 * words as usize),
            words => Err(Malformed::IpHeaderWords(words)),
        },
        6 => Ok(IPV6_BYTES),
        version => Err(Malformed::IpVersion(version)),
    }
}
