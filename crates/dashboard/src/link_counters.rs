//! What both ends of a link counted, and what follows from it.

use std::collections::BTreeSet;

use serde::Serialize;
use wiremend_monitor::redis::{CounterRecord, RelayRecord};
use wiremend_monitor::{
    Counter, CounterGrowth, Explanation, LinkSide, LossEstimate, SlowLinkCause, Thresholds, explain,
};
use wiremend_units::Time;

/// Entries of a port's stream, the oldest first, with their times in milliseconds since 1970.
pub(crate) type Entries = Vec<(u64, CounterRecord)>;

/// What both ends counted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct LinkCounters {
    /// The newest values of the lower and of the upper end.
    ends: [EndCounters; 2],
    /// The common time over which they are compared.
    span_ms: u64,
    /// The cause by these counters, once there is something to compare.
    cause: Option<SlowLinkCause>,
    reasons: Vec<ReasonRow>,
    /// Frames lost to the lower and to the upper end.
    lost: [Option<LossEstimate>; 2],
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct EndCounters {
    /// When they were read; none if this end stores none.
    at_ms: Option<u64>,
    counters: Vec<CounterRow>,
    relay: Option<RelayRecord>,
    /// Loss between two entries, with the time of the later one.
    losses: Vec<(u64, f64)>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct CounterRow {
    name: &'static str,
    value: Option<u64>,
    /// Growth over the common time.
    grown: Option<u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct ReasonRow {
    cause: SlowLinkCause,
    /// Which end has the evidence.
    upper: bool,
    text: String,
}

/// Counters are compared over the last hour.
const WINDOW_MS: u64 = 3_600_000;
/// Oldest entries, and those furthest in the future.
const KEPT_MS: u64 = 2 * 86_400_000;
const AHEAD_MAX_MS: u64 = 60_000;

impl LinkCounters {
    /// Compares the counters of the lower and of the upper end. A node may store any time: entries of other days do
    /// not count.
    pub(crate) fn new(mut entries: [Entries; 2], now_ms: u64) -> Self {
        let days = now_ms.saturating_sub(KEPT_MS)..=now_ms.saturating_add(AHEAD_MAX_MS);
        for of in &mut entries {
            of.retain(|(at, _)| days.contains(at));
            of.sort_by_key(|(at, _)| *at);
        }
        let newest = entries.iter().filter_map(|of| of.last()).map(|(at, _)| *at).min().unwrap_or(0);
        let begin = newest.saturating_sub(WINDOW_MS);
        // Both from the first time in the window that both have: an end that was read for longer counted more.
        let first = |of: &Entries| of.iter().map(|(at, _)| *at).find(|at| *at >= begin);
        let begin = entries.iter().filter_map(first).max().unwrap_or(begin);
        let growth = entries.each_ref().map(|of| growth(&of[nearest(of, begin)..]));
        // An end without a daemon stores nothing, and the other one is explained alone.
        let lengths = entries.each_ref().map(|of| of.len() - nearest(of, begin).min(of.len()));
        let is_comparable =
            lengths.iter().all(|length| *length != 1) && lengths.iter().any(|length| *length > 1);
        let Explanation { cause, reasons, loss_to_a, loss_to_b } =
            explain(&growth[0], &growth[1], &Thresholds::default());
        let row = |reason: wiremend_monitor::Reason| ReasonRow {
            cause: reason.cause,
            upper: reason.end == LinkSide::B,
            text: reason.text,
        };
        Self {
            ends: [0, 1].map(|end| EndCounters::new(&entries[end], &growth[end])),
            span_ms: newest.saturating_sub(begin),
            cause: is_comparable.then_some(cause),
            reasons: if is_comparable { reasons.into_iter().map(row).collect() } else { Vec::new() },
            lost: [loss_to_a, loss_to_b],
        }
    }
}

/// The last entry until a time; the first one if all are later.
fn nearest(entries: &Entries, at_ms: u64) -> usize {
    entries.partition_point(|(at, _)| *at <= at_ms).saturating_sub(1)
}

fn growth(entries: &[(u64, CounterRecord)]) -> CounterGrowth {
    let begin = entries.first().map_or(0, |(at, _)| *at);
    let snapshots: Vec<_> = entries
        .iter()
        .map(|(at, entry)| (Time::from_ns((at - begin) * 1_000_000), entry.snapshot()))
        .collect();
    CounterGrowth::over(snapshots.iter().map(|(at, snapshot)| (*at, snapshot)))
}

impl EndCounters {
    fn new(entries: &Entries, growth: &CounterGrowth) -> Self {
        let newest = entries.last();
        let values = newest.map(|(_, entry)| entry.counters).unwrap_or_default();
        let names: BTreeSet<Counter> = values.iter().map(|(counter, _)| counter).collect();
        let counters = names.into_iter().map(|counter| CounterRow {
            name: counter.name(),
            value: values.get(counter),
            grown: growth.get(counter),
        });
        let loss = |pair: &[(u64, CounterRecord)]| {
            let between = self::growth(pair);
            let frames = between.frames();
            (frames > 0).then(|| (pair[1].0, between.bad_frames().min(frames) as f64 / frames as f64))
        };
        Self {
            at_ms: newest.map(|(at, _)| *at),
            counters: counters.collect(),
            relay: newest.and_then(|(_, entry)| entry.relay.clone()),
            losses: entries.windows(2).filter_map(loss).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: u64 = 400_000;

    fn entry(at_s: u64, good: u64, bad: u64) -> (u64, CounterRecord) {
        let counters = [(Counter::RxGood, good), (Counter::RxCrc, bad)].into_iter().collect();
        (at_s * 1_000, CounterRecord { up: true, counters, ..CounterRecord::default() })
    }

    #[test]
    fn both_ends_are_compared_over_their_common_time() {
        let lower = vec![entry(100, 0, 0), entry(200, 1_000_000, 500), entry(300, 2_000_000, 1_500)];
        let upper = vec![entry(210, 0, 0), entry(310, 1_000_000, 0)];
        let both = LinkCounters::new([lower.clone(), upper], NOW_MS);
        assert_eq!(both.cause, Some(SlowLinkCause::Corruption));
        assert!(
            both.reasons[0].text.starts_with("1000 of 1001000 frames") && !both.reasons[0].upper,
            "{both:?}"
        );
        assert_eq!(both.ends[0].losses.len(), 2);
        let crc = both.ends[0].counters.iter().find(|row| row.name == Counter::RxCrc.name()).unwrap();
        assert_eq!((crc.value, crc.grown), (Some(1_500), Some(1_000)));
        // With one entry of the other end there is nothing to compare yet.
        let early = LinkCounters::new([lower, vec![entry(290, 5, 0)]], NOW_MS);
        assert_eq!((early.cause, early.reasons.len()), (None, 0));
        let nothing = LinkCounters::new([Vec::new(), Vec::new()], NOW_MS);
        assert_eq!((nothing.ends[0].at_ms, nothing.cause), (None, None));
        // Of an end without a daemon nothing is known.
        let alone = LinkCounters::new([Vec::new(), vec![entry(10, 0, 0), entry(20, 1_000_000, 700)]], NOW_MS);
        let strange =
            vec![entry(10, 5, 5), (u64::MAX, entry(20, u64::MAX, u64::MAX).1), entry(20, u64::MAX, 0)];
        assert_eq!(LinkCounters::new([strange, Vec::new()], NOW_MS).span_ms, 10_000, "times of other days");
        assert_eq!((alone.cause, alone.lost[0]), (Some(SlowLinkCause::Corruption), None));
    }
}
