//! The TCP header (RFC 9293) with timestamps (RFC 7323) and SACK blocks (RFC 2018).

use std::net::Ipv4Addr;
use std::ops::BitOr;

use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Malformed;
use crate::view;

/// A TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TcpRepr {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Receive window, unscaled.
    pub window: u16,
    /// Timestamp value and echo reply.
    pub timestamps: (u32, u32),
    /// SACK blocks: first number, and number after the last.
    pub blocks: [Option<(u32, u32)>; 3],
}

/// Flags of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// Synchronize: opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Push: the receiver passes the data on.
    pub const PSH: Self = Self(0x08);
    /// Acknowledgement.
    pub const ACK: Self = Self(0x10);
    /// ECN echo: a congestion mark arrived (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced: a mark was answered (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// These flags if `so`, otherwise none.
    pub const fn when(self, so: bool) -> Self {
        if so { self } else { Self(0) }
    }
}

impl BitOr for TcpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    source_port: U16,
    destination_port: U16,
    seq: U32,
    ack: U32,
    offset: u8,
    flags: u8,
    window: U16,
    checksum: U16,
    urgent: U16,
}
const _: () = assert!(size_of::<Header>() == 20);

const NO_OPTION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const TIMESTAMPS_BYTES: usize = 12;

/// IP protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;

impl TcpRepr {
    /// Length of the header with its options.
    pub fn buffer_len(&self) -> usize {
        let blocks = self.blocks.iter().flatten().count();
        size_of::<Header>() + TIMESTAMPS_BYTES + if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }

    /// Writes the header into `buffer` of its length, with the checksum of a segment over IPv4.
    pub fn emit(&self, source: Ipv4Addr, destination: Ipv4Addr, payload: &[u8], buffer: &mut [u8]) {
        let len = self.buffer_len();
        let (fixed, options) = buffer.split_at_mut(size_of::<Header>());
        let header = Header {
            source_port: self.source_port.into(),
            destination_port: self.destination_port.into(),
            seq: self.seq.into(),
            ack: self.ack.into(),
            offset: (len as u8 / 4) << 4,
            flags: self.flags.0,
            window: self.window.into(),
            checksum: 0.into(),
            urgent: 0.into(),
        };
        view::fill(&header, fixed);
        self.emit_options(options);
        let sum = checksum(source, destination, &[buffer, payload]);
        buffer[16..18].copy_from_slice(&sum.to_be_bytes());
    }

    fn emit_options(&self, options: &mut [u8]) {
        options[..4].copy_from_slice(&[NO_OPTION, NO_OPTION, TIMESTAMPS, 10]);
        options[4..8].copy_from_slice(&self.timestamps.0.to_be_bytes());
        options[8..12].copy_from_slice(&self.timestamps.1.to_be_bytes());
        let blocks = self.blocks.iter().flatten().count();
        if blocks > 0 {
            let sack = &mut options[TIMESTAMPS_BYTES..];
            sack[..4].copy_from_slice(&[NO_OPTION, NO_OPTION, SACK, 2 + 8 * blocks as u8]);
            for (place, (start, end)) in sack[4..].chunks_exact_mut(8).zip(self.blocks.iter().flatten()) {
                place[..4].copy_from_slice(&start.to_be_bytes());
                place[4..].copy_from_slice(&end.to_be_bytes());
            }
        }
    }

    /// Parses the header; returns it and the remaining bytes. Unknown options are skipped.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (header, rest) = view::split::<Header>(bytes, "TCP header")?;
        let len = (usize::from(header.offset >> 4) * 4).checked_sub(size_of::<Header>());
        let len = len.filter(|len| *len <= rest.len()).ok_or(Malformed::Length("TCP data offset"))?;
        let (options, payload) = rest.split_at(len);
        let mut tcp = Self {
            source_port: header.source_port.get(),
            destination_port: header.destination_port.get(),
            seq: header.seq.get(),
            ack: header.ack.get(),
            flags: TcpFlags(header.flags),
            window: header.window.get(),
            timestamps: (0, 0),
            blocks: [None; 3],
        };
        tcp.parse_options(options)?;
        Ok((tcp, payload))
    }

    fn parse_options(&mut self, mut options: &[u8]) -> Result<(), Malformed> {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes);
        while let [kind, rest @ ..] = options {
            match *kind {
                0 => return Ok(()),
                NO_OPTION => options = rest,
                kind => {
                    let len = rest.first().map_or(0, |len| usize::from(*len));
                    let body = options.get(2..len).ok_or(Malformed::Length("TCP option"))?;
                    options = &options[len..];
                    if kind == TIMESTAMPS && body.len() == 8 {
                        self.timestamps = (word(&body[..4]), word(&body[4..]));
                    } else if kind == SACK {
                        for (block, edges) in self.blocks.iter_mut().zip(body.chunks_exact(8)) {
                            *block = Some((word(&edges[..4]), word(&edges[4..])));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The checksum of a segment over IPv4 (RFC 9293 §3.1) whose checksum field is 0; 0 for a segment with a
/// valid checksum.
fn checksum(source: Ipv4Addr, destination: Ipv4Addr, parts: &[&[u8]]) -> u16 {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let pseudo =
        [source.octets(), destination.octets(), [0, PROTOCOL_TCP, (len >> 8) as u8, len as u8]].concat();
    let bytes = pseudo.iter().chain(parts.iter().copied().flatten());
    let shifts = [8, 0].into_iter().cycle();
    let mut sum: u64 = bytes.zip(shifts).map(|(byte, shift)| u64::from(*byte) << shift).sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));

    fn bytes_of(tcp: &TcpRepr, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; tcp.buffer_len()];
        tcp.emit(ENDS.0, ENDS.1, payload, &mut bytes);
        bytes.extend(payload);
        bytes
    }

    fn header(blocks: [Option<(u32, u32)>; 3]) -> TcpRepr {
        TcpRepr {
            source_port: 49_152,
            destination_port: 5_001,
            seq: u32::MAX - 4,
            ack: 7,
            flags: TcpFlags::ACK | TcpFlags::PSH.when(true) | TcpFlags::CWR.when(false),
            window: 65_535,
            timestamps: (1, 2),
            blocks,
        }
    }

    #[test]
    fn headers_parse_back_with_a_valid_checksum() {
        for (blocks, len) in [([None; 3], 32), ([Some((5, 9)), None, None], 44), ([Some((1, 2)); 3], 60)] {
            let tcp = header(blocks);
            let bytes = bytes_of(&tcp, b"odd");
            assert_eq!(TcpRepr::parse(&bytes), Ok((tcp, &b"odd"[..])));
            assert_eq!(bytes.len(), len + 3);
            assert_eq!(checksum(ENDS.0, ENDS.1, &[&bytes]), 0);
        }
    }

    #[test]
    fn malformed_headers_are_refused_without_a_panic() {
        let bytes = bytes_of(&header([Some((1, 2)); 3]), b"");
        for len in 0..bytes.len() {
            assert!(TcpRepr::parse(&bytes[..len]).is_err());
        }
        for (place, value) in (12..60).flat_map(|place| (0..=255).map(move |value| (place, value))) {
            let mut bad = bytes.clone();
            bad[place] = value;
            let _ = TcpRepr::parse(&bad);
        }
    }
}
