//! Goodput over a measurement window.

use serde::{Deserialize, Serialize};

use crate::FlowRow;

/// Payload that arrived within a measurement window, per time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goodput {
    /// Payload bits of finished flows within the window divided by its length.
    pub bps: f64,
    /// Start of the window in nanoseconds.
    pub from_ns: f64,
    /// End of the window.
    pub until_ns: f64,
}

/// Measures the goodput of one run from its rows. The payload of a finished flow counts evenly from its post to its
/// delivery: a row does not say when its packets arrived.
#[derive(Clone, Debug)]
pub struct GoodputMeter {
    window_ps: Option<(u64, u64)>,
    /// Bytes within the window.
    bytes: u64,
    /// Without a window: bytes by the time of their arrival, in the bins of [`edge`].
    bins: Vec<u64>,
    /// Payload by the time at which its flow was complete.
    completed: Vec<u64>,
}

/// Fractions of the payload at whose delivery the window starts and ends by default.
const WARM_UP: f64 = 0.1;
const END: f64 = 0.9;

/// Bins for each doubling of the time: each has 1.5 to 3 % of its time as its width.
const BINS_PER_OCTAVE: u64 = 32;
/// Width of the first bins.
const FIRST_PS: u64 = 10_000;

impl GoodputMeter {
    /// Creates a meter for a window; without one, it takes the time from the delivery of the first tenth of the payload
    /// to that of the last tenth.
    pub const fn new(window_ps: Option<(u64, u64)>) -> Self {
        Self { window_ps, bytes: 0, bins: Vec::new(), completed: Vec::new() }
    }

    /// Adds one row.
    pub fn add(&mut self, row: &FlowRow) {
        if !row.outcome.is_finished() {
            return;
        }
        let flow =
            Transfer { start: row.start_ps, end: row.delivered_ps.unwrap_or(row.end_ps), bytes: row.bytes };
        let end = bin(flow.end);
        self.completed.resize(self.completed.len().max(end + 1), 0);
        self.completed[end] += flow.bytes;
        if let Some((from, until)) = self.window_ps {
            self.bytes += flow.until(until) - flow.until(from);
            return;
        }
        let last = bin(flow.end);
        if self.bins.len() <= last {
            self.bins.resize(last + 1, 0);
        }
        let mut before = 0;
        for bin in bin(flow.start)..last {
            let bytes = flow.until(edge(bin + 1));
            self.bins[bin] += bytes - before;
            before = bytes;
        }
        self.bins[last] += flow.bytes - before;
    }

    /// The goodput; `None` if nothing was delivered, or all at one time.
    pub fn goodput(&self) -> Option<Goodput> {
        let ((from, until), bytes) = if let Some((from, until)) = self.window_ps {
            ((from as f64, until as f64), self.bytes as f64)
        } else {
            let all = self.bins.iter().sum::<u64>() as f64;
            ((self.delivered_at(WARM_UP * all)?, self.delivered_at(END * all)?), (END - WARM_UP) * all)
        };
        let length = until - from;
        (length > 0.0).then(|| Goodput {
            bps: bytes * 8e12 / length,
            from_ns: from / 1e3,
            until_ns: until / 1e3,
        })
    }

    /// The payload of completed flows over time, in at most `points` steps: nanoseconds, and the bytes of all flows that
    /// were completely delivered by then. It ends when 99 % were, so that a few late flows do not squeeze the rest.
    pub fn completed_over_time(&self, points: usize) -> Vec<(f64, f64)> {
        let all: u64 = self.completed.iter().sum();
        let mut sum = 0;
        let sums = self.completed.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
        let mut steps: Vec<(f64, f64)> = Vec::new();
        for (number, bytes) in sums {
            sum += bytes;
            steps.push((edge(number + 1) as f64 / 1e3, sum as f64));
            if u128::from(sum) * 100 >= u128::from(all) * 99 {
                break;
            }
        }
        let every = steps.len().div_ceil(points.max(1)).max(1);
        // The last step of each group, so that the end is kept.
        steps.chunks(every).filter_map(|group| group.last().copied()).collect()
    }

    /// Returns when this number of bytes was delivered, in ps, interpolated within a bin.
    fn delivered_at(&self, wanted: f64) -> Option<f64> {
        let mut before = 0.0;
        for (number, bytes) in self.bins.iter().enumerate() {
            let bytes = *bytes as f64;
            if bytes > 0.0 && before + bytes >= wanted {
                let (start, end) = (edge(number) as f64, edge(number + 1) as f64);
                return Some(start + (end - start) * (wanted - before) / bytes);
            }
            before += bytes;
        }
        None
    }
}

/// A flow whose payload arrives evenly.
struct Transfer {
    start: u64,
    end: u64,
    bytes: u64,
}

impl Transfer {
    /// Returns the bytes until a time.
    fn until(&self, time: u64) -> u64 {
        if time >= self.end {
            return self.bytes;
        }
        let passed = time.saturating_sub(self.start);
        (u128::from(self.bytes) * u128::from(passed) / u128::from((self.end - self.start).max(1))) as u64
    }
}

/// Returns the bin of a time: linear at first, then logarithmic.
fn bin(ps: u64) -> usize {
    let unit = ps / FIRST_PS;
    if unit < BINS_PER_OCTAVE {
        return unit as usize;
    }
    let octave = unit.ilog2() - BINS_PER_OCTAVE.ilog2();
    (u64::from(octave) * BINS_PER_OCTAVE + (unit >> octave)) as usize
}

/// Returns the start of a bin in ps.
fn edge(bin: usize) -> u64 {
    let bin = bin as u64;
    let octave = (bin / BINS_PER_OCTAVE).saturating_sub(1);
    ((bin - octave * BINS_PER_OCTAVE) << octave).saturating_mul(FIRST_PS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowOutcome;
    use crate::flow::tests::row;

    fn flow(start_ps: u64, end_ps: u64, bytes: u64) -> FlowRow {
        FlowRow { start_ps, end_ps: end_ps + 5, delivered_ps: Some(end_ps), bytes, ..row(0, 0) }
    }

    fn bps(meter: &GoodputMeter) -> f64 {
        meter.goodput().unwrap().bps
    }

    #[test]
    fn bins_are_adjacent_and_narrow() {
        for number in 0..1_400 {
            let (start, end) = (edge(number), edge(number + 1));
            assert_eq!((bin(start), bin(end - 1), bin(end)), (number, number, number + 1), "{number}");
            assert!(number < 32 || (end - start) as f64 <= 0.032 * start as f64, "{number}");
        }
    }

    /// 100 flows back to back at 80 Gb/s, and one late: whole-run goodput falls, measured goodput does not.
    #[test]
    fn a_late_flow_does_not_change_the_goodput() {
        let mut meter = GoodputMeter::new(None);
        for number in 0..100 {
            meter.add(&flow(number * 1_000_000, (number + 1) * 1_000_000, 10_000));
        }
        assert!((bps(&meter) / 80e9 - 1.0).abs() < 0.03, "{:e}", bps(&meter));
        let Goodput { from_ns, until_ns, .. } = meter.goodput().unwrap();
        assert!((from_ns / 10_000.0 - 1.0).abs() < 0.03 && (until_ns / 90_000.0 - 1.0).abs() < 0.03);
        meter.add(&flow(100_000_000, 67_000_000_000, 10_000));
        assert!((bps(&meter) / 80e9 - 1.0).abs() < 0.03, "{:e}", bps(&meter));
    }

    #[test]
    fn a_stated_window_counts_its_part_of_each_flow() {
        let mut meter = GoodputMeter::new(Some((2_000_000, 4_000_000)));
        meter.add(&flow(0, 10_000_000, 10_000));
        meter.add(&flow(3_000_000, 5_000_000, 4_000));
        meter.add(&flow(9_000_000, 9_500_000, 1_000_000));
        meter.add(&FlowRow { outcome: FlowOutcome::TimeLimit, ..flow(2_000_000, 3_000_000, 7_000) });
        assert!((bps(&meter) - (2_000.0 + 2_000.0) * 8.0 / 2e-6).abs() < 1.0);
    }

    #[test]
    fn one_flow_has_its_own_rate_and_none_has_no_goodput() {
        let mut meter = GoodputMeter::new(None);
        assert_eq!(meter.goodput(), None);
        meter.add(&flow(1_000_000, 81_000_000, 1_000_000));
        assert!((bps(&meter) / 100e9 - 1.0).abs() < 0.02, "{:e}", bps(&meter));
        let mut idle = GoodputMeter::new(Some((5, 10)));
        idle.add(&flow(0, 3, 77));
        assert!(bps(&idle).abs() < 1.0);
    }

    /// 80 Gb/s for 100 us, then one late flow, which is beyond the end.
    #[test]
    fn completed_payload_adds_up() {
        let mut meter = GoodputMeter::new(Some((0, 1)));
        for number in 0..100 {
            meter.add(&flow(number * 1_000_000, (number + 1) * 1_000_000, 10_000));
        }
        meter.add(&flow(100_000_000, 67_000_000_000, 1_000));
        for points in [7, 50, 1_000] {
            let steps = meter.completed_over_time(points);
            assert!(steps.len() <= points && steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1), "{steps:?}");
            let (end_ns, bytes) = steps[steps.len() - 1];
            assert!((end_ns / 100_000.0 - 1.0).abs() < 0.04 && bytes >= 990_000.0, "{steps:?}");
            for (ns, bytes) in steps {
                assert!((bytes / (ns * 10.0) - 1.0).abs() < 0.1, "{ns} {bytes}");
            }
        }
        assert!(GoodputMeter::new(None).completed_over_time(50).is_empty());
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let rows: Vec<_> =
            (0..50_u64).map(|i| flow(i * 7_777, i * 7_777 + 1 + i * i * 999_983, 1 + i * 4_099)).collect();
        let (mut there, mut back) = (GoodputMeter::new(None), GoodputMeter::new(None));
        for row in &rows {
            there.add(row);
        }
        for row in rows.iter().rev() {
            back.add(row);
        }
        assert_eq!(there.goodput(), back.goodput());
    }
}
