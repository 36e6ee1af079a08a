//! The IP header of a captured packet, where offloads may have left checksums empty.

use std::net::IpAddr;

use wiremend_wire::Malformed;

use crate::link_layer::split;
use crate::not_roce::NotRoce;

/// An IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHeader {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Differentiated services code point.
    pub dscp: u8,
    /// ECN bits.
    pub ecn: u8,
    /// Identification; IPv6 has none.
    pub id: Option<u16>,
    /// Time to live or hop limit.
    pub ttl: u8,
}

/// A header with what follows it.
pub(crate) struct Parsed<'a> {
    pub(crate) header: IpHeader,
    pub(crate) protocol: u8,
    /// Available bytes behind the header, without padding of Ethernet.
    pub(crate) body: &'a [u8],
    /// Length of the body when it was sent.
    pub(crate) body_len: usize,
    /// Available bytes of the whole packet.
    pub(crate) packet: &'a [u8],
}

/// Most extension headers of IPv6 between the fixed header and UDP.
const EXTENSIONS_MAX: usize = 8;

pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed<'_>, NotRoce> {
    match bytes.first().map(|byte| byte >> 4) {
        None => Err(Malformed::Truncated("IP header").into()),
        Some(4) => version_4(bytes),
        Some(6) => version_6(bytes),
        Some(version) => Err(Malformed::IpVersion(version).into()),
    }
}

fn version_4(bytes: &[u8]) -> Result<Parsed<'_>, NotRoce> {
    let (head, _) = split::<20>(bytes, "IPv4 header")?;
    let header_len = usize::from(head[0] & 0x0F) * 4;
    if header_len < 20 {
        return Err(Malformed::IpHeaderWords(head[0] & 0x0F).into());
    }
    let options = bytes.get(..header_len).ok_or(Malformed::Truncated("IPv4 options"))?;
    // An adapter that computes checksums gets packets with the field 0, and so does a capture before it.
    if (head[10], head[11]) != (0, 0) && checksum(options) != 0 {
        return Err(Malformed::IpChecksum.into());
    }
    if u16::from_be_bytes([head[6], head[7]]) & 0x3FFF != 0 {
        return Err(NotRoce::Fragment);
    }
    let total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    let body_len = total.checked_sub(header_len).ok_or(Malformed::Length("IPv4 total length"))?;
    let packet = &bytes[..total.min(bytes.len())];
    let address = |at: usize| IpAddr::from([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let header = IpHeader {
        source: address(12),
        destination: address(16),
        dscp: head[1] >> 2,
        ecn: head[1] & 0b11,
        id: Some(u16::from_be_bytes([head[4], head[5]])),
        ttl: head[8],
    };
    Ok(Parsed { header, protocol: head[9], body: &packet[header_len..], body_len, packet })
}

/// The Internet checksum (RFC 1071); 0 if the header is intact.
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 =
        header.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn version_6(bytes: &[u8]) -> Result<Parsed<'_>, NotRoce> {
    const HEADER_BYTES: usize = 40;
    let (head, rest) = split::<HEADER_BYTES>(bytes, "IPv6 header")?;
    let mut body_len = usize::from(u16::from_be_bytes([head[4], head[5]]));
    let mut body = &rest[..body_len.min(rest.len())];
    let packet = &bytes[..HEADER_BYTES + body.len()];
    let mut protocol = head[6];
    for _ in 0..EXTENSIONS_MAX {
        let len = match protocol {
            // Hop-by-hop options, routing, destination options (RFC 8200).
            0 | 43 | 60 => 8 + 8 * usize::from(*body.get(1).ok_or(Malformed::Truncated("IPv6 extension"))?),
            44 => {
                let (fragment, _) = split::<8>(body, "IPv6 extension")?;
                // The offset and the M flag.
                if u16::from_be_bytes([fragment[2], fragment[3]]) & 0xFFF9 != 0 {
                    return Err(NotRoce::Fragment);
                }
                8
            }
            _ => break,
        };
        protocol = body[0];
        body = body.get(len..).ok_or(Malformed::Truncated("IPv6 extension"))?;
        body_len = body_len.saturating_sub(len);
    }
    let address = |at: usize| {
        let octets: [u8; 16] = std::array::from_fn(|i| head[at + i]);
        IpAddr::from(octets)
    };
    let class = head[0] << 4 | head[1] >> 4;
    let header = IpHeader {
        source: address(8),
        destination: address(24),
        dscp: class >> 2,
        ecn: class & 0b11,
        id: None,
        ttl: head[7],
    };
    Ok(Parsed { header, protocol, body, body_len, packet })
}
