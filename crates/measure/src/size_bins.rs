//! Slowdown by flow size.

use serde::{Deserialize, Serialize};

use crate::{FlowRow, Histogram, Quantiles};

/// Slowdowns of the finished flows of some sizes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SizeBin {
    /// Least payload bytes of a flow in this bin.
    pub from_bytes: u64,
    /// Payload bytes from which on flows are in a later bin.
    pub below_bytes: u64,
    /// Number of flows.
    pub flows: u64,
    /// Their slowdowns.
    pub slowdown: Quantiles,
}

/// Aggregates slowdowns in two bins for each decade of size: 1 to 3 kB, 3 to 10 kB, and so on. Together they are the
/// slowdowns of all flows, so that each flow is counted once.
#[derive(Clone, Debug, Default)]
pub(crate) struct SizeBins(Vec<Option<Box<Histogram>>>);

impl SizeBins {
    /// Adds a finished flow.
    pub(crate) fn add(&mut self, row: &FlowRow) {
        self.bin_mut(usize::from(bin(row.bytes))).record(row.slowdown_milli());
    }

    fn bin_mut(&mut self, bin: usize) -> &mut Histogram {
        if self.0.len() <= bin {
            self.0.resize(bin + 1, None);
        }
        self.0[bin].get_or_insert_default()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (bin, slowdowns) in other.0.iter().enumerate() {
            if let Some(slowdowns) = slowdowns {
                self.bin_mut(bin).merge(slowdowns);
            }
        }
    }

    /// The slowdowns of all flows.
    pub(crate) fn all(&self) -> Histogram {
        let mut all = Histogram::new();
        self.0.iter().flatten().for_each(|slowdowns| all.merge(slowdowns));
        all
    }

    /// The bins with flows, in the order of sizes.
    pub(crate) fn summary(&self) -> Vec<SizeBin> {
        let bin = |(bin, slowdowns): (u8, &Option<Box<Histogram>>)| {
            let slowdowns = slowdowns.as_ref()?;
            Some(SizeBin {
                from_bytes: edge(bin),
                below_bytes: edge(bin + 1),
                flows: slowdowns.count(),
                slowdown: Quantiles::from_histogram(slowdowns, 1e3)?,
            })
        };
        (0..).zip(&self.0).filter_map(bin).collect()
    }
}

/// Returns the bin of a size.
fn bin(bytes: u64) -> u8 {
    let decade = bytes.max(1).ilog10() as u8;
    2 * decade + u8::from(bytes >= edge(2 * decade + 1))
}

/// Returns the least size of a bin.
fn edge(bin: u8) -> u64 {
    let digit = if bin.is_multiple_of(2) { 1 } else { 3 };
    match bin {
        0 => 0,
        _ => 10_u64.saturating_pow(u32::from(bin / 2)).saturating_mul(digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::tests::row;

    #[test]
    fn every_size_lies_within_its_bin() {
        for bytes in [0, 1, 2, 3, 9, 10, 29, 30, 999, 1_000, 2_999, 3_000, 1 << 31, u64::MAX - 1] {
            let bin = bin(bytes);
            assert!((edge(bin)..edge(bin + 1)).contains(&bytes), "{bytes} in bin {bin}");
        }
    }

    #[test]
    fn bins_of_parts_are_those_of_the_whole() {
        let flow = |number: u64| FlowRow { bytes: number * 700, ..row(number, 2_000_000 + number * 1_000) };
        let [mut whole, mut odd, mut even] = [(); 3].map(|()| SizeBins::default());
        for number in 0..200 {
            whole.add(&flow(number));
            if number % 2 == 1 { &mut odd } else { &mut even }.add(&flow(number));
        }
        odd.merge(&even);
        assert_eq!(odd.summary(), whole.summary());
        let bins = whole.summary();
        assert_eq!(bins.iter().map(|bin| bin.flows).sum::<u64>(), 200);
        assert_eq!((whole.all().count(), whole.all().max()), (200, odd.all().max()));
        let edges: Vec<_> = bins.iter().map(|bin| (bin.from_bytes, bin.below_bytes)).collect();
        assert_eq!(edges[..3], [(0, 3), (300, 1_000), (1_000, 3_000)]);
        assert!(bins.windows(2).all(|two| two[0].slowdown.mean < two[1].slowdown.mean));
    }
}
