//! A captured `RoCEv2` packet of any service, with all its headers.

use wiremend_wire::{
    AethRepr, AtomicAckEthRepr, AtomicEthRepr, BthRepr, CRC_BYTES, DethRepr, Icrc, IpVersion, Malformed,
    Opcode, Pause, ROCE_PORT, RethRepr, UdpRepr, icrc,
};

use crate::ip::{self, IpHeader};
use crate::link_layer::{self, Above, Carried, LinkHeaders, TUNNELS_MAX, split};
use crate::not_roce::NotRoce;
use crate::operation::{Layout, Operation};

/// A frame of a capture, without its RDMA payload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Dissected<'a> {
    /// What lies below IP.
    pub link: LinkHeaders,
    /// The innermost IP header.
    pub ip: Option<IpHeader>,
    /// What the frame carries.
    pub what: Content<'a>,
}

/// What a frame carries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Content<'a> {
    /// A `RoCEv2` packet.
    Roce(RocePacket<'a>),
    /// A pause frame.
    Pause(Pause),
    /// Something else.
    Other(NotRoce),
}

/// A `RoCEv2` packet from the BTH on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RocePacket<'a> {
    /// UDP source port.
    pub source_port: u16,
    /// BTH, with the operations of all services.
    pub bth: BthRepr<Operation>,
    /// XRC: the receive queue.
    pub xrc_srq: Option<u32>,
    /// Address, key and length of a WRITE, READ, FLUSH or ATOMIC WRITE.
    pub reth: Option<RethRepr>,
    /// FLUSH: placement and selectivity.
    pub feth: Option<u32>,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// Key to invalidate.
    pub invalidate_key: Option<u32>,
    /// Acknowledgement.
    pub aeth: Option<AethRepr>,
    /// Operands of an atomic operation.
    pub atomic: Option<AtomicEthRepr>,
    /// Original value of an atomic operation.
    pub atomic_ack: Option<AtomicAckEthRepr>,
    /// Datagram header.
    pub deth: Option<DethRepr>,
    /// Length of the payload when it was sent.
    pub payload_len: usize,
    /// The available payload.
    pub payload: &'a [u8],
    /// Whether the capture kept too few bytes for the extension headers: some that the operation has are missing.
    pub is_cut: bool,
    /// Result of the ICRC check.
    pub icrc: Icrc,
}

/// Reads a captured frame. It never fails: what cannot be read is named in the content.
pub fn dissect(link_type: u16, bytes: &[u8]) -> Dissected<'_> {
    let mut seen = Dissected {
        link: LinkHeaders::default(),
        ip: None,
        what: Content::Other(NotRoce::LinkType(link_type)),
    };
    let above = link_layer::parse(link_type, bytes, &mut seen.link);
    seen.what = content(above, &mut seen.link, &mut seen.ip).unwrap_or_else(Content::Other);
    seen
}

/// Unpacks tunnels until the innermost packet.
fn content<'a>(
    mut above: Result<Above<'a>, NotRoce>,
    link: &mut LinkHeaders,
    ip_header: &mut Option<IpHeader>,
) -> Result<Content<'a>, NotRoce> {
    for _ in 0..=TUNNELS_MAX {
        let packet = match above? {
            Above::Ip(packet) => packet,
            Above::Pause(pause) => return Ok(Content::Pause(pause)),
        };
        let ip = ip::parse(packet)?;
        *ip_header = Some(ip.header);
        let tunnel = match ip.protocol {
            17 => {
                let (udp, datagram) = UdpRepr::parse(ip.body)?;
                if udp.destination_port == ROCE_PORT {
                    let udp_len = UdpRepr::BYTES + datagram.len;
                    if udp_len > ip.body_len {
                        return Err(Malformed::UdpLength { udp: udp_len, ip: ip.body_len }.into());
                    }
                    let header_len = ip.packet.len() - ip.body.len();
                    // The ICRC of packets with IPv6 extension headers is not specified.
                    let is_plain = ip.header.source.is_ipv4() || header_len == IpVersion::V6.header_bytes();
                    let packet = ip.packet.get(..header_len + udp_len).filter(|_| is_plain);
                    let roce = roce(udp.source_port, datagram.bytes, datagram.len, packet)?;
                    return Ok(Content::Roce(roce));
                }
                link_layer::in_udp(udp.destination_port, datagram.bytes)
                    .ok_or(NotRoce::UdpPort(udp.destination_port))?
            }
            47 => link_layer::in_gre(ip.body).ok_or(NotRoce::Protocol(47))?,
            protocol => return Err(NotRoce::Protocol(protocol)),
        };
        link.tunnel.get_or_insert(tunnel.0);
        above = match tunnel.1 {
            Carried::Ip(packet) => Ok(Above::Ip(packet)),
            Carried::Ethernet(frame) => {
                let mut inner =
                    LinkHeaders { tunnel: link.tunnel, interface: link.interface, ..Default::default() };
                let above = link_layer::ethernet(frame, &mut inner);
                *link = inner;
                above
            }
        };
    }
    Err(Malformed::Length("depth of tunnels").into())
}

/// Reads the transport headers of a datagram. `whole` is the packet from its IP header on, if it is complete.
fn roce<'a>(
    source_port: u16,
    datagram: &'a [u8],
    datagram_len: usize,
    whole: Option<&[u8]>,
) -> Result<RocePacket<'a>, Malformed> {
    let (bth, pad, rest) = BthRepr::<Operation>::parse_any(datagram)?;
    let operation = bth.opcode;
    let around = BthRepr::BYTES + operation.layout().bytes() + pad + CRC_BYTES;
    let payload_len = datagram_len.checked_sub(around).ok_or(Malformed::Length("UDP length"))?;
    if !(payload_len + pad).is_multiple_of(4) {
        return Err(Malformed::Alignment(payload_len + pad));
    }
    let mut packet = RocePacket {
        source_port,
        bth,
        xrc_srq: None,
        reth: None,
        feth: None,
        immediate: None,
        invalidate_key: None,
        aeth: None,
        atomic: None,
        atomic_ack: None,
        deth: None,
        payload_len,
        payload: &[],
        is_cut: false,
        icrc: check(whole)?,
    };
    match packet.extensions(operation.layout(), rest) {
        Ok(rest) => packet.payload = &rest[..payload_len.min(rest.len())],
        Err(Malformed::Truncated(_)) if datagram.len() < datagram_len => packet.is_cut = true,
        Err(why) => return Err(why),
    }
    Ok(packet)
}

fn check(whole: Option<&[u8]>) -> Result<Icrc, Malformed> {
    let Some(packet) = whole else { return Ok(Icrc::Unchecked) };
    let (covered, found) = packet.split_last_chunk().ok_or(Malformed::Truncated("ICRC"))?;
    Ok(if icrc(covered)? == u32::from_le_bytes(*found) { Icrc::Good } else { Icrc::Bad })
}

impl RocePacket<'_> {
    /// Reads the extension headers; returns the bytes behind them.
    fn extensions<'b>(&mut self, layout: Layout, mut rest: &'b [u8]) -> Result<&'b [u8], Malformed> {
        let word = |rest: &mut &'b [u8], what| -> Result<u32, Malformed> {
            let (word, behind) = split::<4>(rest, what).map_err(|_| Malformed::Truncated(what))?;
            *rest = behind;
            Ok(u32::from_be_bytes(*word))
        };
        macro_rules! header {
            ($field:ident, $repr:ident) => {{
                let (header, behind) = $repr::parse(rest)?;
                self.$field = Some(header);
                rest = behind;
            }};
        }
        if layout.xrc {
            self.xrc_srq = Some(word(&mut rest, "XRCETH")? & 0x00FF_FFFF);
        }
        if layout.deth {
            header!(deth, DethRepr);
        }
        if layout.feth {
            self.feth = Some(word(&mut rest, "FETH")?);
        }
        if layout.reth {
            header!(reth, RethRepr);
        }
        if layout.imm {
            self.immediate = Some(word(&mut rest, "ImmDt")?);
        }
        if layout.ieth {
            self.invalidate_key = Some(word(&mut rest, "IETH")?);
        }
        if layout.aeth {
            header!(aeth, AethRepr);
        }
        if layout.atomic {
            header!(atomic, AtomicEthRepr);
        }
        if layout.atomic_ack {
            header!(atomic_ack, AtomicAckEthRepr);
        }
        if layout.cnp {
            rest = rest.get(16..).ok_or(Malformed::Truncated("CNP"))?;
        }
        Ok(rest)
    }

    /// The operation, if it is one of a reliable connection or a congestion notification.
    pub fn opcode(&self) -> Option<Opcode> {
        self.bth.opcode.opcode()
    }
}
