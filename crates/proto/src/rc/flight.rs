//! Sequence numbers of a requester: acknowledged, sent, and number of transmissions.

/// Numbers count from 0 without wrapping; the PSN is the low 24 bits of first PSN plus number.
///
/// `una <= next <= high`: everything before `una` is acknowledged, `next` is sent next, and everything before
/// `high` was sent at least once. After a rewind, `next < high`.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    pub(super) una: u64,
    pub(super) next: u64,
    pub(super) high: u64,
    rewinds: [Rewind; REWINDS_MAX],
}

/// Number of distinct rewinds in memory. Rewinds overlap only when losses follow each other quickly.
const REWINDS_MAX: usize = 4;

/// The number that transmission had reached before a rewind (low 32 bits), and how many rewinds happened
/// there. Packed, so that the hot fields of a requester stay in as few cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed)]
struct Rewind {
    reached: u32,
    count: u8,
}

impl Rewind {
    /// Whether a packet had been sent before the rewind.
    const fn covers(self, seq: u64) -> bool {
        self.count > 0 && self.reached.wrapping_sub(seq as u32) as i32 > 0
    }
}

impl Flight {
    /// Packets sent since the last rewind and not acknowledged.
    #[inline]
    pub(super) const fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Takes the next `span` numbers.
    #[inline]
    pub(super) const fn advance(&mut self, span: u32) {
        self.next += span as u64;
        if self.next > self.high {
            self.high = self.next;
        }
    }

    /// Number of earlier transmissions of a packet. A rewind goes back to the oldest number that the peer can
    /// still request, so each rewind from beyond a packet stands for one transmission of it, and no packet
    /// needs a counter. Exact up to [`REWINDS_MAX`] overlapping rewinds from different numbers; above that,
    /// an upper bound.
    #[inline]
    pub(super) fn copy(&self, seq: u64) -> u8 {
        if seq >= self.high { 0 } else { self.copies_sent(seq) }
    }

    #[cold]
    fn copies_sent(&self, seq: u64) -> u8 {
        let covering = self.rewinds.iter().filter(|rewind| rewind.covers(seq));
        covering.fold(0, |sum: u8, rewind| sum.saturating_add(rewind.count))
    }

    /// Continues transmission at `to`; numbers from there on are no longer acknowledged.
    pub(super) fn rewind(&mut self, to: u64) {
        assert!(to <= self.next, "a rewind goes back");
        for rewind in &mut self.rewinds {
            if !rewind.covers(to) {
                rewind.count = 0;
            }
        }
        if self.next > to {
            self.record_rewind(self.next as u32);
        }
        self.una = self.una.min(to);
        self.next = to;
    }

    fn record_rewind(&mut self, seq: u32) {
        let rewinds = &mut self.rewinds;
        let same = rewinds.iter().position(|rewind| rewind.count > 0 && rewind.reached == seq);
        if let Some(index) = same.or_else(|| rewinds.iter().position(|rewind| rewind.count == 0)) {
            rewinds[index] = Rewind { reached: seq, count: rewinds[index].count.saturating_add(1) };
            return;
        }
        // Full: the nearest rewind is counted as if it had reached as far as the new one.
        let behind = |rewind: &&mut Rewind| seq.wrapping_sub(rewind.reached) as i32;
        if let Some(shortest) = rewinds.iter_mut().max_by_key(behind) {
            let farther = seq.wrapping_sub(shortest.reached) as i32 > 0;
            let seq = if farther { seq } else { shortest.reached };
            *shortest = Rewind { reached: seq, count: shortest.count.saturating_add(1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transmissions_of_each_packet_are_counted_without_a_counter_per_packet() {
        let mut flight = Flight::default();
        flight.advance(10);
        assert_eq!(flight.copy(10), 0);
        flight.una = 3;
        flight.rewind(3);
        flight.rewind(3); // a second copy of the NAK, before any retransmission
        assert_eq!([3, 9, 10].map(|seq| flight.copy(seq)), [1, 1, 0]);
        flight.advance(2);
        flight.rewind(3); // 3 and 4 were retransmitted, 5 to 9 were not
        assert_eq!([3, 4, 5, 9].map(|seq| flight.copy(seq)), [2, 2, 1, 1]);
        flight.advance(9);
        flight.una = 7;
        flight.rewind(7);
        assert_eq!([7, 9, 10, 11, 12].map(|seq| flight.copy(seq)), [2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_rewind_without_retransmissions_is_not_counted() {
        let mut flight = Flight::default();
        for reached in [9, 7, 5, 3] {
            flight.advance(reached);
            flight.rewind(0);
        }
        let copies = [8, 6, 4, 2].map(|seq| flight.copy(seq));
        flight.rewind(0);
        assert_eq!((copies, [8, 6, 4, 2].map(|seq| flight.copy(seq))), ([1, 2, 3, 4], [1, 2, 3, 4]));
    }

    #[test]
    fn with_more_overlapping_rewinds_than_slots_no_retransmission_counts_as_new() {
        let mut flight = Flight::default();
        for round in 1..300 {
            flight.advance(round);
            flight.rewind(0);
        }
        assert_eq!(flight.copy(0), u8::MAX);
        assert!(flight.copy(298) >= 1);
        assert_eq!(flight.copy(299), 0);
    }
}
