//! Which packets came, by a bit for each: one array, or chunks that are linked where order is broken.
//!
//! Both know the oldest packet that is missing, the floor. They differ in memory, and in the steps that a packet takes:
//! one for the array, and for the list as many as there are chunks before the right one.

use std::collections::VecDeque;

use super::config::Tracking;

/// Bits from the floor on.
#[derive(Clone, Debug)]
pub(super) struct Bits {
    floor: u64,
    store: Store,
}

#[derive(Clone, Debug)]
enum Store {
    /// A ring: the bit of a number is at its remainder.
    Fixed { words: Box<[u64]>, packets: u32 },
    /// In order of their numbers; none is empty.
    Linked { chunks: VecDeque<Chunk>, packets: u32 },
}

/// A run of bits in host or NIC memory, and where the next one lies.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Which run of [`CHUNK_PACKETS`] it is.
    index: u64,
    bits: u64,
}

const CHUNK_PACKETS: u64 = u64::BITS as u64;
/// A link to the next chunk, 16 bits of number and the bits themselves.
pub(super) const CHUNK_BYTES: usize = size_of::<u16>() * 2 + size_of::<u64>();

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// It came for the first time.
    New,
    /// It came before.
    Double,
    /// There is no room so far ahead.
    Beyond,
}

impl Bits {
    /// `None`: this tracking has no bits.
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

    /// The oldest packet that did not come.
    #[inline]
    pub(super) const fn floor(&self) -> u64 {
        self.floor
    }

    /// A packet came; also how many steps it took to see which.
    pub(super) fn set(&mut self, seq: u64) -> (Mark, u32) {
        if seq < self.floor {
            return (Mark::Double, 1);
        }
        let (mark, steps) = match &mut self.store {
            Store::Fixed { packets, .. } | Store::Linked { packets, .. }
                if seq - self.floor >= u64::from(*packets) =>
            {
                (Mark::Beyond, 1)
            }
            Store::Fixed { words, .. } => {
                let (word, bit) = place(seq, words.len());
                let had = words[word] & bit != 0;
                words[word] |= bit;
                (if had { Mark::Double } else { Mark::New }, 1)
            }
            Store::Linked { chunks, .. } => link(chunks, seq),
        };
        while self.take_floor() {}
        (mark, steps)
    }

    /// Moves the floor if its packet is there.
    fn take_floor(&mut self) -> bool {
        let floor = self.floor;
        match &mut self.store {
            Store::Fixed { words, .. } => {
                let (word, bit) = place(floor, words.len());
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

    /// Whether a packet came.
    pub(super) fn has(&self, seq: u64) -> bool {
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
                let (word, bit) = place(seq, words.len());
                words[word] & bit != 0
            }
            Store::Linked { chunks, .. } => {
                let chunk = chunks.iter().find(|chunk| chunk.index == seq / CHUNK_PACKETS);
                chunk.is_some_and(|chunk| chunk.bits & 1 << (seq % CHUNK_PACKETS) != 0)
            }
        }
    }

    /// Chunks linked now.
    pub(super) fn chunks(&self) -> u32 {
        match &self.store {
            Store::Fixed { .. } => 0,
            Store::Linked { chunks, .. } => chunks.len() as u32,
        }
    }
}

#[inline]
const fn place(seq: u64, words: usize) -> (usize, u64) {
    let bit = seq % (words as u64 * u64::BITS as u64);
    ((bit / u64::BITS as u64) as usize, 1 << (bit % u64::BITS as u64))
}

/// Walks the list as hardware does, from its head.
fn link(chunks: &mut VecDeque<Chunk>, seq: u64) -> (Mark, u32) {
    let (index, bit) = (seq / CHUNK_PACKETS, 1 << (seq % CHUNK_PACKETS));
    let at = chunks.iter().position(|chunk| chunk.index >= index).unwrap_or(chunks.len());
    let steps = at as u32 + 1;
    match chunks.get_mut(at) {
        Some(chunk) if chunk.index == index => {
            let had = chunk.bits & bit != 0;
            chunk.bits |= bit;
            (if had { Mark::Double } else { Mark::New }, steps)
        }
        _ => {
            chunks.insert(at, Chunk { index, bits: bit });
            (Mark::New, steps)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn both(packets: u32) -> [Bits; 2] {
        [Tracking::Bitmap { packets }, Tracking::Chunks { packets }].map(|kind| Bits::new(kind).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

        /// Both are a set with a floor.
        #[test]
        fn array_and_list_agree_with_a_set(steps in prop::collection::vec(0_u64..150, 1..300), packets in 1_u32..130) {
            for mut bits in both(packets) {
                let mut set = BTreeSet::new();
                for step in &steps {
                    let floor = (0..=set.len() as u64).find(|seq| !set.contains(seq)).unwrap_or(0);
                    prop_assert_eq!(bits.floor(), floor);
                    let seq = (floor + step).saturating_sub(20);
                    let right = if set.contains(&seq) {
                        Mark::Double
                    } else if seq - floor >= u64::from(packets) {
                        Mark::Beyond
                    } else {
                        set.insert(seq);
                        Mark::New
                    };
                    prop_assert_eq!(bits.set(seq).0, right);
                    prop_assert_eq!(bits.has(seq), right != Mark::Beyond);
                }
            }
        }
    }

    /// D8: an array takes one step whatever the disorder, a list one for each chunk before.
    #[test]
    fn steps_grow_with_disorder_only_in_the_list() {
        let [mut array, mut list] = both(1 << 12);
        for chunk in 0..8 {
            let seq = 1 + chunk * CHUNK_PACKETS;
            assert_eq!(array.set(seq), (Mark::New, 1));
            assert_eq!(list.set(seq), (Mark::New, chunk as u32 + 1));
        }
        assert_eq!((array.chunks(), list.chunks()), (0, 8));
        assert_eq!(list.set(0), (Mark::New, 1));
        assert_eq!(list.chunks(), 7, "what is complete is given back");
    }
}
