//! Frames that a neighbour without hardware left to its device: checksums to fill in, and segments to cut.
//!
//! veth, TAP and virtio ports pass such frames on as they are. The kernel finishes them when it forwards; a
//! relay must do the same before it sends them to a wire.

use crate::sys::packet::{Segmentation, Unfinished};

const VLAN_TYPES: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xA8]];
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xDD];
const PROTOCOL_SCTP: u8 = 132;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const UDP_CHECKSUM_AT: usize = 6;
const TCP_CHECKSUM_AT: usize = 16;
const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;

/// Returns the frames that `frame` stands for, with their checksums. `None` if it cannot be finished.
pub(super) fn finish(frame: &[u8], work: &Unfinished) -> Option<Vec<Vec<u8>>> {
    let Some(segmentation) = work.segmentation else {
        let mut frame = frame.to_vec();
        fill_checksum(&mut frame, work.checksum?)?;
        return Some(vec![frame]);
    };
    let (transport, _) = work.checksum?;
    Headers::parse(frame, usize::from(transport))?.cut(frame, segmentation)
}

/// Fills in the checksum from `start` to the end. Its field, at `offset` from there, has the sum of the
/// pseudo-header.
fn fill_checksum(frame: &mut [u8], (start, offset): (u16, u16)) -> Option<()> {
    let is_sctp = network(frame).is_some_and(|ip| protocol(frame, ip) == Some(PROTOCOL_SCTP));
    let covered = frame.get_mut(usize::from(start)..)?;
    let at = usize::from(offset);
    if is_sctp {
        covered.get_mut(at..at + 4)?.fill(0);
        let sum = crc32c(covered).to_le_bytes();
        covered[at..at + 4].copy_from_slice(&sum);
        return Some(());
    }
    covered.get(at..at + 2)?;
    let sum = complement(add(0, covered));
    // In UDP a sum of zero means that there is none (RFC 768).
    let sum = if sum == 0 && at == UDP_CHECKSUM_AT { u16::MAX } else { sum };
    covered[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Places of the headers of a frame that stands for several.
struct Headers {
    network: usize,
    transport: usize,
    payload: usize,
    is_ipv4: bool,
    protocol: u8,
}

impl Headers {
    /// Parses the headers. `None` for tunnels, whose outer headers would have to be repeated as well.
    fn parse(frame: &[u8], transport: usize) -> Option<Self> {
        let network = network(frame)?;
        let is_ipv4 = frame[network] >> 4 == 4;
        let protocol = protocol(frame, network)?;
        let network_len = if is_ipv4 { usize::from(frame[network] & 15) * 4 } else { 40 };
        let transport_len = match protocol {
            PROTOCOL_TCP => usize::from(*frame.get(transport + 12)? >> 4) * 4,
            PROTOCOL_UDP => 8,
            _ => return None,
        };
        let payload = transport + transport_len;
        let fits = transport_len >= 8 && payload <= frame.len() && network + network_len == transport;
        fits.then_some(Self { network, transport, payload, is_ipv4, protocol })
    }

    /// Cuts the payload into segments, each behind the headers (RFC 9293, RFC 768).
    fn cut(&self, frame: &[u8], segmentation: Segmentation) -> Option<Vec<Vec<u8>>> {
        let (headers, payload) = frame.split_at(self.payload);
        if segmentation.bytes == 0 || segmentation.is_udp != (self.protocol == PROTOCOL_UDP) {
            return None;
        }
        let size = usize::from(segmentation.bytes);
        let count = payload.len().div_ceil(size).max(1);
        let mut segments = Vec::with_capacity(count);
        for at in 0..count {
            let part = &payload[at * size..payload.len().min((at + 1) * size)];
            let mut segment = [headers, part].concat();
            self.renumber(&mut segment, at, size, at + 1 == count);
            self.sum(&mut segment);
            segments.push(segment);
        }
        Some(segments)
    }

    /// Sets the lengths, numbers and flags of the segment with this place.
    fn renumber(&self, segment: &mut [u8], at: usize, size: usize, is_last: bool) {
        let whole = segment.len();
        let network = &mut segment[self.network..];
        if self.is_ipv4 {
            network[2..4].copy_from_slice(&((whole - self.network) as u16).to_be_bytes());
            let id = u16::from_be_bytes([network[4], network[5]]).wrapping_add(at as u16);
            network[4..6].copy_from_slice(&id.to_be_bytes());
        } else {
            network[4..6].copy_from_slice(&((whole - self.transport) as u16).to_be_bytes());
        }
        let transport = &mut segment[self.transport..];
        if self.protocol == PROTOCOL_UDP {
            transport[4..6].copy_from_slice(&((whole - self.transport) as u16).to_be_bytes());
            return;
        }
        let number = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
        transport[4..8].copy_from_slice(&number.wrapping_add((at * size) as u32).to_be_bytes());
        if !is_last {
            transport[13] &= !TCP_FIN_PSH;
        }
        if at > 0 {
            transport[13] &= !TCP_CWR;
        }
    }

    /// Computes the checksums of both headers.
    fn sum(&self, segment: &mut [u8]) {
        let transport_len = segment.len() - self.transport;
        let addresses = if self.is_ipv4 {
            let header = &mut segment[self.network..self.transport];
            header[10..12].fill(0);
            let sum = complement(add(0, header));
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            self.network + 12..self.network + 20
        } else {
            self.network + 8..self.network + 40
        };
        let pseudo = add(u32::from(self.protocol) + transport_len as u32, &segment[addresses]);
        let at = if self.protocol == PROTOCOL_UDP { UDP_CHECKSUM_AT } else { TCP_CHECKSUM_AT };
        let transport = &mut segment[self.transport..];
        transport[at..at + 2].fill(0);
        let sum = complement(add(pseudo, transport));
        let sum = if sum == 0 && self.protocol == PROTOCOL_UDP { u16::MAX } else { sum };
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Place of the IP header, behind any VLAN tags, if the frame has its fixed part.
fn network(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    while VLAN_TYPES.contains(frame.get(at..at + 2)?.first_chunk()?) {
        at += 4;
    }
    let (kind, network) = (frame.get(at..at + 2)?, at + 2);
    let fixed = if kind == IPV4 {
        20
    } else if kind == IPV6 {
        40
    } else {
        return None;
    };
    (frame.len() >= network + fixed).then_some(network)
}

fn protocol(frame: &[u8], network: usize) -> Option<u8> {
    frame.get(network + if frame[network] >> 4 == 4 { 9 } else { 6 }).copied()
}

/// Adds bytes to an Internet checksum (RFC 1071).
fn add(sum: u32, bytes: &[u8]) -> u32 {
    let fold = |sum: u32| (sum & 0xFFFF) + (sum >> 16);
    bytes
        .chunks(2)
        .fold(sum, |sum, pair| fold(sum + (u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))))
}

fn complement(sum: u32) -> u16 {
    !(((sum & 0xFFFF) + (sum >> 16)) as u16)
}

/// CRC-32C (RFC 9260, appendix A). Such frames are rare, so there is no table.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check value of the catalogue of parametrised CRC algorithms.
    #[test]
    fn sctp_sum_is_crc32c() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn frames_that_lie_about_their_headers_are_not_finished() {
        let segmentation = Some(Segmentation { bytes: 100, is_udp: false });
        for len in 0..80 {
            let mut frame = vec![0x45; len];
            if let Some(kind) = frame.get_mut(12..14) {
                kind.copy_from_slice(&IPV4);
            }
            for start in [0, 14, 34, 79, u16::MAX] {
                let work = Unfinished { checksum: Some((start, 16)), segmentation };
                let _ = finish(&frame, &work);
                let _ = finish(&frame, &Unfinished { segmentation: None, ..work });
                assert_eq!(finish(&frame, &Unfinished { checksum: None, segmentation }), None);
            }
        }
    }
}
