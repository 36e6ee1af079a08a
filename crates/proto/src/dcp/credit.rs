//! How many packets are under way, and whether one more may be.
//!
//! Every packet that is sent ends in one of three ways: it comes whole, it comes cut, or it vanishes. The receiver counts the first
//! two and tells the totals with every answer, so that lost answers cost nothing. Those that vanished are written off when
//! the receiver names them, when the timer expires, or when nothing is outstanding.
//!
//! Nobody names a copy of what the receiver has already: it misses nothing. So now and then a new packet is marked. Once it and
//! all before it are there, so is or was whatever left before it; copies that nothing was heard of until then have vanished.

use super::config::Flow;
use super::header::Progress;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    /// Packets sent, all copies.
    pub(super) sent: u64,
    in_flight: u64,
    arrived: u32,
    /// Cut packets, by the receiver's count or by the headers that came back, whichever is ahead.
    cut: u32,
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
        }
    }

    /// The receiver's totals came; older ones than before change nothing.
    pub(super) fn on_progress(&mut self, progress: &Progress, told_pulls: bool) {
        let fresh = |new: u32, old: u32| (new.wrapping_sub(old) as i32).max(0) as u32;
        let (arrived, cut) = (fresh(progress.arrived, self.arrived), fresh(progress.cut, self.cut));
        self.arrived = self.arrived.wrapping_add(arrived);
        self.cut = self.cut.wrapping_add(cut);
        self.write_off(u64::from(arrived) + u64::from(cut));
        if told_pulls {
            let pulls = fresh(progress.pulls, self.pulls);
            self.pulls = self.pulls.wrapping_add(pulls);
            self.pulled += u64::from(pulls);
        }
    }

    /// A header came back; `total` of them so far. Word of it may have come with an answer already.
    pub(super) fn on_returned(&mut self, total: u32) {
        let fresh = (total.wrapping_sub(self.cut) as i32).max(0) as u32;
        self.cut = self.cut.wrapping_add(fresh);
        self.write_off(u64::from(fresh));
    }

    /// So many packets vanished.
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
    }
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
        credit.on_progress(&told(8), true);
        credit.on_floor(8);
        assert_eq!(credit.in_flight(), 5, "nothing is known of what left before the mark");
        (0..3).for_each(|_| credit.on_send());
        credit.mark(12);
        credit.on_progress(&told(9), true);
        credit.on_floor(9);
        assert_eq!(credit.in_flight(), 3, "what left behind it is under way");
        assert!(credit.is_open(flow, 4), "nobody will pull for what vanished");
        credit.on_progress(&told(12), true);
        credit.on_floor(12);
        assert_eq!(credit.in_flight(), 0);
    }
}
