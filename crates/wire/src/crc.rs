//! The two checksums of a frame: the invariant CRC of the transport (IBA 7.8, A17) and the Ethernet FCS.
//!
//! Both are the CRC-32 of Ethernet and are sent least significant byte first, unlike all other fields.

use crc32fast::Hasher;

use crate::network::{IPV6_BYTES, ip_header_len};
use crate::{BthRepr, Malformed, UdpRepr};

/// The length of either checksum.
pub const CRC_BYTES: usize = 4;

/// Result of an ICRC check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Icrc {
    /// The ICRC matches.
    Good,
    /// An invariant field was changed.
    Bad,
    /// The packet is truncated and has no ICRC.
    Unchecked,
}

/// The CRC after eight bytes of ones, which replace the local route header of `InfiniBand`.
const AFTER_ROUTE_HEADER: u32 = !0xDEBB_20E3;
/// IPv4 with all options.
const MAX_IP_BYTES: usize = 60;
const MAX_MASKED_BYTES: usize = MAX_IP_BYTES + UdpRepr::BYTES + BthRepr::BYTES;
const _: () = assert!(IPV6_BYTES <= MAX_IP_BYTES);

/// The ICRC of a packet. `packet` holds IP header, UDP header, BTH, extension headers, payload and pad.
///
/// Fields that routers may change count as ones: service class, TTL and header checksum (flow label and hop
/// limit in version 6), the UDP checksum, and the congestion byte of the BTH.
pub fn icrc(packet: &[u8]) -> Result<u32, Malformed> {
    let ip_len = ip_header_len(packet)?;
    let masked_len = ip_len + UdpRepr::BYTES + BthRepr::BYTES;
    let (head, rest) = packet.split_at_checked(masked_len).ok_or(Malformed::Truncated("BTH"))?;
    let mut masked = [0; MAX_MASKED_BYTES];
    let masked = &mut masked[..masked_len];
    masked.copy_from_slice(head);
    if head[0] >> 4 == 4 {
        masked[1] = 0xFF;
        masked[8] = 0xFF;
        masked[10..12].fill(0xFF);
    } else {
        masked[0] |= 0x0F;
        masked[1..4].fill(0xFF);
        masked[7] = 0xFF;
    }
    masked[ip_len + 6..ip_len + 8].fill(0xFF);
    masked[ip_len + UdpRepr::BYTES + 4] = 0xFF;

    let mut crc = Hasher::new_with_initial(AFTER_ROUTE_HEADER);
    crc.update(masked);
    crc.update(rest);
    Ok(crc.finalize())
}

/// Checks a packet that ends with its ICRC.
pub(crate) fn check_icrc(packet: &[u8]) -> Result<Icrc, Malformed> {
    let (covered, found) = packet.split_last_chunk().ok_or(Malformed::Truncated("ICRC"))?;
    Ok(if icrc(covered)? == u32::from_le_bytes(*found) { Icrc::Good } else { Icrc::Bad })
}

/// The Ethernet FCS of a frame: MAC header to the end of the padding.
pub fn fcs(frame: &[u8]) -> u32 {
    crc32fast::hash(frame)
}

/// Whether a frame ends with a valid FCS.
pub fn fcs_matches(frame_with_fcs: &[u8]) -> bool {
    let split = frame_with_fcs.split_last_chunk();
    split.is_some_and(|(frame, found)| fcs(frame) == u32::from_le_bytes(*found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_value_is_the_crc_of_eight_bytes_of_ones() {
        assert_eq!(crc32fast::hash(&[0xFF; 8]), AFTER_ROUTE_HEADER);
    }

    #[test]
    fn an_fcs_detects_every_single_bit_error() {
        let mut frame = b"as it was sent, sixty bytes or more".to_vec();
        frame.extend(fcs(&frame).to_le_bytes());
        assert!(fcs_matches(&frame));
        for bit in 0..8 * frame.len() {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!fcs_matches(&flipped), "bit {bit}");
        }
        assert!(!fcs_matches(&[1, 2, 3]));
    }
}
