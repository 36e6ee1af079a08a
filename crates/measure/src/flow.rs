//! What became of one flow.

use std::fmt;

use wiremend_units::Span;

/// One flow that ended, well or not: a row of `flows.parquet`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRow {
    /// The flow's number.
    pub flow: u64,
    /// The host that asked for the transfer (the requester).
    pub src: u32,
    /// The host at the other end (the responder).
    pub dst: u32,
    /// Application bytes.
    pub bytes: u64,
    /// When the application posted the flow.
    pub start_ps: u64,
    /// When the requester saw its last work request complete, or fail.
    pub end_ps: u64,
    /// When the last byte was at the responder; `None` if it never was.
    pub delivered_ps: Option<u64>,
    /// How long the same bytes take alone on the same path.
    pub ideal_ps: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Retransmission timers that fired for it.
    pub timeouts: u32,
    /// NAKs that its requester received.
    pub naks: u32,
    /// Packets sent again.
    pub retransmitted_packets: u32,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// What only a flow over TCP has.
    pub tcp: Option<TcpTrouble>,
}

/// What a flow over TCP has met.
///
/// A gap is a segment that is missing while others behind it are there. What the sender did, it did while the flow was open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpTrouble {
    /// Segments that were lost on a link and came because the link sent them again.
    pub mended: u32,
    /// The most bytes that were acknowledged beyond a gap at once; 0: the sender never knew of a gap.
    pub sacked_bytes: u32,
    /// Bytes from the first gap to the end of the flow.
    pub gap_bytes: u32,
    /// Bytes that were not sent when more than two segments had been acknowledged beyond a gap; where it never were so many, when
    /// the first was.
    pub unsent_bytes: u32,
    /// Recoveries that began without a timeout: the sender took something for lost, and reduced its window.
    pub recoveries: u32,
    /// Reductions of the window that were undone, since nothing had been lost.
    pub undone: u32,
    /// Probes for a lost tail.
    pub probes: u32,
    /// Acknowledgements that told of a segment that came twice.
    pub twice: u32,
}

keyed! {
    /// How a flow ended. Nothing hangs: what cannot finish ends with a reason.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    #[repr(u8)]
    Outcome {
        /// Every work request completed.
        Finished = "finished",
        /// The timer fired more often than `retry_cnt` allows (IBA 9.9.2.1.1).
        RetryExceeded = "retry_exceeded",
        /// The responder was not ready more often than `rnr_retry` allows.
        RnrRetryExceeded = "rnr_retry_exceeded",
        /// The responder refused the request.
        RemoteError = "remote_error",
        /// The run ended first.
        TimeLimit = "time_limit",
        /// Nothing was left that could have moved the flow on.
        Stalled = "stalled",
        /// Ports of lossless switches waited for each other in a circle, which ended the run.
        Deadlock = "deadlock",
    }
}

impl FlowRow {
    /// Flow completion time: from post to the requester's last completion, or to the failure.
    pub const fn fct(&self) -> Span {
        Span::from_ps(self.end_ps.saturating_sub(self.start_ps))
    }

    /// Completion time over the completion time of the same bytes alone. An ideal of zero counts as 1 ps.
    pub fn slowdown(&self) -> f64 {
        self.fct().as_ps() as f64 / self.ideal_ps.max(1) as f64
    }

    /// [`Self::slowdown`] in thousandths, rounded to the nearest, by integers only.
    pub(crate) fn slowdown_milli(&self) -> u64 {
        let ideal = u128::from(self.ideal_ps.max(1));
        let milli = (u128::from(self.fct().as_ps()) * 1_000 + ideal / 2) / ideal;
        u64::try_from(milli).unwrap_or(u64::MAX)
    }
}

impl Outcome {
    /// The reason, for people.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::RetryExceeded => "retries exhausted",
            Self::RnrRetryExceeded => "receiver-not-ready retries exhausted",
            Self::RemoteError => "refused by the responder",
            Self::TimeLimit => "time limit reached",
            Self::Stalled => "stalled: nothing left that could move it",
            Self::Deadlock => "deadlock: ports wait for each other in a circle",
        }
    }

    /// Whether the flow did what was asked.
    pub const fn is_finished(self) -> bool {
        matches!(self, Self::Finished)
    }
}

impl fmt::Display for Outcome {
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
            bytes: 4096,
            start_ps: 1_000,
            end_ps: 1_000 + fct_ps,
            delivered_ps: Some(900 + fct_ps),
            ideal_ps: 2_000_000,
            outcome: Outcome::Finished,
            timeouts: 0,
            naks: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
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
    fn a_missing_ideal_divides_nothing_by_zero() {
        let row = FlowRow { ideal_ps: 0, ..row(1, 5) };
        assert!(row.slowdown().is_finite());
        let worst = FlowRow { ideal_ps: 0, ..self::row(1, u64::MAX - 1_000) };
        assert_eq!(worst.slowdown_milli(), u64::MAX);
    }

    #[test]
    fn outcomes_have_distinct_keys() {
        let keys: std::collections::BTreeSet<_> = Outcome::ALL.iter().map(|outcome| outcome.key()).collect();
        assert_eq!(keys.len(), Outcome::ALL.len());
    }
}
