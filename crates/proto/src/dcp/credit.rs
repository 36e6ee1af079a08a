//! How many packets are under way, and whether one more may be.
//!
//! Every packet that is sent ends in one of three ways: it comes whole, it comes cut, or it vanishes. The receiver counts the first
//! two and tells the totals with every answer, so that lost answers cost nothing. Those that vanished are written off when
//! the receiver names them, when the timer expires, or when nothing is outstanding.
//!
//! Nobody names a copy of what the receiver has already: it misses nothing. So now and then a new packet is marked. Once it and
//! all before it are there, so is or was whatever left before it; copies that nothing was heard of until then have vanished.
//!
//! A header that comes back tells of a cut packet before an answer does, and where the window is small nothing else may open it. So
//! headers are counted beside the receiver's total, and the larger count holds. A lost header would leave theirs behind for good:
//! those after it would tell nothing. So headers that are lacking all the way from one mark to the next are taken for lost.

use super::config::Flow;
use super::packet::Progress;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Packets sent, all copies.
    pub(super) sent: u64,
    in_flight: u64,
    arrived: u32,
    /// Packets that came cut, by the receiver's count.
    cut: u32,
    /// Headers that came back or were lost.
    returned: u32,
    /// The least that they were behind the receiver's count since the last mark; those under way come and go.
    lacking: u32,
    pulls: u32,
    /// How many more than the first window may have been sent, where the receiver pulls.
    pulled: u64,
    mark: Option<Mark>,
}

/// A new packet that shows, when all is there up to it, that nothing which left before it is still under way.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The number behind it.
    end: u64,
    /// Packets sent up to it, all copies.
    sent: u64,
}

impl Credit {
    #[inline]
    pub(super) fn is_open(&self, flow: Flow, window: u32) -> bool {
        let pulled = match flow {
            Flow::Window => true,
            Flow::Pull { burst } => self.sent < self.pulled + u64::from(burst),
        };
        pulled && self.in_flight < u64::from(window)
    }

    #[inline]
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Packets that came whole, as far as the receiver has told.
    #[inline]
    pub(super) const fn arrived(&self) -> u32 {
        self.arrived
    }

    #[inline]
    pub(super) fn on_send(&mut self) {
        self.sent += 1;
        self.in_flight += 1;
    }

    /// The new packet before `end` was sent just now, and an answer will tell when all is there up to it. One at a time is marked.
    #[inline]
    pub(super) fn mark(&mut self, end: u64) {
        if self.mark.is_none() {
            self.mark = Some(Mark { end, sent: self.sent });
        }
    }

    /// Everything before `floor` is there, and the totals that were told with that are counted.
    #[inline]
    pub(super) fn on_floor(&mut self, floor: u64) {
        if let Some(mark) = self.mark.take_if(|mark| mark.end <= floor) {
            let since = self.sent - mark.sent;
            self.on_vanished(self.in_flight.saturating_sub(since));
            self.returned = self.returned.wrapping_add(std::mem::replace(&mut self.lacking, u32::MAX));
        }
    }

    /// The receiver's totals came, and those of pulls if it told them; older ones than before change nothing.
    pub(super) fn on_progress(&mut self, progress: &Progress, pulls: Option<u32>) {
        let arrived = fresh(progress.arrived, self.arrived);
        self.arrived = self.arrived.wrapping_add(arrived);
        self.write_off(u64::from(arrived));
        // Headers that came back tell of those before.
        let counted = self.cut.wrapping_add(fresh(self.returned, self.cut));
        self.cut = self.cut.wrapping_add(fresh(progress.cut, self.cut));
        self.write_off(u64::from(fresh(self.cut, counted)));
        self.lacking = self.lacking.min(fresh(self.cut, self.returned));
        if let Some(pulls) = pulls {
            let pulls = fresh(pulls, self.pulls);
            self.pulls = self.pulls.wrapping_add(pulls);
            self.pulled += u64::from(pulls);
        }
    }

    /// A header came back. Word of it may have come with an answer already.
    pub(super) fn on_returned(&mut self) {
        self.returned = self.returned.wrapping_add(1);
        self.write_off(u64::from(fresh(self.returned, self.cut).min(1)));
    }

    /// So many packets ended.
    fn write_off(&mut self, packets: u64) {
        self.in_flight = self.in_flight.saturating_sub(packets);
    }

    /// So many packets vanished, which the receiver will therefore not pull for.
    pub(super) fn on_vanished(&mut self, packets: u64) {
        self.write_off(packets);
        self.pulled += packets;
    }

    /// Nothing is under way any more, as far as one can tell: what is sent next starts as the first packets did.
    pub(super) fn start_over(&mut self) {
        self.in_flight = 0;
        self.pulled = self.pulled.max(self.sent);
        self.returned = self.returned.wrapping_add(fresh(self.cut, self.returned));
    }
}

/// By how much a total has grown.
fn fresh(new: u32, old: u32) -> u32 {
    (new.wrapping_sub(old) as i32).max(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(arrived: u32) -> Progress {
        Progress { arrived, ..Progress::default() }
    }

    /// Eight packets, then copies of the first four, all lost, then a new one: its arrival says what became of the copies.
    #[test]
    fn what_left_before_a_mark_is_gone_when_all_is_there_up_to_it() {
        let flow = Flow::Pull { burst: 13 };
        let mut credit = Credit::default();
        (0..13).for_each(|_| credit.on_send());
        credit.mark(9);
        credit.on_progress(&told(8), Some(0));
        credit.on_floor(8);
        assert_eq!(credit.in_flight(), 5, "nothing is known of what left before the mark");
        (0..3).for_each(|_| credit.on_send());
        credit.mark(12);
        credit.on_progress(&told(9), Some(0));
        credit.on_floor(9);
        assert_eq!(credit.in_flight(), 3, "what left behind it is under way");
        assert!(credit.is_open(flow, 4), "nobody will pull for what vanished");
        credit.on_progress(&told(12), Some(0));
        credit.on_floor(12);
        assert_eq!(credit.in_flight(), 0);
    }

    fn cut(cut: u32) -> Progress {
        Progress { cut, ..Progress::default() }
    }

    /// A header was lost. Until it is taken for lost, the next one tells nothing.
    #[test]
    fn a_lost_header_hides_others_until_the_next_mark() {
        let mut credit = Credit::default();
        for end in [5, 10] {
            (0..5).for_each(|_| credit.on_send());
            credit.mark(end);
            credit.on_progress(&cut(1), Some(0));
            credit.on_floor(end);
        }
        (0..4).for_each(|_| credit.on_send());
        credit.on_returned();
        assert_eq!(credit.in_flight(), 3);
        credit.on_progress(&cut(2), Some(0));
        assert_eq!(credit.in_flight(), 3, "it was the same packet");
    }

    /// An answer overtook a header, which comes before the next mark.
    #[test]
    fn a_late_header_is_not_counted_twice() {
        let mut credit = Credit::default();
        for (end, total) in [(5, 1), (10, 2), (15, 3)] {
            (0..5).for_each(|_| credit.on_send());
            credit.mark(end);
            credit.on_progress(&cut(total), Some(0));
            credit.on_returned();
            assert_eq!(credit.in_flight(), 4);
            credit.on_progress(&Progress { arrived: 4 * total, ..cut(total) }, Some(0));
            credit.on_floor(end);
        }
    }

    #[test]
    fn nothing_is_lacking_when_all_starts_over() {
        let mut credit = Credit::default();
        credit.on_send();
        credit.on_progress(&cut(1), Some(0));
        credit.start_over();
        credit.on_send();
        credit.on_returned();
        assert_eq!(credit.in_flight(), 0);
    }
}
