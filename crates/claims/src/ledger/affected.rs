//! What flows over TCP met, by groups.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wiremend_measure::{FlowRow, Histogram, Quantiles};
use wiremend_scenario::{Protocol, Scenario};

/// What may become of a flow over a link that sends lost frames again, as Joshi et al. (SIGCOMM 2023, section 4.4) tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) enum Group {
    /// No frame of it was lost, or none that a link brought.
    Clean,
    /// A link brought a frame that it had lost, and the sender never heard of a gap.
    Hidden,
    /// At most two segments were acknowledged beyond the gap, which was none of the last three segments.
    A,
    /// The same, and the gap was one of the last three.
    B,
    /// More than two segments were acknowledged beyond the gap, when all of the flow was sent.
    C,
    /// The same, when some of it was not.
    D,
}

/// What the flows of a group met.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Met {
    pub(crate) flows: u64,
    /// Those that a link brought a lost frame of.
    pub(crate) mended: u64,
    /// Those whose sender reduced its window for a loss.
    pub(crate) reduced: u64,
    /// Those that had something sent again, and how many packets.
    pub(crate) resending: u64,
    pub(crate) resent_packets: u64,
    /// The most that was not sent when a flow's group was decided.
    pub(crate) unsent_bytes_max: u32,
    /// Completion times.
    pub(crate) fct_ns: Option<Quantiles>,
}

/// All flows of a run over TCP, by group.
pub(crate) type Affected = BTreeMap<Group, Met>;

/// Sorts flows into groups as they end.
#[derive(Default)]
pub(super) struct Sorter {
    mss: u32,
    groups: BTreeMap<Group, (Met, Histogram)>,
}

/// As few segments beyond a gap are no loss yet, and a gap among so many last ones is a lost tail.
const DOUBTFUL: u32 = 2;
const TAIL: u32 = 3;

impl Sorter {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mss = if scenario.speaks(Protocol::Tcp) { scenario.transport.tcp().mss() } else { 0 };
        Self { mss: u32::from(mss), groups: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, row: &FlowRow) {
        let Some(tcp) = row.tcp.filter(|_| row.outcome.is_finished()) else { return };
        let group = if tcp.sacked_bytes == 0 {
            if tcp.mended > 0 { Group::Hidden } else { Group::Clean }
        } else if tcp.sacked_bytes <= DOUBTFUL * self.mss {
            if tcp.gap_bytes <= TAIL * self.mss { Group::B } else { Group::A }
        } else if tcp.unsent_bytes == 0 {
            Group::C
        } else {
            Group::D
        };
        let (met, times) = self.groups.entry(group).or_default();
        met.flows += 1;
        met.mended += u64::from(tcp.mended > 0);
        met.reduced += u64::from(tcp.recoveries > 0 || row.timeouts > 0);
        met.resending += u64::from(row.retransmitted_packets > 0);
        met.resent_packets += u64::from(row.retransmitted_packets);
        met.unsent_bytes_max = met.unsent_bytes_max.max(tcp.unsent_bytes);
        times.record(row.fct().as_ps());
    }

    pub(super) fn sorted(self) -> Affected {
        let told = |(group, (met, times)): (Group, (Met, Histogram))| {
            (group, Met { fct_ns: Quantiles::of(&times, 1e3), ..met })
        };
        self.groups.into_iter().map(told).collect()
    }
}

#[cfg(test)]
mod tests {
    use wiremend_measure::{Outcome, TcpTrouble};

    use super::*;

    fn group_of(trouble: TcpTrouble) -> Group {
        let row = FlowRow {
            flow: 0,
            src: 0,
            dst: 1,
            bytes: 24_387,
            start_ps: 0,
            end_ps: 1_000_000,
            delivered_ps: None,
            ideal_ps: 1_000_000,
            outcome: Outcome::Finished,
            timeouts: 0,
            naks: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
            tcp: Some(trouble),
        };
        let mut sorter = Sorter { mss: 1_448, ..Sorter::default() };
        sorter.add(&row);
        let affected = sorter.sorted();
        assert_eq!(affected.values().map(|met| met.flows).sum::<u64>(), 1);
        *affected.keys().next().unwrap()
    }

    /// Joshi et al., Fig. 13, at its borders.
    #[test]
    fn flows_are_told_apart_as_in_the_paper() {
        let gap = |sacked_bytes, gap_bytes, unsent_bytes| {
            group_of(TcpTrouble { mended: 1, sacked_bytes, gap_bytes, unsent_bytes, ..TcpTrouble::default() })
        };
        assert_eq!(gap(2 * 1_448, 3 * 1_448 + 1, 1_448), Group::A);
        assert_eq!(gap(1_448, 3 * 1_448, 0), Group::B);
        assert_eq!(gap(2 * 1_448 + 1, 20_000, 0), Group::C);
        assert_eq!(gap(2 * 1_448 + 1, 3_000, 1), Group::D);
        assert_eq!(gap(0, 0, 0), Group::Hidden);
        assert_eq!(group_of(TcpTrouble::default()), Group::Clean);
    }
}
