//! Bytes that a connection stores for reliability, as hardware would lay them out.

use super::config::{Parameters, Tracking};
use super::receive_bitmap::CHUNK_BYTES;
use super::receive_units::{COUNTER_BYTES, SUMS_BYTES};
use super::retrans_queue::ENTRY_BYTES;

/// Bytes of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateBytes {
    /// NIC memory, which every packet accesses.
    pub nic: usize,
    /// Host memory, which needs a read over `PCIe`.
    pub host: usize,
}

/// Head and tail of a ring in host memory, its address, the two totals of responses, returned and missing
/// headers, and the mark: a number (24 bits) and a total.
const SENDER_BYTES: usize =
    2 * size_of::<u16>() + size_of::<u64>() + 4 * size_of::<u32>() + 3 + size_of::<u32>();
/// eMSN and the first number of the head (24 bits each), and the totals of packets.
const RECEIVER_BYTES: usize = 3 + 3 + 2 * size_of::<u32>();

impl Parameters {
    /// Bytes at the sender with `window` packets in flight: any of them may be returned.
    pub const fn sender_bytes(&self, window: u32) -> StateBytes {
        StateBytes { nic: SENDER_BYTES, host: window as usize * ENTRY_BYTES }
    }

    /// Bytes at the receiver for `units` incomplete units and, with [`Tracking::Chunks`], `chunks` linked
    /// chunks.
    pub const fn receiver_bytes(&self, units: u32, chunks: u32) -> StateBytes {
        let (units, chunks) = (units as usize, chunks as usize);
        let tracked = match self.tracking {
            Tracking::Counter => units * COUNTER_BYTES,
            Tracking::Sums => units * (COUNTER_BYTES + SUMS_BYTES),
            Tracking::Bitmap { packets } => packets.div_ceil(8) as usize + units * LAST_BYTES,
            Tracking::Chunks { .. } => chunks * CHUNK_BYTES + units * LAST_BYTES,
        };
        // Returned packets must be distinguished from lost ones.
        let returned = match (self.tracking, self.hints) {
            (Tracking::Bitmap { packets } | Tracking::Chunks { packets }, Some(_)) => {
                packets.div_ceil(8) as usize
            }
            _ => 0,
        };
        StateBytes { nic: RECEIVER_BYTES + tracked + returned, host: 0 }
    }
}

/// Bytes of the last number of a unit.
const LAST_BYTES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// 400 Gb/s and 10 µs are 500 packets of 1 kB; the paper's slides give n bits against log2 n.
    #[test]
    fn a_counter_is_smaller_than_the_bits_that_it_replaces() {
        let bytes = |tracking, units| Parameters { tracking, ..Parameters::DCP }.receiver_bytes(units, 8).nic;
        let bitmap = bytes(Tracking::Bitmap { packets: 500 }, 1);
        let chunks = bytes(Tracking::Chunks { packets: 500 }, 1);
        assert_eq!(bytes(Tracking::Counter, 1), 21);
        assert_eq!(bytes(Tracking::Sums, 1), 49);
        assert_eq!((bitmap, chunks), (80, 113));
        assert!(bytes(Tracking::Counter, 8) == bytes(Tracking::Counter, 1) + 7 * 7);
    }
}
