//! Aggregation of flow rows into a summary.

use std::collections::BTreeMap;

use crate::digest::CounterNames;
use crate::jobs::{JobPlan, Jobs};
use crate::size_bins::SizeBins;
use crate::{
    Congestion, DeadlockCounts, DropCounts, ExtraFrames, Failures, FlowControl, FlowOutcome, FlowRow,
    Histogram, Protection, Quantiles, RowDigest, Share, SkippedTime, Terms, TimeoutCounts, Trims,
    VariantSummary,
};

/// Aggregates the rows of one variant. Its memory does not grow with the number of flows. Collectors of
/// several threads or seeds [merge](Self::merge) in any order.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    by_outcome: [u64; FlowOutcome::ALL.len()],
    fct_ps: Histogram,
    slowdown: SizeBins,
    finished_bytes: u128,
    flows_with_timeout: u64,
    digest: RowDigest,
    names: CounterNames,
    jobs: Jobs,
}

/// Counters of a run besides its flows. Every field is a sum over the run; runs of several seeds are added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Timers that fired, by cause.
    pub timeouts: TimeoutCounts,
    /// Packets sent by hosts.
    pub packets_sent: u64,
    /// Packets times the links they crossed.
    pub packet_hops: u64,
    /// Simulator events.
    pub events: u64,
    /// Frame bytes beyond the first copy of each packet and its ACKs.
    pub extra_bytes: u64,
    /// Data packets that hosts retransmitted.
    pub retransmitted_packets: u64,
    /// Frame bytes of retransmitted packets.
    pub retransmitted_bytes: u64,
    /// Frames that mending mechanisms added, part of `extra_bytes`.
    pub extra_frames: ExtraFrames,
    /// Counters of protected links; their bytes are part of `extra_bytes`.
    pub protection: Protection,
    /// Counters of failed links.
    pub failures: Failures,
    /// Counters of lossless switches.
    pub flow_control: FlowControl,
    /// Counters of ECN marking and congestion control.
    pub congestion: Congestion,
    /// Counters of trimming switches.
    pub trims: Trims,
    /// Counters of deadlocks and their remedies.
    pub deadlocks: DeadlockCounts,
    /// Original NAKs that requesters received.
    pub naks: u64,
    /// NAK copies that requesters received.
    pub nak_copies: u64,
    /// Frames that links corrupted.
    pub corrupted_frames: u64,
    /// Intact frames that nodes dropped.
    pub dropped_frames: DropCounts,
    /// Simulated time.
    pub simulated_ps: u64,
    /// The part of it that was skipped because the network only repeated a pattern.
    pub skipped: SkippedTime,
}

/// Points of the distribution in a summary.
const CDF_POINTS: usize = 200;

impl Collector {
    /// Creates an empty collector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a collector that also aggregates the jobs of collectives.
    pub fn with_jobs(plans: Vec<JobPlan>) -> Self {
        Self { jobs: Jobs::new(plans), ..Self::default() }
    }

    /// Adds one row. Only finished flows enter the distributions of completion time and slowdown.
    pub fn add(&mut self, row: &FlowRow) {
        self.by_outcome[row.outcome as usize] += 1;
        self.flows_with_timeout += u64::from(row.timeouts > 0);
        self.digest.add_row(row);
        self.jobs.add(row);
        if row.outcome.is_finished() {
            self.finished_bytes += u128::from(row.bytes);
            self.fct_ps.record(row.fct().as_ps());
            self.slowdown.add(row);
        }
    }

    /// Adds a counter of one entity to the digest; see [`RowDigest::add_counter`].
    pub fn add_counter(&mut self, name: &'static str, entity: u64, value: u64) {
        self.names.add(&mut self.digest, name, entity, value);
    }

    /// Adds the content of another collector.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.by_outcome.iter_mut().zip(other.by_outcome) {
            *mine += theirs;
        }
        self.fct_ps.merge(&other.fct_ps);
        self.slowdown.merge(&other.slowdown);
        self.finished_bytes += other.finished_bytes;
        self.flows_with_timeout += other.flows_with_timeout;
        self.digest.merge(&other.digest);
        self.jobs.merge(&other.jobs);
    }

    /// Number of flows so far.
    pub fn flows(&self) -> u64 {
        self.by_outcome.iter().sum()
    }

    /// Number of flows so far with this outcome.
    pub const fn ended(&self, outcome: FlowOutcome) -> u64 {
        self.by_outcome[outcome as usize]
    }

    /// Completion times of finished flows in picoseconds.
    pub const fn fct_ps(&self) -> &Histogram {
        &self.fct_ps
    }

    /// The digest so far.
    pub const fn digest(&self) -> RowDigest {
        self.digest
    }

    /// The summary of all rows and `counters`.
    pub fn summary(&self, name: &str, counters: &Counters) -> VariantSummary {
        let failed = FlowOutcome::ALL.into_iter().filter(|outcome| !outcome.is_finished());
        let failed: BTreeMap<_, _> = failed
            .map(|outcome| (outcome.key(), self.ended(outcome)))
            .filter(|(_, count)| *count > 0)
            .collect();
        VariantSummary {
            name: name.to_owned(),
            flows: self.flows(),
            finished: self.ended(FlowOutcome::Finished),
            failed,
            fct_ns: Quantiles::from_histogram(&self.fct_ps, 1e3),
            slowdown: Quantiles::from_histogram(&self.slowdown.all(), 1e3),
            slowdown_by_size: self.slowdown.summary(),
            timeouts: counters.timeouts,
            flows_with_timeout: Share::new(self.flows_with_timeout, self.flows()),
            packets_sent: counters.packets_sent,
            packet_hops: counters.packet_hops,
            events: counters.events,
            retransmitted_packets: counters.retransmitted_packets,
            retransmitted_bytes: counters.retransmitted_bytes,
            extra_bytes: counters.extra_bytes,
            extra_frames: counters.extra_frames,
            protection: counters.protection,
            failures: counters.failures,
            flow_control: counters.flow_control,
            congestion: counters.congestion,
            trims: counters.trims,
            deadlocks: counters.deadlocks,
            first_deadlock: None,
            notes: Vec::new(),
            terms: Terms::default(),
            seeds: Vec::new(),
            over_seeds: BTreeMap::new(),
            jobs: self.jobs.summary(),
            naks: counters.naks,
            nak_copies: counters.nak_copies,
            corrupted_frames: counters.corrupted_frames,
            dropped_frames: counters.dropped_frames,
            goodput: None,
            whole_run_goodput_bps: goodput_bps(self.finished_bytes, counters.simulated_ps),
            simulated_ns: counters.simulated_ps / 1_000,
            skipped: counters.skipped,
            digest: self.digest.to_string(),
            fct_cdf: self.fct_ps.cdf_points(CDF_POINTS),
        }
    }
}

add_counters!(
    Counters;
    sum timeouts, packets_sent, packet_hops, events, extra_bytes, retransmitted_packets,
    retransmitted_bytes, extra_frames, protection, failures, flow_control, congestion, trims, deadlocks, naks, nak_copies,
    corrupted_frames, dropped_frames, simulated_ps, skipped
);

/// Goodput in bit/s, rounded down; 0 if no time passed.
fn goodput_bps(bytes: u128, ps: u64) -> u64 {
    let bits_ps = bytes.saturating_mul(8 * 1_000_000_000_000);
    bits_ps.checked_div(u128::from(ps)).map_or(0, |bps| u64::try_from(bps).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeoutCause;
    use crate::flow::tests::row;

    fn counters() -> Counters {
        let mut timeouts = TimeoutCounts::default();
        timeouts.add(TimeoutCause::TailAck);
        Counters {
            timeouts,
            packets_sent: 40,
            packet_hops: 80,
            simulated_ps: 1_000_000_000,
            ..Counters::default()
        }
    }

    #[test]
    fn failed_flows_count_but_have_no_completion_time() {
        let mut collector = Collector::new();
        collector.add(&row(0, 4_000_000));
        collector.add(&FlowRow {
            outcome: FlowOutcome::RetryExceeded,
            timeouts: 8,
            ..row(1, 600_000_000_000)
        });
        let summary = collector.summary("plain", &counters());
        assert_eq!((summary.flows, summary.finished), (2, 1));
        assert_eq!(summary.failed, BTreeMap::from([("retry_exceeded", 1)]));
        let fct = summary.fct_ns.unwrap();
        assert_eq!(
            [fct.max, fct.mean, summary.slowdown.unwrap().p99].map(|value| value as u64),
            [4_000, 4_000, 2]
        );
        assert_eq!(summary.flows_with_timeout.count, 1);
        assert_eq!(summary.whole_run_goodput_bps, 4096 * 8 * 1_000);
        assert_eq!(summary.simulated_ns, 1_000_000);
    }

    #[test]
    fn without_flows_there_are_no_numbers() {
        let summary = Collector::new().summary("idle", &Counters::default());
        assert_eq!((summary.fct_ns, summary.slowdown, summary.whole_run_goodput_bps), (None, None, 0));
        assert!(summary.fct_cdf.is_empty());
    }

    #[test]
    fn merged_seeds_equal_one_long_run() {
        let rows: Vec<_> = (0..100).map(|flow| row(flow, 1_000_000 + flow * flow * 10_000)).collect();
        let mut whole = Collector::new();
        for row in &rows {
            whole.add(row);
        }
        let mut parts = [Collector::new(), Collector::new()];
        for (i, row) in rows.iter().enumerate() {
            parts[i % 2].add(row);
        }
        let [mut odd, even] = parts;
        odd.merge(&even);
        let mut both = counters();
        both += counters();
        let (merged, whole) = (odd.summary("v", &both), whole.summary("v", &both));
        assert_eq!(merged, whole);
        assert_eq!((merged.packets_sent, merged.simulated_ns), (80, 2_000_000));
    }
}
