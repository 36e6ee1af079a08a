//! One bit for each packet that arrived: in one array, or in chunks that are linked where packets arrive out
//! of order.
//!
//! Both store the oldest missing packet, the floor. They differ in memory and in the steps of a lookup: one
//! for the array; for the list, the number of chunks up to the right one.

use std::collections::VecDeque;

use super::config::Tracking;

/// Bits from the floor on.
#[derive(Clone, Debug)]
pub(super) struct ReceiveBitmap {
    floor: u64,
    store: Store,
}

#[derive(Clone, Debug)]
enum Store {
    /// A ring: the bit of a packet is at its number modulo the size.
    Fixed { words: Box<[u64]>, packets: u32 },
    /// Chunks in order of their numbers; none is empty.
    Linked { chunks: VecDeque<Chunk>, packets: u32 },
}

/// A group of bits in host or NIC memory, with a link to the next one.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Index of the group of [`CHUNK_PACKETS`] packets.
    index: u64,
    bits: u64,
}

const CHUNK_PACKETS: u64 = u64::BITS as u64;
/// A link to the next chunk, 16 bits of number, and the bits.
pub(super) const CHUNK_BYTES: usize = size_of::<u16>() * 2 + size_of::<u64>();

/// The result of a lookup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BitResult {
    /// The packet arrived for the first time.
    New,
    /// The packet had arrived before.
    Duplicate,
    /// The packet is beyond the tracked range.
    OutOfRange,
}

impl ReceiveBitmap {
    /// Creates a bitmap; `None` if the tracking has no bits.
    pub(super) fn new(tracking: Tracking) -> Option<Self> {
        let store = match tracking {
            Tracking::Counter | Tracking::Sums => return None,
            Tracking::Bitmap { packets } => {
                Store::Fixed { words: vec![0; packets.div_ceil(u64::BITS) as usize].into(), packets }
            }
            Tracking::Chunks { packets } => Store::Linked { chunks: VecDeque::new(), packets },
        };
        Some(Self { floor: 0, store })
    }

    /// Oldest missing packet.
    #[inline]
    pub(super) const fn floor(&self) -> u64 {
        self.floor
    }

    /// Records an arrival. Returns the result and the number of steps.
    pub(super) fn set(&mut self, seq: u64) -> (BitResult, u32) {
        if seq < self.floor {
            return (BitResult::Duplicate, 1);
        }
        let (mark, steps) = match &mut self.store {
            Store::Fixed { packets, .. } | Store::Linked { packets, .. }
                if seq - self.floor >= u64::from(*packets) =>
            {
                (BitResult::OutOfRange, 1)
            }
            Store::Fixed { words, .. } => {
                let (word, bit) = bit_position(seq, words.len());
                let had = words[word] & bit != 0;
                words[word] |= bit;
                (if had { BitResult::Duplicate } else { BitResult::New }, 1)
            }
            Store::Linked { chunks, .. } => set_in_chunks(chunks, seq),
        };
        while self.advance_floor() {}
        (mark, steps)
    }

    /// Advances the floor by one if its packet has arrived. Returns whether it did.
    fn advance_floor(&mut self) -> bool {
        let floor = self.floor;
        match &mut self.store {
            Store::Fixed { words, .. } => {
                let (word, bit) = bit_position(floor, words.len());
                if words[word] & bit == 0 {
                    return false;
                }
                words[word] &= !bit;
            }
            Store::Linked { chunks, .. } => {
                let Some(front) = chunks.front_mut() else { return false };
                let bit = 1 << (floor % CHUNK_PACKETS);
                if front.index != floor / CHUNK_PACKETS || front.bits & bit == 0 {
                    return false;
                }
                front.bits &= !bit;
                if front.bits == 0 {
                    chunks.pop_front();
                }
            }
        }
        self.floor += 1;
        true
    }

    /// Returns whether a packet has arrived.
    pub(super) fn contains(&self, seq: u64) -> bool {
        if seq < self.floor {
            return true;
        }
        match &self.store {
            Store::Fixed { packets, .. } | Store::Linked { packets, .. }
                if seq - self.floor >= u64::from(*packets) =>
            {
                false
            }
            Store::Fixed { words, .. } => {
                let (word, bit) = bit_position(seq, words.len());
                words[word] & bit != 0
            }
            Store::Linked { chunks, .. } => {
                let chunk = chunks.iter().find(|chunk| chunk.index == seq / CHUNK_PACKETS);
                chunk.is_some_and(|chunk| chunk.bits & 1 << (seq % CHUNK_PACKETS) != 0)
            }
        }
    }

    /// Number of linked chunks.
    pub(super) fn chunks(&self) -> u32 {
        match &self.store {
            Store::Fixed { .. } => 0,
            Store::Linked { chunks, .. } => chunks.len() as u32,
        }
    }
}

#[inline]
const fn bit_position(seq: u64, words: usize) -> (usize, u64) {
    let bit = seq % (words as u64 * u64::BITS as u64);
    ((bit / u64::BITS as u64) as usize, 1 << (bit % u64::BITS as u64))
}

/// Visits the list from its head, as hardware does.
fn set_in_chunks(chunks: &mut VecDeque<Chunk>, seq: u64) -> (BitResult, u32) {
    let (index, bit) = (seq / CHUNK_PACKETS, 1 << (seq % CHUNK_PACKETS));
    let at = chunks.iter().position(|chunk| chunk.index >= index).unwrap_or(chunks.len());
    let steps = at as u32 + 1;
    match chunks.get_mut(at) {
        Some(chunk) if chunk.index == index => {
            let had = chunk.bits & bit != 0;
            chunk.bits |= bit;
            (if had { BitResult::Duplicate } else { BitResult::New }, steps)
        }
        _ => {
            chunks.insert(at, Chunk { index, bits: bit });
            (BitResult::New, steps)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn both(packets: u32) -> [ReceiveBitmap; 2] {
        [Tracking::Bitmap { packets }, Tracking::Chunks { packets }]
            .map(|kind| ReceiveBitmap::new(kind).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        /// Compares both with a set.
        #[test]
        fn array_and_list_agree_with_a_set(steps in prop::collection::vec(0_u64..150, 1..300), packets in 1_u32..130) {
            for mut bits in both(packets) {
                let mut set = BTreeSet::new();
                for step in &steps {
                    let floor = (0..=set.len() as u64).find(|seq| !set.contains(seq)).unwrap_or(0);
                    prop_assert_eq!(bits.floor(), floor);
                    let seq = (floor + step).saturating_sub(20);
                    let right = if set.contains(&seq) {
                        BitResult::Duplicate
                    } else if seq - floor >= u64::from(packets) {
                        BitResult::OutOfRange
                    } else {
                        set.insert(seq);
                        BitResult::New
                    };
                    prop_assert_eq!(bits.set(seq).0, right);
                    prop_assert_eq!(bits.contains(seq), right != BitResult::OutOfRange);
                }
            }
        }
    }

    /// D8: an array takes one step with any reordering, a list one for each chunk up to the right one.
    #[test]
    fn steps_grow_with_reordering_only_in_the_list() {
        let [mut array, mut list] = both(1 << 12);
        for chunk in 0..8 {
            let seq = 1 + chunk * CHUNK_PACKETS;
            assert_eq!(array.set(seq), (BitResult::New, 1));
            assert_eq!(list.set(seq), (BitResult::New, chunk as u32 + 1));
        }
        assert_eq!((array.chunks(), list.chunks()), (0, 8));
        assert_eq!(list.set(0), (BitResult::New, 1));
        assert_eq!(list.chunks(), 7, "complete chunks are freed");
    }
}
