//! What a message has met on its way: a flow's share of what its connection has seen.

use super::counters::Counters;

/// What a message has met until it was acknowledged, as its sender saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Trouble {
    /// The most bytes that were acknowledged beyond a gap at once, while the gap lay in the message; 0: none ever was told of.
    pub sacked_bytes: u32,
    /// Bytes of the message from its first gap on, that one included.
    pub gap_bytes: u32,
    /// Bytes of the message that were not sent when more than two segments had been acknowledged beyond a gap; where it never
    /// were so many, when the first was.
    pub unsent_bytes: u32,
    /// Recoveries that began meanwhile, without a timeout.
    pub recoveries: u32,
    /// Recoveries and timeouts that were undone meanwhile.
    pub undone: u32,
    /// Probes that were sent meanwhile.
    pub probes: u32,
    /// Acknowledgements that told meanwhile of a segment that came twice.
    pub twice: u32,
}

/// As many segments beyond a gap are no proof of a loss (RFC 5681 §3.2).
const DOUBTFUL: u64 = 2;

/// A gap at the first byte that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) at: u64,
    /// The next byte to be sent.
    pub(super) nxt: u64,
    /// Bytes that have arrived beyond it.
    pub(super) sacked: u64,
    pub(super) mss: u64,
}

impl Trouble {
    /// An acknowledgement tells of a gap in the message, which ends before `end`.
    pub(super) fn on_gap(&mut self, gap: Gap, end: u64) {
        let is_first = self.sacked_bytes == 0;
        if is_first {
            self.gap_bytes = (end - gap.at) as u32;
        }
        let doubtful = DOUBTFUL * gap.mss;
        if is_first || gap.sacked > doubtful && self.sacked_bytes as u64 <= doubtful {
            self.unsent_bytes = end.saturating_sub(gap.nxt) as u32;
        }
        self.sacked_bytes = self.sacked_bytes.max(gap.sacked as u32);
    }

    /// The same, with what the connection has counted since the message was posted.
    pub(super) fn with(self, before: &Counters, after: &Counters) -> Self {
        Self {
            recoveries: after.recoveries - before.recoveries,
            undone: after.undone - before.undone,
            probes: after.probes - before.probes,
            twice: after.twice - before.twice,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joshi et al., section 4.4: what is pending counts when more than two segments have come beyond the gap.
    #[test]
    fn what_is_unsent_counts_from_the_third_segment_on() {
        let mut trouble = Trouble::default();
        let gap = |nxt, sacked| Gap { at: 1_000, nxt, sacked, mss: 1_000 };
        trouble.on_gap(gap(6_000, 1_000), 10_000);
        assert_eq!((trouble.gap_bytes, trouble.unsent_bytes), (9_000, 4_000));
        trouble.on_gap(gap(8_000, 2_000), 10_000);
        assert_eq!(trouble.unsent_bytes, 4_000, "two say little");
        trouble.on_gap(gap(9_000, 3_000), 10_000);
        assert_eq!((trouble.sacked_bytes, trouble.unsent_bytes), (3_000, 1_000));
        trouble.on_gap(gap(12_000, 4_000), 10_000);
        assert_eq!((trouble.sacked_bytes, trouble.gap_bytes, trouble.unsent_bytes), (4_000, 9_000, 1_000));
    }
}
