//! Header-only packets of trimming switches (DCP).
//!
//! The two low bits of the DSCP are a tag for the kind of packet; the other four DSCP bits and ECN are
//! unchanged. In data packets, the BTH is followed by the unit number, which numbers messages, and its round.
//! A switch that trims a packet keeps everything up to there, changes the tag and corrects the IP and UDP
//! lengths; the ICRC is gone. Of the 57 bytes that DCP counts, 54 are headers and 3 the number; the round
//! makes 58, and Ethernet pads to 64 with the FCS.

use crate::network::PROTOCOL_UDP;
use crate::{
    BthRepr, EthernetRepr, Icrc, IpRepr, MIN_FRAME_BYTES, Malformed, ROCE_PORT, RoceFrame, Trailer, UdpRepr,
};

/// Tag in the low bits of a DSCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum DcpTag {
    /// Other packets: dropped where DCP packets are trimmed.
    Other = 0,
    /// An acknowledgement.
    Ack = 1,
    /// Data, which may be trimmed.
    Data = 2,
    /// Header-only packet.
    HeaderOnly = 3,
}

impl DcpTag {
    /// The tag of a DSCP.
    pub const fn from_dscp(dscp: u8) -> Self {
        match dscp & 0b11 {
            0 => Self::Other,
            1 => Self::Ack,
            2 => Self::Data,
            _ => Self::HeaderOnly,
        }
    }

    /// The DSCP of a class with this tag.
    pub const fn dscp(self, class: u8) -> u8 {
        class << 3 | self as u8
    }
}

/// A header-only frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeaderOnly {
    /// MAC header.
    pub ethernet: EthernetRepr,
    /// IP header; its DSCP has the tag [`DcpTag::HeaderOnly`].
    pub ip: IpRepr,
    /// UDP source port of the trimmed packet.
    pub source_port: u16,
    /// BTH of the trimmed packet.
    pub bth: BthRepr,
    /// Unit number, 24 bits.
    pub unit: u32,
    /// Round of the unit.
    pub round: u8,
}

impl HeaderOnly {
    const UNIT_BYTES: usize = 4;
    const DATAGRAM_BYTES: usize = UdpRepr::BYTES + BthRepr::BYTES + Self::UNIT_BYTES;

    /// Length of the frame with Ethernet padding.
    pub fn buffer_len(&self, trailer: Trailer) -> usize {
        let own = self.ethernet.buffer_len() + self.ip.buffer_len() + Self::DATAGRAM_BYTES;
        own.max(MIN_FRAME_BYTES as usize - Trailer::Fcs.bytes()) + trailer.bytes()
    }

    /// Parses a frame from the MAC header on. Refuses frames without the tag, and ordinary packets with a
    /// valid ICRC.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (ethernet, ethertype, packet) = EthernetRepr::parse(bytes)?;
        let (ip, protocol, body) = IpRepr::parse(ethertype, packet)?;
        if protocol != PROTOCOL_UDP {
            return Err(Malformed::Protocol(protocol));
        }
        let (udp, datagram) = UdpRepr::parse(body.bytes)?;
        if udp.destination_port != ROCE_PORT {
            return Err(Malformed::UdpPort(udp.destination_port));
        }
        let dscp = match &ip {
            IpRepr::V4(ip) => ip.class.dscp,
            IpRepr::V6(ip) => ip.class.dscp,
        };
        let is_whole = RoceFrame::parse(bytes).is_ok_and(|frame| frame.icrc == Icrc::Good);
        if DcpTag::from_dscp(dscp) != DcpTag::HeaderOnly || body.len != Self::DATAGRAM_BYTES || is_whole {
            return Err(Malformed::Length("header-only packet"));
        }
        let (bth, _, rest) = BthRepr::parse(datagram.bytes)?;
        let [a, b, c, round] =
            *rest.first_chunk().ok_or(Malformed::Truncated("unit of a header-only packet"))?;
        let unit = u32::from_be_bytes([0, a, b, c]);
        Ok(Self { ethernet, ip, source_port: udp.source_port, bth, unit, round })
    }

    /// Writes the frame into `buffer` of its length.
    pub fn emit(&self, trailer: Trailer, buffer: &mut [u8]) {
        assert_eq!(buffer.len(), self.buffer_len(trailer), "a buffer has the length its frame asks for");
        buffer.fill(0);
        let (mac, rest) = buffer.split_at_mut(self.ethernet.buffer_len());
        self.ethernet.emit(self.ip.ethertype(), mac);
        let (ip, rest) = rest.split_at_mut(self.ip.buffer_len());
        self.ip.emit(PROTOCOL_UDP, Self::DATAGRAM_BYTES, ip);
        let (udp, rest) = rest.split_at_mut(UdpRepr::BYTES);
        UdpRepr { source_port: self.source_port, destination_port: ROCE_PORT, checksum: 0 }
            .emit(Self::DATAGRAM_BYTES - UdpRepr::BYTES, udp);
        let (bth, rest) = rest.split_at_mut(BthRepr::BYTES);
        self.bth.emit(0, bth);
        let [_, a, b, c] = self.unit.to_be_bytes();
        rest[..Self::UNIT_BYTES].copy_from_slice(&[a, b, c, self.round]);
        trailer.seal(buffer);
    }
}

#[cfg(test)]
mod tests {
    use wiremend_units::{Psn, QpNum};

    use super::*;
    use crate::{Ecn, Extension, Ipv4Repr, MacAddr, Opcode, TrafficClass, Vlans};

    fn ethernet() -> EthernetRepr {
        EthernetRepr { destination: MacAddr::local(2), source: MacAddr::local(1), vlans: Vlans::Untagged }
    }

    fn ip() -> IpRepr {
        IpRepr::V4(Ipv4Repr {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            class: TrafficClass { dscp: DcpTag::HeaderOnly.dscp(7), ecn: Ecn::Ce },
            identification: 9,
            dont_fragment: true,
            ttl: 64,
        })
    }

    #[test]
    fn headers_of_all_operations_parse_back() {
        for opcode in [Opcode::WriteFirst, Opcode::WriteMiddle, Opcode::SendOnly, Opcode::WriteLastImm] {
            let bth = BthRepr::new(opcode, QpNum::new(3), Psn::new(0xFF_FFFE));
            let header = HeaderOnly {
                ethernet: ethernet(),
                ip: ip(),
                source_port: 0xC001,
                bth,
                unit: 0xFF_FFFF,
                round: 2,
            };
            let mut bytes = vec![0; header.buffer_len(Trailer::Fcs)];
            assert_eq!(bytes.len(), 64);
            header.emit(Trailer::Fcs, &mut bytes);
            assert_eq!(HeaderOnly::parse(&bytes), Ok(header));
            assert!(crate::fcs_matches(&bytes));
            for len in 0..58 {
                assert!(HeaderOnly::parse(&bytes[..len]).is_err(), "{len} bytes");
            }
        }
    }

    #[test]
    fn an_ordinary_packet_with_the_tag_is_refused() {
        let bth = BthRepr::new(Opcode::SendOnly, QpNum::new(3), Psn::new(5));
        let (extension, payload) = (Extension::Bare, &[][..]);
        let frame = RoceFrame { ethernet: ethernet(), ip: ip(), source_port: 1, bth, extension, payload };
        assert!(HeaderOnly::parse(&frame.to_bytes(Trailer::None)).is_err());
    }
}
