//! The packets in flight, and whether another one may be sent.
//!
//! Every transmitted packet arrives complete, arrives trimmed, or is lost. The receiver counts the first two
//! and reports the totals in every response, so lost responses do no harm. Lost packets are written off when
//! the receiver reports them, when the timer expires, or when nothing is outstanding.
//!
//! The receiver never reports the loss of a copy of a packet that it has. The sender therefore marks a new
//! packet from time to time. Once this packet and all before it have arrived, every transmission before it
//! has ended; copies that were not counted until then are lost.
//!
//! A returned header can report a trimmed packet before a response does, and with a small window nothing else
//! may open the window. Returned headers are therefore counted beside the receiver's total, and the larger
//! count is used. A lost header would keep the count of headers low for ever, and later headers would have no
//! effect. Headers that are missing from one mark to the next are therefore counted as lost.

use super::config::FlowControl;
use super::packet::ReceiverProgress;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Packets sent, copies included.
    pub(super) sent: u64,
    in_flight: u64,
    arrived: u32,
    /// Packets that arrived trimmed, as counted by the receiver.
    trimmed: u32,
    /// Headers that were returned or lost.
    returned: u32,
    /// Minimum of missing headers relative to the receiver's count since the last mark; headers in flight do
    /// not persist.
    missing_headers: u32,
    pulls: u32,
    /// Packets beyond the first window that the receiver's pulls permit.
    pulled: u64,
    mark: Option<MarkedPacket>,
}

/// A marked new packet. When everything up to it has arrived, no earlier transmission is in flight.
#[derive(Clone, Copy, Debug)]
struct MarkedPacket {
    /// One past its number.
    end: u64,
    /// Packets sent up to it, copies included.
    sent: u64,
}

impl Credit {
    #[inline]
    pub(super) fn is_open(&self, flow_control: FlowControl, window: u32) -> bool {
        let pulled = match flow_control {
            FlowControl::Window => true,
            FlowControl::Pull { burst } => self.sent < self.pulled + u64::from(burst),
        };
        pulled && self.in_flight < u64::from(window)
    }

    #[inline]
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Packets that arrived complete, as reported by the receiver.
    #[inline]
    pub(super) const fn arrived(&self) -> u32 {
        self.arrived
    }

    #[inline]
    pub(super) fn on_send(&mut self) {
        self.sent += 1;
        self.in_flight += 1;
    }

    /// Marks the new packet before `end`, which was just sent and will be acknowledged. Only one packet is
    /// marked at a time.
    #[inline]
    pub(super) fn mark(&mut self, end: u64) {
        if self.mark.is_none() {
            self.mark = Some(MarkedPacket { end, sent: self.sent });
        }
    }

    /// Handles that everything before `floor` has arrived, after the totals of that response were counted.
    #[inline]
    pub(super) fn on_floor(&mut self, floor: u64) {
        if let Some(mark) = self.mark.take_if(|mark| mark.end <= floor) {
            let since = self.sent - mark.sent;
            self.on_lost(self.in_flight.saturating_sub(since));
            self.returned =
                self.returned.wrapping_add(std::mem::replace(&mut self.missing_headers, u32::MAX));
        }
    }

    /// Handles the receiver's totals, and the total of pulls if present; old totals change nothing.
    pub(super) fn on_progress(&mut self, progress: &ReceiverProgress, pulls: Option<u32>) {
        let arrived = growth(progress.arrived, self.arrived);
        self.arrived = self.arrived.wrapping_add(arrived);
        self.write_off(u64::from(arrived));
        // Returned headers have reported these trimmed packets already.
        let counted = self.trimmed.wrapping_add(growth(self.returned, self.trimmed));
        self.trimmed = self.trimmed.wrapping_add(growth(progress.trimmed, self.trimmed));
        self.write_off(u64::from(growth(self.trimmed, counted)));
        self.missing_headers = self.missing_headers.min(growth(self.trimmed, self.returned));
        if let Some(pulls) = pulls {
            let pulls = growth(pulls, self.pulls);
            self.pulls = self.pulls.wrapping_add(pulls);
            self.pulled += u64::from(pulls);
        }
    }

    /// Handles a returned header. A response may have reported the same packet already.
    pub(super) fn on_returned(&mut self) {
        self.returned = self.returned.wrapping_add(1);
        self.write_off(u64::from(growth(self.returned, self.trimmed).min(1)));
    }

    /// Removes ended packets from those in flight.
    fn write_off(&mut self, packets: u64) {
        self.in_flight = self.in_flight.saturating_sub(packets);
    }

    /// Handles lost packets, for which the receiver will not send pulls.
    pub(super) fn on_lost(&mut self, packets: u64) {
        self.write_off(packets);
        self.pulled += packets;
    }

    /// Resets the state when nothing is in flight: the next packets start like the first ones.
    pub(super) fn reset(&mut self) {
        self.in_flight = 0;
        self.pulled = self.pulled.max(self.sent);
        self.returned = self.returned.wrapping_add(growth(self.trimmed, self.returned));
    }
}

/// Returns how much a wrapping total has grown.
fn growth(new: u32, old: u32) -> u32 {
    (new.wrapping_sub(old) as i32).max(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(arrived: u32) -> ReceiverProgress {
        ReceiverProgress { arrived, ..ReceiverProgress::default() }
    }

    /// Eight packets, then copies of the first four, which are lost, then a new packet, whose arrival ends
    /// the copies.
    #[test]
    fn transmissions_before_a_mark_have_ended_when_everything_up_to_it_arrived() {
        let flow = FlowControl::Pull { burst: 13 };
        let mut credit = Credit::default();
        (0..13).for_each(|_| credit.on_send());
        credit.mark(9);
        credit.on_progress(&arrived(8), Some(0));
        credit.on_floor(8);
        assert_eq!(credit.in_flight(), 5, "transmissions before the mark may still be in flight");
        (0..3).for_each(|_| credit.on_send());
        credit.mark(12);
        credit.on_progress(&arrived(9), Some(0));
        credit.on_floor(9);
        assert_eq!(credit.in_flight(), 3, "transmissions after it are in flight");
        assert!(credit.is_open(flow, 4), "the receiver sends no pull for lost packets");
        credit.on_progress(&arrived(12), Some(0));
        credit.on_floor(12);
        assert_eq!(credit.in_flight(), 0);
    }

    fn trimmed(trimmed: u32) -> ReceiverProgress {
        ReceiverProgress { trimmed, ..ReceiverProgress::default() }
    }

    /// A header is lost. Until it is counted as lost, the next header has no effect.
    #[test]
    fn a_lost_header_hides_later_ones_until_the_next_mark() {
        let mut credit = Credit::default();
        for end in [5, 10] {
            (0..5).for_each(|_| credit.on_send());
            credit.mark(end);
            credit.on_progress(&trimmed(1), Some(0));
            credit.on_floor(end);
        }
        (0..4).for_each(|_| credit.on_send());
        credit.on_returned();
        assert_eq!(credit.in_flight(), 3);
        credit.on_progress(&trimmed(2), Some(0));
        assert_eq!(credit.in_flight(), 3, "it was the same packet");
    }

    /// A response overtakes a header, which arrives before the next mark.
    #[test]
    fn a_late_header_is_not_counted_twice() {
        let mut credit = Credit::default();
        for (end, total) in [(5, 1), (10, 2), (15, 3)] {
            (0..5).for_each(|_| credit.on_send());
            credit.mark(end);
            credit.on_progress(&trimmed(total), Some(0));
            credit.on_returned();
            assert_eq!(credit.in_flight(), 4);
            credit.on_progress(&ReceiverProgress { arrived: 4 * total, ..trimmed(total) }, Some(0));
            credit.on_floor(end);
        }
    }

    #[test]
    fn no_header_is_missing_after_a_reset() {
        let mut credit = Credit::default();
        credit.on_send();
        credit.on_progress(&trimmed(1), Some(0));
        credit.reset();
        credit.on_send();
        credit.on_returned();
        assert_eq!(credit.in_flight(), 0);
    }
}
