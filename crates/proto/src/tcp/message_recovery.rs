//! Loss recovery of a message: its share of the connection's counters.

use super::counters::Counters;

/// Losses and recoveries of the connection while a message was in flight, as its sender saw them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageRecovery {
    /// Maximum bytes sacked at once beyond a gap in the message; 0: no gap.
    pub sacked_bytes: u32,
    /// Bytes of the message from its first gap to its end.
    pub gap_bytes: u32,
    /// Bytes of the message not sent when more than two segments were sacked beyond a gap; if there never
    /// were more than two, when the first was sacked.
    pub unsent_bytes: u32,
    /// Recoveries that started without a timeout.
    pub recoveries: u32,
    /// Recoveries and timeouts that were undone.
    pub undone: u32,
    /// Tail loss probes.
    pub probes: u32,
    /// ACKs with a DSACK.
    pub dsacks: u32,
}

/// So few sacked segments do not prove a loss (RFC 5681 §3.2).
const INCONCLUSIVE_SEGMENTS: u64 = 2;

/// A gap at the first unacknowledged byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) at: u64,
    pub(super) nxt: u64,
    pub(super) sacked: u64,
    pub(super) mss: u64,
}

impl MessageRecovery {
    /// An ACK shows a gap in the message, which ends before `end`.
    pub(super) fn on_gap(&mut self, gap: Gap, end: u64) {
        let is_first = self.sacked_bytes == 0;
        if is_first {
            self.gap_bytes = (end - gap.at) as u32;
        }
        let inconclusive = INCONCLUSIVE_SEGMENTS * gap.mss;
        if is_first || gap.sacked > inconclusive && self.sacked_bytes as u64 <= inconclusive {
            self.unsent_bytes = end.saturating_sub(gap.nxt) as u32;
        }
        self.sacked_bytes = self.sacked_bytes.max(gap.sacked as u32);
    }

    /// Adds the counters of the connection since the message was posted.
    pub(super) fn with(self, before: &Counters, after: &Counters) -> Self {
        Self {
            recoveries: after.recoveries - before.recoveries,
            undone: after.undone - before.undone,
            probes: after.probes - before.probes,
            dsacks: after.dsacks - before.dsacks,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joshi et al., section 4.4: unsent bytes count once more than two segments are sacked beyond the gap.
    #[test]
    fn unsent_bytes_count_from_the_third_sacked_segment() {
        let mut recovery = MessageRecovery::default();
        let gap = |nxt, sacked| Gap { at: 1_000, nxt, sacked, mss: 1_000 };
        recovery.on_gap(gap(6_000, 1_000), 10_000);
        assert_eq!((recovery.gap_bytes, recovery.unsent_bytes), (9_000, 4_000));
        recovery.on_gap(gap(8_000, 2_000), 10_000);
        assert_eq!(recovery.unsent_bytes, 4_000, "two segments prove nothing");
        recovery.on_gap(gap(9_000, 3_000), 10_000);
        assert_eq!((recovery.sacked_bytes, recovery.unsent_bytes), (3_000, 1_000));
        recovery.on_gap(gap(12_000, 4_000), 10_000);
        assert_eq!((recovery.sacked_bytes, recovery.gap_bytes, recovery.unsent_bytes), (4_000, 9_000, 1_000));
    }
}
