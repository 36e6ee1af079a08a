//! A set of numbers in a linked list of chunks: it uses memory on demand, and an access visits all chunks
//! before it.

/// A set of numbers above a floor that only rises.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    /// The chunk pool; in a NIC all connections share one.
    pool: Vec<Chunk>,
    free: Vec<u32>,
    /// First chunk, which starts with the number `base`.
    head: Option<u32>,
    base: u64,
    in_use: u64,
    members: u64,
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    bits: u128,
    next: Option<u32>,
}

/// Numbers per chunk.
const CHUNK_NUMBERS: u64 = 128;
/// Bytes per chunk: its bits and the index of the next chunk.
const CHUNK_BYTES: u64 = CHUNK_NUMBERS / 8 + 4;

impl Chunks {
    /// Bytes for the index of the first chunk and its first number as a PSN.
    pub(super) const HEAD_BYTES: u64 = 4 + 3;

    /// Bytes in use if the tracked packets span this many numbers.
    pub(super) fn bytes_for(tracked: u32) -> u64 {
        Self::HEAD_BYTES + (u64::from(tracked).div_ceil(CHUNK_NUMBERS) + 1) * CHUNK_BYTES
    }

    /// Bytes in use now.
    pub(super) const fn bytes(&self) -> u64 {
        Self::HEAD_BYTES + self.in_use * CHUNK_BYTES
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// Inserts a number. Returns whether it is new, and how many chunks were visited or allocated.
    pub(super) fn insert(&mut self, number: u64) -> (bool, u64) {
        assert!(number >= self.base, "the number is below the floor");
        let mut at = self.head.unwrap_or_else(|| self.allocate());
        self.head = Some(at);
        let mut steps = 1;
        for _ in 0..(number - self.base) / CHUNK_NUMBERS {
            let next = self.pool[at as usize].next.unwrap_or_else(|| self.allocate());
            self.pool[at as usize].next = Some(next);
            at = next;
            steps += 1;
        }
        let bit = 1 << ((number - self.base) % CHUNK_NUMBERS);
        let bits = &mut self.pool[at as usize].bits;
        let new = *bits & bit == 0;
        *bits |= bit;
        self.members += u64::from(new);
        (new, steps)
    }

    /// Handles the arrival of `expected`. Returns the next missing number and discards everything before it.
    pub(super) fn advance(&mut self, expected: u64) -> u64 {
        if self.members == 0 {
            self.release_all(expected + 1);
            return expected + 1;
        }
        let mut next = expected;
        while let Some(head) = self.head {
            let Chunk { bits, next: link } = self.pool[head as usize];
            let skip = next - self.base;
            let missing = !bits >> skip << skip;
            next = self.base + u64::from(missing.trailing_zeros());
            if missing != 0 {
                let below = bits & ((1 << (next - self.base)) - 1);
                self.members -= u64::from(below.count_ones());
                self.pool[head as usize].bits = bits & !below;
                return next;
            }
            self.members -= u64::from(bits.count_ones());
            self.free.push(head);
            self.in_use -= 1;
            self.head = link;
            self.base += CHUNK_NUMBERS;
        }
        next
    }

    fn release_all(&mut self, floor: u64) {
        while let Some(head) = self.head {
            self.head = self.pool[head as usize].next;
            self.free.push(head);
            self.in_use -= 1;
        }
        self.base = floor;
    }

    fn allocate(&mut self) -> u32 {
        self.in_use += 1;
        let chunk = Chunk { bits: 0, next: None };
        if let Some(index) = self.free.pop() {
            self.pool[index as usize] = chunk;
            return index;
        }
        self.pool.push(chunk);
        self.pool.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bitmap::Bitmap;
    use super::*;

    proptest! {
        /// Compares the chunks with a bitmap; a packet k chunks away costs at most k + 2 steps.
        #[test]
        fn chunks_hold_the_same_set_as_a_bitmap(packets in prop::collection::vec((0_u64..900, any::<bool>()), 1..300)) {
            let (mut chunks, mut bitmap, mut expected) = (Chunks::default(), Bitmap::default(), 0);
            for (ahead, next) in packets {
                let number = if next { expected } else { expected + ahead };
                let (new, steps) = chunks.insert(number);
                prop_assert_eq!(new, bitmap.insert(number));
                prop_assert!(steps <= (number - expected) / CHUNK_NUMBERS + 2);
                if number == expected {
                    let missing = bitmap.first_missing(expected);
                    bitmap.release(missing);
                    prop_assert_eq!(chunks.advance(expected), missing);
                    expected = missing;
                }
                prop_assert_eq!(chunks.is_empty(), bitmap.is_empty());
                prop_assert!(chunks.bytes() <= Chunks::bytes_for(1000));
            }
        }
    }
}
