//! Counters of network drivers: those with the driver's own names (`ethtool -S`), and those that the kernel
//! names alike for all drivers (ethtool netlink).

use std::collections::BTreeMap;

use wiremend_dataplane::net::{self, FecBin, StandardStatistics, StatisticsReader};

use crate::counter::{Counter, Counters};
use crate::source::{CounterGroup, counter_for_name};

/// Reads the driver statistics of this machine's interfaces.
#[derive(Debug, Default)]
pub struct DriverCounters {
    reader: Option<StatisticsReader>,
    is_open: bool,
    /// Interfaces without standard statistics: the number of readings until they are asked again, because the
    /// driver may be replaced.
    without: BTreeMap<String, u32>,
}

impl DriverCounters {
    /// Readings after which an interface is asked again.
    const ASK_AGAIN: u32 = 600;

    /// Reads an interface. What the driver does not count is absent; so is everything if it does not answer.
    pub fn read(&mut self, interface: &str) -> Counters {
        let mut counters = Counters::default();
        for (name, value) in net::statistics(interface).unwrap_or_default() {
            if let Some(counter) = counter_for_name(CounterGroup::Driver, &name) {
                counters.add(counter, value);
            }
        }
        // The driver's own names have precedence: they say more, for example which frames are counted.
        for (counter, value) in standard_counters(&self.read_standard(interface)).iter() {
            if counters.get(counter).is_none() {
                counters.set(counter, value);
            }
        }
        counters
    }

    fn read_standard(&mut self, interface: &str) -> StandardStatistics {
        if !self.is_open {
            (self.is_open, self.reader) = (true, StatisticsReader::open().unwrap_or_default());
        }
        let Some(reader) = &mut self.reader else { return StandardStatistics::default() };
        if let Some(left) = self.without.get_mut(interface)
            && *left > 0
        {
            *left -= 1;
            return StandardStatistics::default();
        }
        let statistics = reader.read(interface).unwrap_or_default();
        if statistics == StandardStatistics::default() {
            self.without.insert(interface.to_owned(), Self::ASK_AGAIN);
        }
        statistics
    }
}

fn standard_counters(statistics: &StandardStatistics) -> Counters {
    let mut counters = Counters::default();
    for (name, value) in &statistics.counters {
        if let Some(counter) = counter_for_name(CounterGroup::Standard, name) {
            counters.add(counter, *value);
        }
    }
    // A histogram with wider bins says nothing about each number of symbols.
    let is_exact = |bin: &FecBin| bin.low == bin.high;
    if statistics.fec_bins.iter().all(is_exact) {
        for bin in &statistics.fec_bins {
            let counter = usize::try_from(bin.low).ok().and_then(|symbols| Counter::FEC_SYMBOLS.get(symbols));
            if let Some(counter) = counter {
                counters.set(*counter, bin.codewords);
            }
        }
    }
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(bins: &[(u32, u32, u64)]) -> StandardStatistics {
        let fec_bins = bins.iter().map(|&(low, high, codewords)| FecBin { low, high, codewords }).collect();
        StandardStatistics { fec_bins, ..StandardStatistics::default() }
    }

    #[test]
    fn a_histogram_gives_codewords_by_symbols() {
        let counters = standard_counters(&bins(&[(0, 0, 1 << 40), (1, 1, 70), (15, 15, 1), (16, 16, 9)]));
        let expected =
            [(Counter::FecSymbols0, 1 << 40), (Counter::FecSymbols1, 70), (Counter::FecSymbols15, 1)];
        assert_eq!(counters, expected.into_iter().collect());
        let wide = bins(&[(0, 0, 345), (1, 3, 12), (4, 7, 2)]);
        assert_eq!(standard_counters(&wide), Counters::default());
    }

    #[test]
    fn standard_names_give_frames_lengths_and_codewords() {
        let counters = [
            ("FramesReceivedOK", 990),
            ("FrameCheckSequenceErrors", 10),
            ("InRangeLengthErrors", 1),
            ("etherStatsUndersizePkts", 2),
            ("etherStatsOversizePkts", 500),
            ("uncorrectable_blocks", 4),
        ];
        let statistics = StandardStatistics { counters: counters.to_vec(), ..StandardStatistics::default() };
        let expected = [
            (Counter::RxGood, 990),
            (Counter::RxCrc, 10),
            (Counter::RxLength, 3),
            (Counter::FecUncorrectable, 4),
        ];
        assert_eq!(standard_counters(&statistics), expected.into_iter().collect());
    }

    /// The loopback interface has no driver.
    #[test]
    fn an_interface_without_statistics_is_asked_rarely() {
        let mut driver = DriverCounters::default();
        assert_eq!(driver.read("lo"), Counters::default());
        assert_eq!(driver.read("lo"), Counters::default());
        assert_eq!(driver.without.get("lo"), Some(&(DriverCounters::ASK_AGAIN - 1)));
    }
}
