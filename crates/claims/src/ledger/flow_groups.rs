//! Groups TCP flows by the effect that loss and reordering had on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiremend_measure::{FlowRow, Histogram, Quantiles};
use wiremend_scenario::{Protocol, Scenario};

/// Effect of losses on a flow over a link with local retransmission, grouped as in Joshi et al. (SIGCOMM
/// 2023, section 4.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Group {
    /// The link retransmitted no frame of this flow.
    Clean,
    /// The link retransmitted a frame, and the sender received no SACK for data beyond a gap.
    Hidden,
    /// At most two segments beyond the gap were selectively acknowledged. The gap was not among the last
    /// three segments.
    A,
    /// At most two segments beyond the gap were selectively acknowledged. The gap was among the last three
    /// segments.
    B,
    /// More than two segments beyond the gap were selectively acknowledged after the whole flow had been
    /// sent.
    C,
    /// More than two segments beyond the gap were selectively acknowledged while part of the flow was unsent.
    D,
}

/// Counts over the flows of a group.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct GroupCounts {
    pub(crate) flows: u64,
    /// Flows with a frame that the link retransmitted.
    pub(crate) link_retransmitted: u64,
    /// Flows whose sender reduced its window because of a loss.
    pub(crate) reduced: u64,
    /// Flows with retransmissions by the sender, and the number of these packets.
    pub(crate) retransmitting: u64,
    pub(crate) retransmitted_packets: u64,
    /// Largest unsent part of a flow at the time its group was determined.
    pub(crate) unsent_bytes_max: u32,
    /// Completion times.
    pub(crate) fct_ns: Option<Quantiles>,
}

/// Counts of a run over TCP, by group.
pub(crate) type CountsByGroup = BTreeMap<Group, GroupCounts>;

/// Assigns each finished flow to its group.
#[derive(Default)]
pub(super) struct FlowGrouper {
    mss: u32,
    groups: BTreeMap<Group, (GroupCounts, Histogram)>,
}

/// With at most this many selectively acknowledged segments beyond a gap the sender does not declare a loss.
const UNDECIDED_SEGMENTS_MAX: u32 = 2;
const TAIL_SEGMENTS: u32 = 3;

impl FlowGrouper {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mss = if scenario.uses_protocol(Protocol::Tcp) { scenario.transport.tcp().mss() } else { 0 };
        Self { mss: u32::from(mss), groups: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, row: &FlowRow) {
        let Some(tcp) = row.tcp.filter(|_| row.outcome.is_finished()) else { return };
        let group = if tcp.sacked_bytes_max == 0 {
            if tcp.link_recovered > 0 { Group::Hidden } else { Group::Clean }
        } else if tcp.sacked_bytes_max <= UNDECIDED_SEGMENTS_MAX * self.mss {
            if tcp.after_gap_bytes <= TAIL_SEGMENTS * self.mss { Group::B } else { Group::A }
        } else if tcp.unsent_bytes == 0 {
            Group::C
        } else {
            Group::D
        };
        let (counts, times) = self.groups.entry(group).or_default();
        counts.flows += 1;
        counts.link_retransmitted += u64::from(tcp.link_recovered > 0);
        counts.reduced += u64::from(tcp.recoveries > 0 || row.timeouts > 0);
        counts.retransmitting += u64::from(row.retransmitted_packets > 0);
        counts.retransmitted_packets += u64::from(row.retransmitted_packets);
        counts.unsent_bytes_max = counts.unsent_bytes_max.max(tcp.unsent_bytes);
        times.record(row.fct().as_ps());
    }

    pub(super) fn finish(self) -> CountsByGroup {
        let with_quantiles = |(group, (counts, times)): (Group, (GroupCounts, Histogram))| {
            (group, GroupCounts { fct_ns: Quantiles::from_histogram(&times, 1e3), ..counts })
        };
        self.groups.into_iter().map(with_quantiles).collect()
    }
}

#[cfg(test)]
mod tests {
    use wiremend_measure::{FlowOutcome, TcpStats};

    use super::*;

    fn group_of(stats: TcpStats) -> Group {
        let row = FlowRow {
            flow: 0,
            src: 0,
            dst: 1,
            class: 0,
            connection: None,
            entropy: None,
            bytes: 24_387,
            start_ps: 0,
            end_ps: 1_000_000,
            delivered_ps: None,
            ideal_ps: 1_000_000,
            outcome: FlowOutcome::Finished,
            timeouts: 0,
            naks: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
            failed_frames: None,
            tcp: Some(stats),
        };
        let mut grouper = FlowGrouper { mss: 1_448, ..FlowGrouper::default() };
        grouper.add(&row);
        let counts = grouper.finish();
        assert_eq!(counts.values().map(|counts| counts.flows).sum::<u64>(), 1);
        *counts.keys().next().unwrap()
    }

    /// Borders of the groups in Joshi et al., Fig. 13.
    #[test]
    fn flows_fall_into_the_groups_of_the_paper() {
        let gap = |sacked_bytes_max, after_gap_bytes, unsent_bytes| {
            group_of(TcpStats {
                link_recovered: 1,
                sacked_bytes_max,
                after_gap_bytes,
                unsent_bytes,
                ..TcpStats::default()
            })
        };
        assert_eq!(gap(2 * 1_448, 3 * 1_448 + 1, 1_448), Group::A);
        assert_eq!(gap(1_448, 3 * 1_448, 0), Group::B);
        assert_eq!(gap(2 * 1_448 + 1, 20_000, 0), Group::C);
        assert_eq!(gap(2 * 1_448 + 1, 3_000, 1), Group::D);
        assert_eq!(gap(0, 0, 0), Group::Hidden);
        assert_eq!(group_of(TcpStats::default()), Group::Clean);
    }
}
