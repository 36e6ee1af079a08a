//! Result of one flow.

use std::fmt;

use wiremend_units::Span;

/// Result of one flow that ended: a row of `flows.parquet`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRow {
    /// Number of the flow.
    pub flow: u64,
    /// The requester's host.
    pub src: u32,
    /// The responder's host.
    pub dst: u32,
    /// Traffic class.
    pub class: u8,
    /// Number of its connection among those that `src` has opened, from 1; several flows may share one. `None` if the
    /// flow ended before a message of it did.
    pub connection: Option<u32>,
    /// ECMP entropy of all its packets; `None` if packets may differ in it.
    pub entropy: Option<u16>,
    /// Payload bytes.
    pub bytes: u64,
    /// When the application posted the flow.
    pub start_ps: u64,
    /// When the requester's last work request completed or failed.
    pub end_ps: u64,
    /// When the last byte arrived at the responder; `None` if it did not.
    pub delivered_ps: Option<u64>,
    /// Completion time of the same bytes alone on the same path.
    pub ideal_ps: u64,
    /// How the flow ended.
    pub outcome: FlowOutcome,
    /// Retransmission timers that fired for it.
    pub timeouts: u32,
    /// NAKs that its requester received.
    pub naks: u32,
    /// Packets retransmitted.
    pub retransmitted_packets: u32,
    /// Payload bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Frames of its connection, in both directions, that links lost because they had failed. `None` if no link of the
    /// run can fail, or the connection is not known.
    pub failed_frames: Option<u32>,
    /// Statistics of a TCP flow.
    pub tcp: Option<TcpStats>,
}

/// TCP statistics of a flow while it was open.
///
/// A gap is a missing segment behind which other segments have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpStats {
    /// Segments that were lost on a link and arrived because the link retransmitted them.
    pub link_recovered: u32,
    /// Most bytes selectively acknowledged beyond a gap at one time; 0 if the sender never learned of a gap.
    pub sacked_bytes_max: u32,
    /// Bytes from the first gap to the end of the flow.
    pub after_gap_bytes: u32,
    /// Bytes not yet sent when more than two segments had been acknowledged beyond a gap; if there were never
    /// more than two, when the first one was.
    pub unsent_bytes: u32,
    /// Recoveries that began without a timeout: the sender assumed a loss and reduced its window.
    pub recoveries: u32,
    /// Recoveries that the sender undid because nothing had been lost.
    pub spurious_recoveries: u32,
    /// Tail loss probes.
    pub tail_probes: u32,
    /// Acknowledgements with a DSACK: a segment arrived twice.
    pub dsacks: u32,
}

keyed! {
    /// How a flow ended. Every flow ends, if necessary with a reason of failure.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    #[repr(u8)]
    FlowOutcome {
        /// Every work request completed.
        Finished = "finished",
        /// The timer fired more than `retry_cnt` times (IBA 9.9.2.1.1).
        RetryExceeded = "retry_exceeded",
        /// The responder was not ready more than `rnr_retry` times.
        RnrRetryExceeded = "rnr_retry_exceeded",
        /// The responder refused the request.
        RemoteError = "remote_error",
        /// The run ended first.
        TimeLimit = "time_limit",
        /// No event was pending that could continue the flow.
        Stalled = "stalled",
        /// Ports of lossless switches waited for each other in a cycle, which ended the run.
        Deadlock = "deadlock",
    }
}

impl FlowRow {
    /// Flow numbers reserved for each workload.
    pub const PER_WORKLOAD: u64 = 1 << 40;

    /// Index of its workload in the scenario.
    pub const fn workload(&self) -> u64 {
        self.flow / Self::PER_WORKLOAD
    }

    /// Flow completion time: from the post to the requester's last completion, or to the failure.
    pub const fn fct(&self) -> Span {
        Span::from_ps(self.end_ps.saturating_sub(self.start_ps))
    }

    /// Completion time relative to the same bytes alone. An ideal time of zero counts as 1 ps.
    pub fn slowdown(&self) -> f64 {
        self.fct().as_ps() as f64 / self.ideal_ps.max(1) as f64
    }

    /// [`Self::slowdown`] in thousandths, rounded, computed with integers.
    pub(crate) fn slowdown_milli(&self) -> u64 {
        let ideal = u128::from(self.ideal_ps.max(1));
        let milli = (u128::from(self.fct().as_ps()) * 1_000 + ideal / 2) / ideal;
        u64::try_from(milli).unwrap_or(u64::MAX)
    }
}

impl FlowOutcome {
    /// Description for readers.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::RetryExceeded => "retries exhausted",
            Self::RnrRetryExceeded => "receiver-not-ready retries exhausted",
            Self::RemoteError => "refused by the responder",
            Self::TimeLimit => "time limit reached",
            Self::Stalled => "stalled: no event was pending",
            Self::Deadlock => "deadlock: ports wait for each other in a cycle",
        }
    }

    /// Whether all work requests completed.
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Finished)
    }
}

impl fmt::Display for FlowOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.reason())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(flow: u64, fct_ps: u64) -> FlowRow {
        FlowRow {
            flow,
            src: 3,
            dst: 7,
            class: 0,
            connection: Some(1),
            entropy: Some(0xC000),
            bytes: 4096,
            start_ps: 1_000,
            end_ps: 1_000 + fct_ps,
            delivered_ps: Some(900 + fct_ps),
            ideal_ps: 2_000_000,
            outcome: FlowOutcome::Finished,
            timeouts: 0,
            naks: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
            failed_frames: None,
            tcp: None,
        }
    }

    #[test]
    fn slowdown_is_relative_to_the_ideal() {
        let row = row(1, 3_000_000);
        assert_eq!(row.fct(), Span::from_us(3));
        assert!((row.slowdown() - 1.5).abs() < 1e-12);
        assert_eq!(row.slowdown_milli(), 1_500);
    }

    #[test]
    fn an_ideal_time_of_zero_is_not_divided_by() {
        let row = FlowRow { ideal_ps: 0, ..row(1, 5) };
        assert!(row.slowdown().is_finite());
        let worst = FlowRow { ideal_ps: 0, ..self::row(1, u64::MAX - 1_000) };
        assert_eq!(worst.slowdown_milli(), u64::MAX);
    }

    #[test]
    fn outcomes_have_distinct_keys() {
        let keys: std::collections::BTreeSet<_> =
            FlowOutcome::ALL.iter().map(|outcome| outcome.key()).collect();
        assert_eq!(keys.len(), FlowOutcome::ALL.len());
    }
}
