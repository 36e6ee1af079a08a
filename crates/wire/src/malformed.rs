//! Why bytes are refused.

use std::fmt;

use crate::mac::MacAddr;
use crate::numbers::{FEC_VERSION, LINK_VERSION, ROCE_PORT};

/// Why bytes are not the packet they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// The bytes end before the named header does.
    Truncated(&'static str),
    /// No such operation.
    Opcode(u8),
    /// A transport header version other than 0.
    TransportVersion(u8),
    /// What follows the Ethernet header is not what was asked for.
    EtherType(u16),
    /// An IP header whose version contradicts the `EtherType`, or is neither 4 nor 6.
    IpVersion(u8),
    /// An IPv4 header shorter than 20 bytes, in 32-bit words.
    IpHeaderWords(u8),
    /// The IPv4 header does not match its checksum.
    IpChecksum,
    /// Part of an IPv4 packet: `RoCEv2` forbids fragments (IBA A17).
    Fragment,
    /// IP carries something other than UDP.
    Protocol(u8),
    /// UDP, but not to the port of `RoCEv2`.
    UdpPort(u16),
    /// The named length field is too small for what it must cover.
    Length(&'static str),
    /// The UDP length differs from what the IP header leaves for it.
    UdpLength {
        /// As the UDP header says.
        udp: usize,
        /// As the IP header says.
        ip: usize,
    },
    /// Payload and pad are not a multiple of four bytes (IBA 9.2).
    Alignment(usize),
    /// A MAC control frame that is no pause.
    MacControl(u16),
    /// A link header of a version that is not spoken.
    LinkVersion(u8),
    /// A link header of a type that version 1 does not have.
    LinkType(u8),
    /// A link header without the ACK word that its type calls for.
    LinkAck,
    /// Holes that are empty, out of order, too many, or beyond what the notification is about.
    LinkHoles,
    /// A hello of a kind that version 1 does not have.
    LinkHello(u8),
    /// Somebody else's use of the `EtherType`.
    LinkMagic(u32),
    /// A frame of a link's own to another address than the nearest bridge's.
    LinkDestination,
    /// An FEC header of a version that is not spoken.
    FecVersion(u8),
    /// An FEC header of a place that no block has.
    FecPlace {
        /// The place.
        index: u8,
        /// Frames of the block; 0 in front of one of them.
        data_count: u8,
        /// Its parities.
        parities: u8,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated(header) => write!(f, "the bytes end within the {header}"),
            Self::Opcode(opcode) => write!(f, "no operation has opcode {opcode:#04x}"),
            Self::TransportVersion(version) => write!(f, "transport header version {version} is not 0"),
            Self::EtherType(ethertype) => write!(f, "EtherType {ethertype:#06x} does not belong here"),
            Self::IpVersion(version) => write!(f, "IP version {version} does not belong here"),
            Self::IpHeaderWords(words) => write!(f, "an IPv4 header of {words} words is shorter than 5"),
            Self::IpChecksum => f.write_str("the IPv4 header does not match its checksum"),
            Self::Fragment => f.write_str("an IPv4 fragment, which RoCEv2 forbids"),
            Self::Protocol(protocol) => write!(f, "IP protocol {protocol} is not 17 (UDP)"),
            Self::UdpPort(port) => write!(f, "UDP port {port} is not {ROCE_PORT}"),
            Self::Length(field) => write!(f, "the {field} is smaller than what it covers"),
            Self::UdpLength { udp, ip } => {
                write!(f, "UDP length {udp} differs from the {ip} bytes that IP carries")
            }
            Self::Alignment(len) => write!(f, "payload and pad are {len} bytes, not a multiple of 4"),
            Self::MacControl(opcode) => write!(f, "MAC control opcode {opcode:#06x} is not a pause"),
            Self::LinkVersion(version) => {
                write!(f, "link header version {version} is not {LINK_VERSION}")
            }
            Self::LinkType(kind) => write!(f, "no link header has type {kind}, only 0 to 5"),
            Self::LinkAck => f.write_str("a link header without the ACK that its type calls for"),
            Self::LinkHoles => f.write_str("holes that do not lie in order before the end they are given"),
            Self::LinkHello(kind) => write!(f, "no hello has kind {kind}, only 1 to 5"),
            Self::LinkMagic(magic) => write!(f, "a hello with magic {magic:#010x} is somebody else's"),
            Self::LinkDestination => {
                write!(f, "a frame of the link's own goes to {}", MacAddr::NEAREST_BRIDGE)
            }
            Self::FecVersion(version) => {
                write!(f, "FEC header version {version} is not {FEC_VERSION}")
            }
            Self::FecPlace { index, data_count: 0, parities } => {
                write!(f, "no block has a frame at place {index} and {parities} parities behind it")
            }
            Self::FecPlace { index, data_count, parities } => {
                write!(
                    f,
                    "a block of {data_count} frames and {parities} parities has no parity at place {index}"
                )
            }
        }
    }
}

impl std::error::Error for Malformed {}
