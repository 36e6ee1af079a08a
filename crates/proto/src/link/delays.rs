//! Recovery delays: from the detection of a gap to the arrival of the missing frame.

use wiremend_units::Span;

/// Histogram with eight buckets per octave, from 0.25 µs to 4 s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoveryDelays {
    counts: [u64; BUCKETS],
    sum_ns: u64,
    max_ns: u64,
}

const BUCKETS: usize = OCTAVES << STEP_BITS;
const OCTAVES: usize = 24;
/// Buckets per octave, as a power of two.
const STEP_BITS: u32 = 3;
/// Delays below 2⁸ ns share the first bucket.
const FLOOR_BITS: u32 = 8;

impl Default for RecoveryDelays {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], sum_ns: 0, max_ns: 0 }
    }
}

impl RecoveryDelays {
    pub(super) fn add(&mut self, delay: Span) {
        let ns = delay.as_ns();
        self.counts[bucket(ns)] += 1;
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Number of delays.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Sum of all delays.
    pub fn sum(&self) -> Span {
        Span::from_ns(self.sum_ns)
    }

    /// Longest delay.
    pub fn max(&self) -> Span {
        Span::from_ns(self.max_ns)
    }

    /// Quantile, rounded up to the edge of its bucket, at most 1/8 too high; `None` without delays.
    pub fn quantile_per_mille(&self, per_mille: u64) -> Option<Span> {
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

    /// Upper edge and count of each bucket, ascending.
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
    fn bucket_edges_are_at_most_an_eighth_too_high() {
        for ns in [256, 300, 1000, 1_234_567, 2_000_000_000] {
            let edge = upper_edge_ns(bucket(ns));
            assert!(ns < edge && edge as f64 <= ns as f64 * 1.13, "{ns} {edge}");
        }
    }

    #[test]
    fn quantiles_follow_ranks() {
        let mut delays = RecoveryDelays::default();
        assert_eq!(delays.quantile_per_mille(500), None);
        for us in 1..=100 {
            delays.add(Span::from_us(us));
        }
        assert_eq!((delays.count(), delays.max()), (100, Span::from_us(100)));
        let median = delays.quantile_per_mille(500).unwrap();
        assert!((Span::from_us(50)..Span::from_us(57)).contains(&median), "{median}");
        assert_eq!(delays.quantile_per_mille(1000), Some(Span::from_us(100)));
    }
}
