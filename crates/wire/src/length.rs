//! Frame lengths without building frames.

use crate::crc::CRC_BYTES;
use crate::{BthRepr, IpVersion, Opcode, UdpRepr};

/// The shortest Ethernet frame, MAC header to FCS.
pub const MIN_FRAME_BYTES: u32 = 64;
/// Bytes on the wire besides the frame: preamble and start delimiter (8), inter-frame gap (12).
pub const WIRE_OVERHEAD_BYTES: u32 = 20;

/// Headers below the transport that affect the length.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Encapsulation {
    /// IP version.
    pub ip: IpVersion,
    /// Number of VLAN tags.
    pub vlan_tags: u8,
}

impl Encapsulation {
    /// IPv4 without a tag.
    pub const IPV4: Self = Self { ip: IpVersion::V4, vlan_tags: 0 };

    /// Length of IP header and tags.
    const fn bytes(self) -> u32 {
        self.ip.header_bytes() as u32 + 4 * self.vlan_tags as u32
    }
}

/// Length of a frame that carries `payload_bytes`, MAC header to FCS, at least [`MIN_FRAME_BYTES`].
///
/// ```
/// use wiremend_wire::{Encapsulation, Opcode, frame_len};
/// assert_eq!(frame_len(Opcode::WriteMiddle, 1024, Encapsulation::IPV4), 1086);
/// ```
#[inline]
pub const fn frame_len(opcode: Opcode, payload_bytes: u32, encapsulation: Encapsulation) -> u32 {
    let padded = payload_bytes.next_multiple_of(4);
    let len = HEADERS[opcode as usize] as u32 + encapsulation.bytes() + padded;
    if len < MIN_FRAME_BYTES { MIN_FRAME_BYTES } else { len }
}

/// By opcode: length of MAC header, UDP, BTH, extension headers, ICRC and FCS.
static HEADERS: [u8; 256] = headers();

const fn headers() -> [u8; 256] {
    const MAC_BYTES: usize = 14;
    let mut table = [0; 256];
    let mut next = 0;
    while next < Opcode::ALL.len() {
        let opcode = Opcode::ALL[next];
        let transport = UdpRepr::BYTES + BthRepr::BYTES + opcode.layout().bytes();
        table[opcode as usize] = (MAC_BYTES + transport + 2 * CRC_BYTES) as u8;
        next += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_known_sizes() {
        let sizes = [
            (Opcode::WriteMiddle, 1024, 1086),
            (Opcode::WriteOnly, 1024, 1102),
            (Opcode::WriteFirst, 1024, 1102),
            (Opcode::ReadResponseMiddle, 4096, 4158),
            (Opcode::Acknowledge, 0, 66),
            (Opcode::Cnp, 0, 78),
            (Opcode::ReadRequest, 0, 78),
            (Opcode::CompareSwap, 0, 90),
            (Opcode::AtomicAcknowledge, 0, 74),
            (Opcode::SendOnly, 1, 66),
            (Opcode::SendOnly, 5, 70),
        ];
        for (opcode, payload, frame) in sizes {
            assert_eq!(
                frame_len(opcode, payload, Encapsulation::IPV4),
                frame,
                "{opcode} with {payload} bytes"
            );
        }
    }

    /// 62 bytes of headers are two less than the Ethernet minimum.
    #[test]
    fn a_middle_packet_without_payload_is_padded() {
        assert_eq!(HEADERS[Opcode::SendMiddle as usize] as u32 + Encapsulation::IPV4.bytes(), 62);
        assert_eq!(frame_len(Opcode::SendMiddle, 0, Encapsulation::IPV4), 64);
        assert_eq!(frame_len(Opcode::SendMiddle, 0, Encapsulation { ip: IpVersion::V4, vlan_tags: 1 }), 66);
        assert_eq!(frame_len(Opcode::SendMiddle, 0, Encapsulation { ip: IpVersion::V6, vlan_tags: 2 }), 90);
    }
}
