//! From a captured frame to its innermost IP packet: link headers, VLAN tags, and the tunnels of mirrors.

use wiremend_wire::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, MacAddr, Malformed, Pause, PauseFrame};

use crate::not_roce::NotRoce;

/// Link types (tcpdump.org/linktypes.html).
mod link_type {
    pub(super) const ETHERNET: u16 = 1;
    /// Raw IP, as `OpenBSD` and older tools number it.
    pub(super) const RAW_OLD: [u16; 2] = [12, 14];
    pub(super) const RAW: u16 = 101;
    pub(super) const LINUX_COOKED: u16 = 113;
    pub(super) const IPV4: u16 = 228;
    pub(super) const IPV6: u16 = 229;
    pub(super) const LINUX_COOKED_V2: u16 = 276;
}

/// Most VLAN tags of a frame; more are malformed.
const TAGS_MAX: usize = 8;
/// Most tunnels around a packet.
pub(crate) const TUNNELS_MAX: usize = 4;
const ETHERTYPE_MAC_CONTROL: u16 = 0x8808;

/// What lies below IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkHeaders {
    /// Source and destination address of the innermost Ethernet header.
    pub macs: Option<(MacAddr, MacAddr)>,
    /// Interface index of a Linux cooked header (version 2): `tcpdump -i any` merges interfaces.
    pub interface: Option<u32>,
    /// Number of VLAN tags.
    pub tags: u8,
    /// Identifiers of the outer and the inner tag.
    pub vlans: [Option<u16>; 2],
    /// The outermost tunnel, if the packet comes from a mirror or an overlay.
    pub tunnel: Option<Tunnel>,
}

/// A tunnel around the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the protocols")]
pub enum Tunnel {
    Vxlan,
    Geneve,
    Gre,
    Erspan,
}

impl Tunnel {
    /// Name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "VXLAN",
            Self::Geneve => "Geneve",
            Self::Gre => "GRE",
            Self::Erspan => "ERSPAN",
        }
    }
}

/// What follows the link headers.
pub(crate) enum Above<'a> {
    /// An IP packet, from its header on.
    Ip(&'a [u8]),
    Pause(Pause),
}

/// Reads the link headers of a frame.
pub(crate) fn parse<'a>(kind: u16, bytes: &'a [u8], headers: &mut LinkHeaders) -> Result<Above<'a>, NotRoce> {
    match kind {
        link_type::ETHERNET => ethernet(bytes, headers),
        link_type::LINUX_COOKED => {
            let (head, rest) = split::<16>(bytes, "Linux cooked header")?;
            behind_tags(u16::from_be_bytes([head[14], head[15]]), rest, bytes, headers)
        }
        link_type::LINUX_COOKED_V2 => {
            let (head, rest) = split::<20>(bytes, "Linux cooked header")?;
            headers.interface = Some(u32::from_be_bytes([head[4], head[5], head[6], head[7]]));
            behind_tags(u16::from_be_bytes([head[0], head[1]]), rest, bytes, headers)
        }
        link_type::RAW | link_type::IPV4 | link_type::IPV6 => Ok(Above::Ip(bytes)),
        kind if link_type::RAW_OLD.contains(&kind) => Ok(Above::Ip(bytes)),
        kind => Err(NotRoce::LinkType(kind)),
    }
}

/// Reads an Ethernet header with its tags.
pub(crate) fn ethernet<'a>(bytes: &'a [u8], headers: &mut LinkHeaders) -> Result<Above<'a>, NotRoce> {
    let (head, rest) = split::<14>(bytes, "Ethernet header")?;
    let address = |at: usize| MacAddr(std::array::from_fn(|i| head[at + i]));
    headers.macs = Some((address(6), address(0)));
    behind_tags(u16::from_be_bytes([head[12], head[13]]), rest, bytes, headers)
}

fn behind_tags<'a>(
    mut ethertype: u16,
    mut rest: &'a [u8],
    frame: &'a [u8],
    headers: &mut LinkHeaders,
) -> Result<Above<'a>, NotRoce> {
    for _ in 0..TAGS_MAX {
        if !matches!(ethertype, 0x8100 | 0x88A8 | 0x9100 | 0x9200 | 0x9300) {
            break;
        }
        let (tag, behind) = split::<4>(rest, "VLAN tag")?;
        let id = u16::from_be_bytes([tag[0], tag[1]]) & 0x0FFF;
        headers.vlans[usize::from(headers.tags > 0)] = Some(id);
        headers.tags += 1;
        ethertype = u16::from_be_bytes([tag[2], tag[3]]);
        rest = behind;
    }
    match ethertype {
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Ok(Above::Ip(rest)),
        ETHERTYPE_MAC_CONTROL => {
            let frame = PauseFrame::parse(frame).map_err(NotRoce::from)?;
            Ok(Above::Pause(frame.pause))
        }
        ethertype => Err(NotRoce::EtherType(ethertype)),
    }
}

/// A payload that is itself a frame or packet.
pub(crate) enum Carried<'a> {
    Ethernet(&'a [u8]),
    Ip(&'a [u8]),
}

/// Looks for a frame in a UDP datagram of an overlay.
pub(crate) fn in_udp(port: u16, payload: &[u8]) -> Option<(Tunnel, Carried<'_>)> {
    match port {
        // RFC 7348, and the port that Linux used before.
        4789 | 8472 => {
            let (head, rest) = payload.split_first_chunk::<8>()?;
            (head[0] & 0x08 != 0).then_some((Tunnel::Vxlan, Carried::Ethernet(rest)))
        }
        // RFC 8926.
        6081 => {
            let (head, rest) = payload.split_first_chunk::<8>()?;
            let rest = rest.get(usize::from(head[0] & 0x3F) * 4..)?;
            let protocol = u16::from_be_bytes([head[2], head[3]]);
            Some((Tunnel::Geneve, carried(protocol, rest)?))
        }
        _ => None,
    }
}

/// Looks for a frame behind a GRE header (RFC 2784, RFC 2890), which mirrors of switches use.
pub(crate) fn in_gre(bytes: &[u8]) -> Option<(Tunnel, Carried<'_>)> {
    const CHECKSUM: u8 = 0x80;
    const KEY: u8 = 0x20;
    const SEQUENCE: u8 = 0x10;
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    let options = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| head[0] & flag != 0).count();
    let rest = rest.get(4 * options..)?;
    match u16::from_be_bytes([head[2], head[3]]) {
        // ERSPAN type I has no header of its own and no sequence number; type II has eight bytes.
        0x88BE => {
            let len = if head[0] & SEQUENCE == 0 { 0 } else { 8 };
            Some((Tunnel::Erspan, Carried::Ethernet(rest.get(len..)?)))
        }
        // Type III: twelve bytes, and eight more if the last bit is set.
        0x22EB => {
            let len = if rest.get(11)? & 1 == 0 { 12 } else { 20 };
            Some((Tunnel::Erspan, Carried::Ethernet(rest.get(len..)?)))
        }
        protocol => Some((Tunnel::Gre, carried(protocol, rest)?)),
    }
}

fn carried(protocol: u16, rest: &[u8]) -> Option<Carried<'_>> {
    match protocol {
        // Transparent Ethernet bridging.
        0x6558 => Some(Carried::Ethernet(rest)),
        ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(Carried::Ip(rest)),
        _ => None,
    }
}

/// Splits off the first `N` bytes.
pub(crate) fn split<'a, const N: usize>(
    bytes: &'a [u8],
    what: &'static str,
) -> Result<(&'a [u8; N], &'a [u8]), NotRoce> {
    bytes.split_first_chunk().ok_or(NotRoce::Malformed(Malformed::Truncated(what)))
}
