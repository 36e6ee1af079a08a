//! Percentiles in bounded memory.

use hdrhistogram::Histogram as Buckets;

/// Counts `u64` values in buckets of three significant digits, in at most half a megabyte.
///
/// Count, minimum, maximum and sum are exact. A [quantile](Self::quantile) is rounded up to the end of its
/// bucket, so it is at most 0.1 % too high, never too low, and never above the maximum.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Buckets<u64>,
    min: u64,
    max: u64,
    sum: u128,
}

/// A point of a cumulative distribution: the fraction `at_most` of the values is at most `value`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CdfPoint {
    /// The value.
    pub value: u64,
    /// Fraction of the values that are at most `value`.
    pub at_most: f64,
}

const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        let buckets = Buckets::new(SIGNIFICANT_DIGITS).expect("three digits are within one to five");
        Self { buckets, min: u64::MAX, max: 0, sum: 0 }
    }

    /// Counts a value.
    pub fn record(&mut self, value: u64) {
        self.buckets.record(value).expect("a resizing histogram takes every value");
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("a resizing histogram takes every value");
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Exact minimum.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min)
    }

    /// Exact maximum.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max)
    }

    /// Mean, from the exact sum.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum as f64 / self.count() as f64)
    }

    /// Smallest value that at least the fraction `q` of the values does not exceed, within 0.1 %.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        assert!((0.0..=1.0).contains(&q), "a quantile lies between 0 and 1");
        (!self.is_empty()).then(|| self.inside(self.buckets.value_at_quantile(q)))
    }

    /// At most `max_points` (at least 4) points of the cumulative distribution in ascending order. The last
    /// is the maximum with `at_most` 1. Half of the points are spaced evenly over the fraction, half over the
    /// logarithm of 1 − fraction, so that the tail is resolved as well as the median.
    pub fn cdf_points(&self, max_points: usize) -> Vec<CdfPoint> {
        assert!(max_points >= 4, "a distribution needs at least four points");
        let mut targets = targets(self.count(), max_points - 1).into_iter().peekable();
        let (mut points, mut below) = (Vec::new(), 0);
        for bucket in self.buckets.iter_recorded() {
            below += bucket.count_since_last_iteration();
            let is_first = points.is_empty();
            let mut reached = false;
            while targets.next_if(|&target| target <= below).is_some() {
                reached = true;
            }
            if reached || is_first {
                let value = self.inside(bucket.value_iterated_to());
                points.push(CdfPoint { value, at_most: below as f64 / self.count() as f64 });
            }
        }
        points
    }

    /// Limits the end of a bucket to the values that occurred. The highest bucket ends one below `u64::MAX`.
    fn inside(&self, end: u64) -> u64 {
        if end >= u64::MAX - 1 { self.max } else { end.clamp(self.min, self.max) }
    }
}

/// At most `n` ranks in ascending order at which a point is wanted; the last is `count`.
fn targets(count: u64, n: usize) -> Vec<u64> {
    let total = count as f64;
    let (even, tail) = (n / 2, n - n / 2);
    let evenly = (1..=even).map(|i| total * i as f64 / even as f64);
    let in_tail = (0..tail).map(|i| total - libm::pow(total, i as f64 / (tail - 1).max(1) as f64));
    let mut ranks: Vec<u64> =
        evenly.chain(in_tail).map(|rank| (rank.ceil() as u64).clamp(1, count.max(1))).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn histogram_of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    proptest! {
        #[test]
        fn quantiles_are_within_a_thousandth(mut values in prop::collection::vec(any::<u64>(), 1..200), q in 0.0..=1.0_f64) {
            let histogram = histogram_of(&values);
            values.sort_unstable();
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let found = histogram.quantile(q).unwrap() as f64;
            prop_assert!(found >= exact && found <= exact * 1.001 + 1.0, "{found} for {exact}");
            prop_assert_eq!(histogram.max(), values.last().copied());
            prop_assert_eq!(histogram.min(), values.first().copied());
        }

        #[test]
        fn merged_parts_equal_the_whole(a in prop::collection::vec(any::<u64>(), 0..50), b in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut parts = histogram_of(&a);
            parts.merge(&histogram_of(&b));
            let whole = histogram_of(&[a, b].concat());
            prop_assert_eq!(parts.mean(), whole.mean());
            prop_assert_eq!((parts.min(), parts.max(), parts.count()), (whole.min(), whole.max(), whole.count()));
            prop_assert_eq!(parts.cdf_points(32), whole.cdf_points(32));
        }

        #[test]
        fn distributions_ascend_to_one(values in prop::collection::vec(0_u64..1_000_000, 1..300), points in 4_usize..40) {
            let found = histogram_of(&values).cdf_points(points);
            prop_assert!(found.len() <= points);
            prop_assert!(found.windows(2).all(|w| w[0].value < w[1].value && w[0].at_most < w[1].at_most));
            let last = found.last().unwrap();
            prop_assert_eq!((last.value, last.at_most), (*values.iter().max().unwrap(), 1.0));
        }
    }

    #[test]
    fn an_empty_histogram_has_no_numbers() {
        let empty = Histogram::new();
        assert_eq!((empty.min(), empty.max(), empty.mean(), empty.quantile(0.5)), (None, None, None, None));
        assert!(empty.cdf_points(10).is_empty());
    }

    #[test]
    fn the_tail_is_resolved() {
        let mut histogram = Histogram::new();
        for value in 0..1_000_000_u64 {
            histogram.record(value * 1_000);
        }
        let points = histogram.cdf_points(200);
        let beyond = |fraction: f64| points.iter().filter(|point| point.at_most > fraction).count();
        // Buckets end 0.1 % below the maximum: a uniform tail cannot be resolved further.
        assert!(beyond(0.99) >= 15, "{}", beyond(0.99));
        histogram.record(1_000_000_000_000);
        histogram.record(2_000_000_000_000);
        let points = histogram.cdf_points(200);
        let tail: Vec<_> = points.iter().rev().take(2).map(|point| point.value / 1_000_000_000).collect();
        assert_eq!(tail, [2000, 1000]);
    }

    #[test]
    fn extreme_values_fit() {
        let histogram = histogram_of(&[0, u64::MAX]);
        assert_eq!((histogram.quantile(0.0), histogram.quantile(1.0)), (Some(0), Some(u64::MAX)));
        assert_eq!(histogram.mean(), Some(u64::MAX as f64 / 2.0));
    }
}
