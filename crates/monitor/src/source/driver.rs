//! Counters of network drivers: those with the driver's own names (`ethtool -S`), and those that the kernel
//! names alike for all drivers (ethtool netlink).

use std::collections::BTreeMap;

use wiremend_dataplane::net::{self, FecBin, NetError, StandardStatistics, StatisticsReader};

use crate::counter::{Counter, Counters};
use crate::source::{CounterGroup, counter_for_name};

/// Reads the driver statistics of this machine's interfaces.
#[derive(Debug, Default)]
pub struct DriverCounters {
    reader: Reader,
    /// Interfaces without standard statistics: the number of readings until they are asked again, because the
    /// driver may be replaced.
    without: BTreeMap<String, u32>,
}

/// The reader of standard statistics.
#[derive(Debug, Default)]
enum Reader {
    /// Not opened yet, or it failed: the next reading opens it.
    #[default]
    Closed,
    Open(StatisticsReader),
    /// This kernel has no standard statistics.
    Unsupported,
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
        for (counter, value) in
            standard_counters(&self.read_standard(interface, StatisticsReader::open)).iter()
        {
            if counters.get(counter).is_none() {
                counters.set(counter, value);
            }
        }
        counters
    }

    fn read_standard(
        &mut self,
        interface: &str,
        open: impl FnOnce() -> Result<Option<StatisticsReader>, NetError>,
    ) -> StandardStatistics {
        if let Some(left) = self.without.get_mut(interface)
            && *left > 0
        {
            *left -= 1;
            return StandardStatistics::default();
        }
        if matches!(self.reader, Reader::Closed) {
            self.reader =
                open().map_or(Reader::Closed, |reader| reader.map_or(Reader::Unsupported, Reader::Open));
        }
        let Reader::Open(reader) = &mut self.reader else { return StandardStatistics::default() };
        // An error says nothing about the driver: the interface may come back, or the socket was lost.
        let Ok(statistics) = reader.read(interface) else {
            self.reader = Reader::Closed;
            return StandardStatistics::default();
        };
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

    /// No socket, or no interface: the next reading tries again.
    #[test]
    fn a_failure_is_followed_by_another_attempt() {
        let mut driver = DriverCounters::default();
        let failed = || Err(NetError::NoSuchInterface { name: "netlink".to_owned() });
        assert_eq!(driver.read_standard("lo", failed), StandardStatistics::default());
        assert!(driver.without.is_empty(), "nobody has asked the interface");
        driver.read_standard("lo", StatisticsReader::open);
        assert!(matches!(driver.reader, Reader::Open(_)), "{driver:?}");
        for _ in 0..2 {
            driver.read_standard("no-such-port", StatisticsReader::open);
            assert!(!driver.without.contains_key("no-such-port"), "it may appear at any time");
        }
        driver.read_standard("no-such-port", || Ok(None));
        assert!(matches!(driver.reader, Reader::Unsupported), "{driver:?}");
    }
}
