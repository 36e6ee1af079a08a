//! How many packets are under way, and whether one more may be.
//!
//! Every packet that is sent ends in one of three ways: it comes whole, it comes cut, or it vanishes. The receiver counts the first
//! two and tells the totals with every answer, so that lost answers cost nothing. Those that vanished are written off when
//! the receiver names them, when the timer expires, or when nothing is outstanding.

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
