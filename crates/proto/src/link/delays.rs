//! How long it took until what was missed had come: from the gap that showed it to the frame that filled it.

use wiremend_units::Span;

/// A histogram in bounded memory: eight buckets an octave, from a quarter of a microsecond to four seconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoveryDelays {
    counts: [u64; BUCKETS],
    sum_ns: u64,
    max_ns: u64,
}

const BUCKETS: usize = OCTAVES << STEP_BITS;
const OCTAVES: usize = 24;
/// Buckets of an octave, as a power of two.
const STEP_BITS: u32 = 3;
/// Shorter ones are all the same.
const FLOOR_BITS: u32 = 8;

impl Default for RecoveryDelays {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], sum_ns: 0, max_ns: 0 }
    }
}

impl RecoveryDelays {
    /// One more.
    pub(super) fn add(&mut self, delay: Span) {
        let ns = delay.as_ns();
        self.counts[bucket(ns)] += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Of all together.
    pub fn sum(&self) -> Span {
        Span::from_ns(self.sum_ns)
    }

    /// The longest.
    pub fn max(&self) -> Span {
        Span::from_ns(self.max_ns)
    }

    /// So many per mille took at most this long, rounded up to the edge of a bucket: at most an eighth too much. None: there
    /// was none.
    pub fn per_mille(&self, per_mille: u64) -> Option<Span> {
        let rank = (self.count() * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        for (edge, count) in self.buckets() {
            below += count;
            if below >= rank {
                return Some(edge.min(self.max()));
            }
        }
        None
    }

    /// The upper edge of each bucket and what is in it, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, u64)> + '_ {
        self.counts.iter().enumerate().map(|(at, count)| (Span::from_ns(upper_edge_ns(at)), *count))
    }
}

fn bucket(ns: u64) -> usize {
    let ns = ns.max(1 << FLOOR_BITS);
    let octave = ns.ilog2();
    let step = (ns >> (octave - STEP_BITS)) & ((1 << STEP_BITS) - 1);
    (((octave - FLOOR_BITS) << STEP_BITS) as usize + step as usize).min(BUCKETS - 1)
}

fn upper_edge_ns(bucket: usize) -> u64 {
    let (octave, step) = (bucket as u32 >> STEP_BITS, bucket as u64 & ((1 << STEP_BITS) - 1));
    ((1 << STEP_BITS) + 1 + step) << (octave + FLOOR_BITS - STEP_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_lies_below_the_edge_of_its_bucket_and_not_far() {
        for ns in [256, 300, 1000, 1_234_567, 2_000_000_000] {
            let edge = upper_edge_ns(bucket(ns));
            assert!(ns < edge && edge as f64 <= ns as f64 * 1.13, "{ns} {edge}");
        }
    }

    #[test]
    fn percentiles_come_from_ranks() {
        let mut delays = RecoveryDelays::default();
        assert_eq!(delays.per_mille(500), None);
        for us in 1..=100 {
            delays.add(Span::from_us(us));
        }
        assert_eq!((delays.count(), delays.max()), (100, Span::from_us(100)));
        let median = delays.per_mille(500).unwrap();
        assert!((Span::from_us(50)..Span::from_us(57)).contains(&median), "{median}");
        assert_eq!(delays.per_mille(1000), Some(Span::from_us(100)));
    }
}
