//! The sequence numbers of a requester: what is acknowledged, sent, and sent how often.

/// Numbers count from 0 without wrapping; the wire shows the low 24 bits of first PSN plus number.
///
/// `una <= next <= high`: everything before `una` is acknowledged, `next` is sent next, everything before `high`
/// was sent at least once. `next < high` while a rewind is being worked off.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    pub(super) una: u64,
    pub(super) next: u64,
    pub(super) high: u64,
    reaches: [Reach; REACHES],
}

/// Distinct rewinds that are told apart; they overlap only when losses come in quick succession.
const REACHES: usize = 4;

/// How far sending had come when it was rewound (low bits of a sequence number), and how many times.
#[derive(Clone, Copy, Debug, Default)]
struct Reach {
    seq: u32,
    times: u8,
}

impl Reach {
    /// Whether a packet had been sent when the rewind came.
    const fn covers(self, seq: u64) -> bool {
        self.times > 0 && self.seq.wrapping_sub(seq as u32) as i32 > 0
    }
}

impl Flight {
    /// Packets sent in this round and not acknowledged.
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

    /// How often the packet was sent before. A rewind goes back to the oldest number that can still be asked for,
    /// so a packet was sent once for each rewind that found sending beyond it, and no packet needs a counter.
    /// Exact up to [`REACHES`] overlapping rewinds that came at different places; above, an upper bound.
    #[inline]
    pub(super) fn copy(&self, seq: u64) -> u8 {
        if seq >= self.high { 0 } else { self.copy_of_sent(seq) }
    }

    #[cold]
    fn copy_of_sent(&self, seq: u64) -> u8 {
        let covering = self.reaches.iter().filter(|reach| reach.covers(seq));
        covering.fold(0, |sum: u8, reach| sum.saturating_add(reach.times))
    }

    /// Sending starts again at `to`, and nothing from there on counts as acknowledged.
    pub(super) fn rewind(&mut self, to: u64) {
        assert!(to <= self.next, "a rewind goes back");
        for reach in &mut self.reaches {
            if !reach.covers(to) {
                reach.times = 0;
            }
        }
        if self.next > to {
            self.remember(self.next as u32);
        }
        self.una = self.una.min(to);
        self.next = to;
    }

    fn remember(&mut self, seq: u32) {
        let reaches = &mut self.reaches;
        let same = reaches.iter().position(|reach| reach.times > 0 && reach.seq == seq);
        if let Some(index) = same.or_else(|| reaches.iter().position(|reach| reach.times == 0)) {
            reaches[index] = Reach { seq, times: reaches[index].times.saturating_add(1) };
            return;
        }
        // Full: the shortest reach is counted as if it had come as far as the new one.
        let behind = |reach: &&mut Reach| seq.wrapping_sub(reach.seq) as i32;
        if let Some(shortest) = reaches.iter_mut().max_by_key(behind) {
            let farther = seq.wrapping_sub(shortest.seq) as i32 > 0;
            let seq = if farther { seq } else { shortest.seq };
            *shortest = Reach { seq, times: shortest.times.saturating_add(1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_counted_per_packet_without_a_counter_per_packet() {
        let mut flight = Flight::default();
        flight.advance(10);
        assert_eq!(flight.copy(10), 0);
        flight.una = 3;
        flight.rewind(3);
        flight.rewind(3); // a second copy of the NAK, before anything was sent: nothing more is repeated
        assert_eq!([3, 9, 10].map(|seq| flight.copy(seq)), [1, 1, 0]);
        flight.advance(2);
        flight.rewind(3); // 3 and 4 went out again, 5 to 9 did not
        assert_eq!([3, 4, 5, 9].map(|seq| flight.copy(seq)), [2, 2, 1, 1]);
        flight.advance(9);
        flight.una = 7;
        flight.rewind(7);
        assert_eq!([7, 9, 10, 11, 12].map(|seq| flight.copy(seq)), [2, 2, 1, 1, 0]);
    }

    #[test]
    fn a_rewind_that_repeats_nothing_is_not_counted() {
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
    fn more_overlapping_rewinds_than_are_told_apart_never_look_like_a_first_copy() {
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
