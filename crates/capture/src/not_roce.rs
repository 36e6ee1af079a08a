//! Frames that carry no `RoCEv2` packet.

use std::fmt;

use wiremend_wire::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, Malformed};

/// What a frame is, if it is not a `RoCEv2` packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotRoce {
    /// A link type that is not decoded.
    LinkType(u16),
    /// Another protocol above Ethernet.
    EtherType(u16),
    /// Another protocol above IP.
    Protocol(u8),
    /// Another UDP port.
    UdpPort(u16),
    /// A part of an IP packet.
    Fragment,
    /// Bytes that break the rules of their format, or end too early.
    Malformed(Malformed),
}

impl From<Malformed> for NotRoce {
    fn from(why: Malformed) -> Self {
        match why {
            Malformed::EtherType(ethertype) => Self::EtherType(ethertype),
            Malformed::Protocol(protocol) => Self::Protocol(protocol),
            Malformed::UdpPort(port) => Self::UdpPort(port),
            Malformed::Fragment => Self::Fragment,
            why => Self::Malformed(why),
        }
    }
}

/// `EtherType` of `RoCE` without IP.
pub(crate) const ETHERTYPE_ROCE_V1: u16 = 0x8915;
/// IP protocol of encrypted payloads (RFC 4303).
pub(crate) const PROTOCOL_ESP: u8 = 50;

impl fmt::Display for NotRoce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LinkType(kind) => {
                write!(f, "link type {kind}; decoded: 1 (Ethernet), 113 and 276 (Linux cooked), 101 (raw IP)")
            }
            Self::EtherType(0x0806) => f.write_str("ARP"),
            Self::EtherType(ETHERTYPE_ROCE_V1) => f.write_str("RoCEv1"),
            Self::EtherType(0x88CC) => f.write_str("LLDP"),
            Self::EtherType(ETHERTYPE_IPV4 | ETHERTYPE_IPV6) => f.write_str("IP"),
            // IEEE 802.3: smaller values are lengths.
            Self::EtherType(len) if len < 0x0600 => write!(f, "LLC, {len} bytes"),
            Self::EtherType(ethertype) => write!(f, "EtherType {ethertype:#06x}"),
            Self::Protocol(1) => f.write_str("ICMP"),
            Self::Protocol(2) => f.write_str("IGMP"),
            Self::Protocol(6) => f.write_str("TCP"),
            Self::Protocol(47) => f.write_str("GRE without a frame"),
            Self::Protocol(PROTOCOL_ESP) => f.write_str("ESP, encrypted"),
            Self::Protocol(58) => f.write_str("ICMPv6"),
            Self::Protocol(protocol) => write!(f, "IP protocol {protocol}"),
            Self::UdpPort(port) => write!(f, "UDP to port {port}"),
            Self::Fragment => f.write_str("an IP fragment"),
            Self::Malformed(why) => why.fmt(f),
        }
    }
}
