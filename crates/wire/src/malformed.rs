//! Errors of malformed packets.

use std::fmt;

use crate::mac::MacAddr;
use crate::numbers::{FEC_VERSION, LINK_VERSION, ROCE_PORT};

/// Why bytes are not a valid packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The bytes end before the named header does.
    Truncated(&'static str),
    /// Unknown opcode.
    Opcode(u8),
    /// A transport header version other than 0.
    TransportVersion(u8),
    /// The `EtherType` is not the expected one.
    EtherType(u16),
    /// The IP version contradicts the `EtherType`, or is neither 4 nor 6.
    IpVersion(u8),
    /// An IPv4 header shorter than 20 bytes, in 32-bit words.
    IpHeaderWords(u8),
    /// The IPv4 header does not match its checksum.
    IpChecksum,
    /// Part of an IPv4 packet: `RoCEv2` forbids fragments (IBA A17).
    Fragment,
    /// The IP protocol is not UDP.
    Protocol(u8),
    /// The UDP destination port is not that of `RoCEv2`.
    UdpPort(u16),
    /// The named length field is too small.
    Length(&'static str),
    /// The UDP length contradicts the IP length.
    UdpLength {
        /// Length in the UDP header.
        udp: usize,
        /// Length from the IP header.
        ip: usize,
    },
    /// Payload and pad are not a multiple of four bytes (IBA 9.2).
    Alignment(usize),
    /// A MAC control frame that is not a pause.
    MacControl(u16),
    /// Unsupported version of a link header.
    LinkVersion(u8),
    /// Unknown type of a link header.
    LinkType(u8),
    /// A link header lacks the ACK word that its type requires.
    LinkAck,
    /// Holes are empty, out of order, too many, or beyond the end of the notification.
    LinkHoles,
    /// Unknown kind of a hello.
    LinkHello(u8),
    /// The `EtherType` is used by another protocol.
    LinkMagic(u32),
    /// A control frame whose destination is not the nearest bridge.
    LinkDestination,
    /// Unsupported version of an FEC header.
    FecVersion(u8),
    /// Invalid position in an FEC header.
    FecPlace {
        /// Position in the block.
        index: u8,
        /// Data frames of the block; 0 in a data header.
        data_count: u8,
        /// Parities of the block.
        parities: u8,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated(header) => write!(f, "truncated in the {header}"),
            Self::Opcode(opcode) => write!(f, "unknown opcode {opcode:#04x}"),
            Self::TransportVersion(version) => write!(f, "transport header version {version} is not 0"),
            Self::EtherType(ethertype) => write!(f, "unexpected EtherType {ethertype:#06x}"),
            Self::IpVersion(version) => write!(f, "unexpected IP version {version}"),
            Self::IpHeaderWords(words) => write!(f, "IPv4 header of {words} words; at least 5"),
            Self::IpChecksum => f.write_str("wrong IPv4 header checksum"),
            Self::Fragment => f.write_str("IPv4 fragment, which RoCEv2 forbids"),
            Self::Protocol(protocol) => write!(f, "IP protocol {protocol} is not 17 (UDP)"),
            Self::UdpPort(port) => write!(f, "UDP port {port} is not {ROCE_PORT}"),
            Self::Length(field) => write!(f, "the {field} is too small"),
            Self::UdpLength { udp, ip } => {
                write!(f, "UDP length {udp} differs from the IP payload of {ip} bytes")
            }
            Self::Alignment(len) => write!(f, "payload and pad are {len} bytes, not a multiple of 4"),
            Self::MacControl(opcode) => write!(f, "MAC control opcode {opcode:#06x} is not a pause"),
            Self::LinkVersion(version) => {
                write!(f, "link header version {version} is not {LINK_VERSION}")
            }
            Self::LinkType(kind) => write!(f, "unknown link header type {kind}; valid: 0 to 5"),
            Self::LinkAck => f.write_str("link header without the required ACK word"),
            Self::LinkHoles => {
                f.write_str("holes are empty, out of order or beyond the end of the notification")
            }
            Self::LinkHello(kind) => write!(f, "unknown hello kind {kind}; valid: 1 to 5"),
            Self::LinkMagic(magic) => write!(f, "hello with magic {magic:#010x} of another protocol"),
            Self::LinkDestination => {
                write!(f, "the destination of a link control frame must be {}", MacAddr::NEAREST_BRIDGE)
            }
            Self::FecVersion(version) => {
                write!(f, "FEC header version {version} is not {FEC_VERSION}")
            }
            Self::FecPlace { index, data_count: 0, parities } => {
                write!(f, "no block has a data frame at position {index} and {parities} parities")
            }
            Self::FecPlace { index, data_count, parities } => {
                write!(
                    f,
                    "a block of {data_count} data frames and {parities} parities has no parity at position {index}"
                )
            }
        }
    }
}

impl std::error::Error for Malformed {}
