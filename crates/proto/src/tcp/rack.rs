//! Losses found by time: RACK (RFC 8985 §6).

use wiremend_units::{Span, Time};

/// The segment that was sent last among those that have arrived, and how much disorder is tolerated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// When that segment was sent, and where it ends.
    sent: Time,
    end: u64,
    pub(super) rtt: Span,
    /// Segments have come out of order although none of them was sent again.
    pub(super) reordering_seen: bool,
    /// The byte behind the newest that has arrived.
    highest: u64,
    /// How many quarters of the least round trip are waited for.
    quarters: u32,
    /// Recoveries for which these stay.
    persist: u32,
    /// A doubled segment counts once in a round trip: until this byte is acknowledged.
    round_end: Option<u64>,
}

/// Recoveries for which a wider window persists (RFC 8985 §6.2 step 4).
const PERSIST: u32 = 16;

impl Rack {
    pub(super) const fn new() -> Self {
        Self {
            sent: Time::ZERO,
            end: 0,
            rtt: Span::ZERO,
            reordering_seen: false,
            highest: 0,
            quarters: 1,
            persist: PERSIST,
            round_end: None,
        }
    }

    /// A segment has arrived (steps 2 and 3).
    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        sent: Time,
        end: u64,
        again: bool,
        rtt_min: Option<Span>,
    ) {
        if end > self.highest {
            self.highest = end;
        } else if end < self.highest && !again {
            self.reordering_seen = true;
        }
        let rtt = now.since(sent);
        // What was sent again and is answered faster than light has been answered for its first copy.
        if again && rtt_min.is_some_and(|min| rtt < min) {
            return;
        }
        if self.is_before(sent, end) {
            (self.sent, self.end, self.rtt) = (sent, end, rtt);
        }
    }

    /// The newest segment that has arrived was sent after this one.
    #[inline]
    pub(super) fn sent_after(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) > (sent, end)
    }

    #[inline]
    fn is_before(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) < (sent, end)
    }

    /// The receiver tells of a segment that came twice: too little was waited (step 4).
    pub(super) fn on_twice(&mut self, una: u64, nxt: u64) {
        if self.round_end.is_none_or(|end| una >= end) {
            self.round_end = Some(nxt);
            self.quarters += 1;
            self.persist = PERSIST;
        }
    }

    /// A recovery is over.
    pub(super) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// How much later than the newest that has arrived a segment may come (step 4).
    pub(super) fn window(&self, sure: bool, rtt_min: Option<Span>, srtt: Option<Span>) -> Span {
        if !self.reordering_seen && sure {
            return Span::ZERO;
        }
        let (Some(min), Some(srtt)) = (rtt_min, srtt) else { return Span::ZERO };
        (min / 4 * self.quarters as u64).min(srtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_us(100);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// RFC 8985 §6.2 step 4: a quarter of the least round trip, one more for each round with a DSACK, at most SRTT, back to one
    /// after 16 recoveries.
    #[test]
    fn the_reordering_window_widens_with_doubled_segments_and_forgets() {
        let mut rack = Rack::new();
        let window = |rack: &Rack| rack.window(false, Some(RTT), Some(RTT * 2)).as_ns() / 1_000;
        assert_eq!(window(&rack), 25);
        rack.on_twice(0, 1_000);
        rack.on_twice(500, 1_500);
        assert_eq!(window(&rack), 50, "once in a round trip");
        rack.on_twice(1_000, 2_000);
        assert_eq!(window(&rack), 75);
        (2..20).for_each(|round| rack.on_twice(round * 1_000, (round + 1) * 1_000));
        assert_eq!(window(&rack), 200, "at most the smoothed round trip");
        (0..15).for_each(|_| rack.on_recovered());
        assert_eq!(window(&rack), 200);
        rack.on_recovered();
        assert_eq!(window(&rack), 25);
    }

    /// RFC 8985 §6.2 step 4: no waiting while no disorder was ever seen and three segments, or a recovery, speak for a loss.
    #[test]
    fn without_disorder_three_segments_are_enough() {
        let mut rack = Rack::new();
        assert_eq!(rack.window(true, Some(RTT), Some(RTT)), Span::ZERO);
        rack.on_delivered(at(100), at(0), 2_000, false, None);
        rack.on_delivered(at(101), at(0), 1_000, false, None);
        assert!(rack.reordering_seen);
        assert_eq!(rack.window(true, Some(RTT), Some(RTT)), RTT / 4);
    }

    /// RFC 8985 §6.2 step 2: the answer to a first copy says nothing of the second.
    #[test]
    fn an_answer_faster_than_the_least_round_trip_is_one_to_the_first_copy() {
        let mut rack = Rack::new();
        rack.on_delivered(at(300), at(250), 1_000, true, Some(RTT));
        assert!(!rack.sent_after(at(240), 500));
        rack.on_delivered(at(350), at(250), 1_000, true, Some(RTT));
        assert!(rack.sent_after(at(240), 500) && rack.sent_after(at(250), 500));
        assert!(!rack.sent_after(at(250), 1_000) && rack.rtt == RTT);
    }
}
