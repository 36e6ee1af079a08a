//! RACK: loss detection by time (RFC 8985 §6).

use wiremend_units::{Span, Time};

/// RACK state: the most recently sent segment among the delivered ones, and the reordering window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Send time and end of that segment.
    sent: Time,
    end: u64,
    pub(super) rtt: Span,
    /// A segment that was sent once has arrived out of order.
    pub(super) reordering_seen: bool,
    /// End of the highest delivered segment.
    highest: u64,
    /// Reordering window in quarters of the minimum round trip.
    quarters: u32,
    /// Recoveries left until `quarters` is reset.
    persist: u32,
    /// Further DSACKs count only after this byte is acknowledged: one per round trip.
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

    /// A segment was delivered (steps 2 and 3).
    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        now: Time,
        sent: Time,
        end: u64,
        retransmitted: bool,
        rtt_min: Option<Span>,
    ) {
        if end > self.highest {
            self.highest = end;
        } else if end < self.highest && !retransmitted {
            self.reordering_seen = true;
        }
        let rtt = now.since(sent);
        // An ACK sooner than the minimum round trip after a retransmission is for the first transmission.
        if retransmitted && rtt_min.is_some_and(|min| rtt < min) {
            return;
        }
        if self.is_before(sent, end) {
            (self.sent, self.end, self.rtt) = (sent, end, rtt);
        }
    }

    /// Whether the most recently sent delivered segment was sent after this one.
    #[inline]
    pub(super) fn sent_after(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) > (sent, end)
    }

    #[inline]
    fn is_before(&self, sent: Time, end: u64) -> bool {
        (self.sent, self.end) < (sent, end)
    }

    /// A DSACK shows that the reordering window was too short (step 4).
    pub(super) fn on_dsack(&mut self, una: u64, nxt: u64) {
        if self.round_end.is_none_or(|end| una >= end) {
            self.round_end = Some(nxt);
            self.quarters += 1;
            self.persist = PERSIST;
        }
    }

    pub(super) fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }

    /// Reordering window (step 4).
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

    /// RFC 8985 §6.2 step 4: a quarter of the minimum round trip, one more per round trip with a DSACK, at
    /// most SRTT, reset after 16 recoveries.
    #[test]
    fn reordering_window_grows_with_dsacks_and_resets() {
        let mut rack = Rack::new();
        let window = |rack: &Rack| rack.window(false, Some(RTT), Some(RTT * 2)).as_ns() / 1_000;
        assert_eq!(window(&rack), 25);
        rack.on_dsack(0, 1_000);
        rack.on_dsack(500, 1_500);
        assert_eq!(window(&rack), 50, "one DSACK per round trip counts");
        rack.on_dsack(1_000, 2_000);
        assert_eq!(window(&rack), 75);
        (2..20).for_each(|round| rack.on_dsack(round * 1_000, (round + 1) * 1_000));
        assert_eq!(window(&rack), 200, "at most SRTT");
        (0..15).for_each(|_| rack.on_recovered());
        assert_eq!(window(&rack), 200);
        rack.on_recovered();
        assert_eq!(window(&rack), 25);
    }

    /// RFC 8985 §6.2 step 4: the window is 0 until reordering was seen, given three sacked segments or a
    /// recovery.
    #[test]
    fn three_segments_suffice_without_reordering() {
        let mut rack = Rack::new();
        assert_eq!(rack.window(true, Some(RTT), Some(RTT)), Span::ZERO);
        rack.on_delivered(at(100), at(0), 2_000, false, None);
        rack.on_delivered(at(101), at(0), 1_000, false, None);
        assert!(rack.reordering_seen);
        assert_eq!(rack.window(true, Some(RTT), Some(RTT)), RTT / 4);
    }

    /// RFC 8985 §6.2 step 2: the ACK of a first transmission says nothing about the retransmission.
    #[test]
    fn ack_sooner_than_the_minimum_round_trip_is_for_the_first_transmission() {
        let mut rack = Rack::new();
        rack.on_delivered(at(300), at(250), 1_000, true, Some(RTT));
        assert!(!rack.sent_after(at(240), 500));
        rack.on_delivered(at(350), at(250), 1_000, true, Some(RTT));
        assert!(rack.sent_after(at(240), 500) && rack.sent_after(at(250), 500));
        assert!(!rack.sent_after(at(250), 1_000) && rack.rtt == RTT);
    }
}
