//! A whole `RoCEv2` frame.

use crate::crc::{self, CRC_BYTES, Icrc};
use crate::network::{PROTOCOL_UDP, ip_header_len};
use crate::{
    BthRepr, Encapsulation, EthernetRepr, Extension, IpRepr, Malformed, ROCE_PORT, Trailer, UdpRepr,
    frame_len,
};

/// A `RoCEv2` frame from the MAC header to the end of the payload. Lengths, pad and checksums are computed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RoceFrame<'a> {
    /// MAC header.
    pub ethernet: EthernetRepr,
    /// IP header.
    pub ip: IpRepr,
    /// Entropy for path choice: constant for a queue pair.
    pub source_port: u16,
    /// Base transport header.
    pub bth: BthRepr,
    /// Extension headers; their layout follows from the opcode.
    pub extension: Extension,
    /// Payload without pad.
    pub payload: &'a [u8],
}

/// A parsed frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceivedFrame<'a> {
    /// The frame; if it is truncated, with the available payload.
    pub frame: RoceFrame<'a>,
    /// Length of the payload when it was sent.
    pub payload_len: usize,
    /// Result of the ICRC check.
    pub icrc: Icrc,
}

impl ReceivedFrame<'_> {
    /// Length of the frame when it was sent, MAC header to FCS.
    pub fn original_frame_len(&self) -> u32 {
        frame_len(self.frame.bth.opcode, self.payload_len as u32, self.frame.encapsulation())
    }
}

impl<'a> RoceFrame<'a> {
    /// Headers below the transport.
    pub const fn encapsulation(&self) -> Encapsulation {
        Encapsulation { ip: self.ip.version(), vlan_tags: self.ethernet.vlans.count() as u8 }
    }

    /// Length of the frame with Ethernet padding.
    pub fn buffer_len(&self, trailer: Trailer) -> usize {
        let with_fcs = frame_len(self.bth.opcode, self.payload.len() as u32, self.encapsulation());
        with_fcs as usize - Trailer::Fcs.bytes() + trailer.bytes()
    }

    /// Parses a frame from the MAC header on, complete or truncated after its headers. Bytes after the ICRC
    /// (padding, FCS) are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<ReceivedFrame<'a>, Malformed> {
        let (ethernet, ethertype, packet) = EthernetRepr::parse(bytes)?;
        let (ip, protocol, ip_body) = IpRepr::parse(ethertype, packet)?;
        if protocol != PROTOCOL_UDP {
            return Err(Malformed::Protocol(protocol));
        }
        let (udp, datagram) = UdpRepr::parse(ip_body.bytes)?;
        if udp.destination_port != ROCE_PORT {
            return Err(Malformed::UdpPort(udp.destination_port));
        }
        if UdpRepr::BYTES + datagram.len != ip_body.len {
            return Err(Malformed::UdpLength { udp: UdpRepr::BYTES + datagram.len, ip: ip_body.len });
        }
        let (bth, pad, rest) = BthRepr::parse(datagram.bytes)?;
        let (extension, rest) = Extension::parse(bth.opcode, rest)?;

        let around = BthRepr::BYTES + extension.buffer_len() + pad + CRC_BYTES;
        let payload_len = datagram.len.checked_sub(around).ok_or(Malformed::Length("UDP length"))?;
        if !(payload_len + pad).is_multiple_of(4) {
            return Err(Malformed::Alignment(payload_len + pad));
        }
        let icrc = if datagram.is_truncated() {
            Icrc::Unchecked
        } else {
            crc::check_icrc(&packet[..ip_header_len(packet)? + ip_body.len])?
        };
        let payload = &rest[..payload_len.min(rest.len())];
        let source_port = udp.source_port;
        Ok(ReceivedFrame {
            frame: Self { ethernet, ip, source_port, bth, extension, payload },
            payload_len,
            icrc,
        })
    }

    /// Writes the frame into `buffer` of its length.
    pub fn emit(&self, trailer: Trailer, buffer: &mut [u8]) {
        assert_eq!(buffer.len(), self.buffer_len(trailer), "a buffer has the length its frame asks for");
        let (mac, rest) = buffer.split_at_mut(self.ethernet.buffer_len());
        self.ethernet.emit(self.ip.ethertype(), mac);
        let (packet, padding) = rest.split_at_mut(self.ip.buffer_len() + self.datagram_len());
        self.emit_packet(packet);
        padding.fill(0);
        trailer.seal(buffer);
    }

    /// The frame as bytes.
    pub fn to_bytes(&self, trailer: Trailer) -> Vec<u8> {
        let mut bytes = vec![0; self.buffer_len(trailer)];
        self.emit(trailer, &mut bytes);
        bytes
    }

    /// Writes IP header to ICRC.
    fn emit_packet(&self, packet: &mut [u8]) {
        assert_eq!(
            self.extension.layout(),
            self.bth.opcode.layout(),
            "the operation calls for its extension headers"
        );
        let (covered, icrc) = packet.split_last_chunk_mut().expect("a packet is longer than its ICRC");

        let (ip, rest) = covered.split_at_mut(self.ip.buffer_len());
        self.ip.emit(PROTOCOL_UDP, self.datagram_len(), ip);
        let (udp, rest) = rest.split_at_mut(UdpRepr::BYTES);
        UdpRepr { source_port: self.source_port, destination_port: ROCE_PORT, checksum: 0 }
            .emit(self.datagram_len() - UdpRepr::BYTES, udp);
        let (bth, rest) = rest.split_at_mut(BthRepr::BYTES);
        self.bth.emit(self.pad(), bth);
        let (extension, rest) = rest.split_at_mut(self.extension.buffer_len());
        self.extension.emit(extension);
        let (payload, pad) = rest.split_at_mut(self.payload.len());
        payload.copy_from_slice(self.payload);
        pad.fill(0);

        *icrc = crc::icrc(covered).expect("an own packet has its headers").to_le_bytes();
    }

    /// Bytes that pad the payload to whole words (IBA 9.2).
    const fn pad(&self) -> usize {
        self.payload.len().wrapping_neg() & 0b11
    }

    /// Length from UDP header to ICRC.
    const fn datagram_len(&self) -> usize {
        let transport = BthRepr::BYTES + self.extension.buffer_len();
        UdpRepr::BYTES + transport + self.payload.len() + self.pad() + CRC_BYTES
    }
}
