//! Values over time in bounded memory.

/// Sums or maxima of samples in bins of equal width. The width doubles when the time exceeds the bins.
#[derive(Clone, Debug)]
pub(crate) struct Sketch {
    width_ps: u64,
    bins: Vec<u64>,
    merge: Merge,
}

/// How two values of a bin become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Merge {
    Sum,
    Max,
}

/// Most bins of a sketch.
const BINS: u64 = 256;

impl Sketch {
    /// Creates a sketch whose bins are as wide as the interval of the samples.
    pub(crate) fn new(width_ps: u64, merge: Merge) -> Self {
        Self { width_ps: width_ps.max(1), bins: Vec::new(), merge }
    }

    /// Adds a value of the time that ends at `time_ps`.
    pub(crate) fn add(&mut self, time_ps: u64, value: u64) {
        let end = time_ps.saturating_sub(1);
        while end / self.width_ps >= BINS {
            self.width_ps *= 2;
            let merge = self.merge;
            self.bins = self.bins.chunks(2).map(|two| merge.of(two)).collect();
        }
        let bin = (end / self.width_ps) as usize;
        self.bins.resize(self.bins.len().max(bin + 1), 0);
        self.bins[bin] = self.merge.of(&[self.bins[bin], value]);
    }

    /// Largest value.
    pub(crate) fn peak(&self) -> u64 {
        self.bins.iter().copied().max().unwrap_or(0)
    }

    /// Sum of all values.
    pub(crate) fn sum(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The start of each bin in nanoseconds, and its value.
    pub(crate) fn points(&self) -> Vec<(f64, f64)> {
        let point = |(bin, value): (usize, &u64)| (bin as f64 * self.width_ps as f64 / 1e3, *value as f64);
        self.bins.iter().enumerate().map(point).collect()
    }

    /// The same with bytes as bits per second.
    pub(crate) fn rates(&self) -> Vec<(f64, f64)> {
        let per_s = 8e12 / self.width_ps as f64;
        self.points().into_iter().map(|(ns, bytes)| (ns, bytes * per_s)).collect()
    }
}

impl Merge {
    fn of(self, values: &[u64]) -> u64 {
        let values = values.iter().copied();
        match self {
            Self::Sum => values.sum(),
            Self::Max => values.max().unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_keep_their_sum_and_peak() {
        let [mut sum, mut max] = [Merge::Sum, Merge::Max].map(|merge| Sketch::new(1_000, merge));
        for sample in 1..=10_000_u64 {
            for sketch in [&mut sum, &mut max] {
                sketch.add(sample * 1_000, sample % 777);
            }
        }
        assert_eq!(sum.sum(), (1..=10_000_u64).map(|sample| sample % 777).sum::<u64>());
        assert_eq!(max.peak(), 776);
        for sketch in [sum, max] {
            assert!(sketch.bins.len() <= 256 && sketch.bins.len() > 128, "{}", sketch.bins.len());
            assert_eq!(sketch.width_ps, 64_000);
        }
    }

    #[test]
    fn rates_are_bits_per_second() {
        let mut sketch = Sketch::new(1_000_000, Merge::Sum);
        sketch.add(1_000_000, 12_500);
        sketch.add(3_000_000, 25_000);
        assert_eq!(sketch.rates(), [(0.0, 100e9), (1_000.0, 0.0), (2_000.0, 200e9)]);
    }
}
