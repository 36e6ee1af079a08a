//! A set of numbers in chunks that are linked: memory as needed, steps as many as there are chunks before.

/// Numbers above a floor that only rises.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    /// The pool: here one of the connection's own, in a NIC one for all.
    pool: Vec<Chunk>,
    free: Vec<u32>,
    /// The first chunk, whose first number is `base`.
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

/// Numbers in a chunk.
const SPAN: u64 = 128;
/// Its bits and the number of the next chunk.
const CHUNK_BYTES: u64 = SPAN / 8 + 4;

impl Chunks {
    /// Where the first chunk is, and its first number as a PSN.
    pub(super) const HEAD_BYTES: u64 = 4 + 3;

    /// What it takes if the packets that it tracks span so many numbers.
    pub(super) fn bytes_for(tracked: u32) -> u64 {
        Self::HEAD_BYTES + (u64::from(tracked).div_ceil(SPAN) + 1) * CHUNK_BYTES
    }

    /// What it takes now.
    pub(super) const fn bytes(&self) -> u64 {
        Self::HEAD_BYTES + self.in_use * CHUNK_BYTES
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.members == 0
    }

    /// Says whether the number is new, and how many chunks were visited or taken.
    pub(super) fn insert(&mut self, number: u64) -> (bool, u64) {
        assert!(number >= self.base, "what was forgotten does not come back");
        let mut at = self.head.unwrap_or_else(|| self.take());
        self.head = Some(at);
        let mut steps = 1;
        for _ in 0..(number - self.base) / SPAN {
            let next = self.pool[at as usize].next.unwrap_or_else(|| self.take());
            self.pool[at as usize].next = Some(next);
            at = next;
            steps += 1;
        }
        let bit = 1 << ((number - self.base) % SPAN);
        let bits = &mut self.pool[at as usize].bits;
        let new = *bits & bit == 0;
        *bits |= bit;
        self.members += u64::from(new);
        (new, steps)
    }

    /// `expected` has arrived: the next number that is missing. Everything before it is forgotten.
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
            self.base += SPAN;
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

    fn take(&mut self) -> u32 {
        self.in_use += 1;
        let fresh = Chunk { bits: 0, next: None };
        if let Some(place) = self.free.pop() {
            self.pool[place as usize] = fresh;
            return place;
        }
        self.pool.push(fresh);
        self.pool.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::bitmap::Bitmap;
    use super::*;

    proptest! {
        /// It holds what a bitmap holds, and a packet k chunks away costs k + 1 steps.
        #[test]
        fn it_is_the_same_set_at_another_price(packets in prop::collection::vec((0_u64..900, any::<bool>()), 1..300)) {
            let (mut chunks, mut bitmap, mut expected) = (Chunks::default(), Bitmap::default(), 0);
            for (ahead, next) in packets {
                let number = if next { expected } else { expected + ahead };
                let (new, steps) = chunks.insert(number);
                prop_assert_eq!(new, bitmap.insert(number));
                prop_assert!(steps <= (number - expected) / SPAN + 2);
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
