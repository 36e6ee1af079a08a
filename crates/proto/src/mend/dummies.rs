//! Dummies: empty packets after the last posted packet (JCST §4.3, §5.2).
//!
//! A dummy is an empty WRITE with address and key zero, which a responder does not check for an empty access.
//! The peer's queue pair must permit WRITEs; a peer that does not answers with a NAK that ends the connection. After
//! a WRITE this is certain. After a SEND or an atomic operation it is not: [`Dummies::write_denied`] replaces the dummies
//! there by copies of the last packet. Copies need no permission: a responder acknowledges a SEND that it gets twice
//! again, and answers an atomic operation with the saved result. (An empty SEND needs no permission either, but takes
//! a receive buffer and completes at the peer's application, so it is not used.)
//! A dummy takes a sequence number and requests an acknowledgement, so it reveals the loss of earlier packets and
//! replaces a lost ACK. After a READ the dummies are empty READs of the same address and key, because there the
//! responses can be lost, and the Linux kernel checks the key of a READ that it gets twice.
//! Neither end reports the completion of a dummy.

use wiremend_units::{Span, Time};

/// Number and timing of dummies. The default is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dummies {
    /// Dummies after a tail. They may exceed the window by this number.
    pub count: u8,
    /// When dummies are sent.
    pub timing: DummyTiming,
    /// The time T of JCST §5.2.
    pub idle_time: Span,
    /// Whether the peer's queue pair denies WRITEs. Copies of the last packet then take the place of dummies after a
    /// SEND or an atomic operation.
    pub write_denied: bool,
}

/// When dummies are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DummyTiming {
    /// When everything posted is sent, nothing was posted for T, and something is unacknowledged.
    #[default]
    Deferred,
    /// Immediately after each work request that is posted more than T after the previous one (§5.2: Δt =
    /// `t_c` − `t_l` > T). It needs no timer, but it protects the first request of a batch and not the last.
    AtPost,
    /// No dummies: a copy of the last packet when nothing has acknowledged it for T after it was sent, and again after
    /// twice the time. This is the timer that QUIC has for tails beside that for all packets.
    TailTimeout,
}

/// Decides when the tail of a connection gets its dummies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DummyScheduler {
    /// [`Time::MAX`] if there was none.
    last_post: Time,
    /// End of the wait for another post; [`Time::MAX`] if none runs.
    due: Time,
    /// The wait is over, but not everything was sent.
    pending: bool,
    /// Expiries of the timer of the tail since the tail was sent.
    expiries: u8,
}

/// Bounds the time of the tail; the retransmission timer expires before.
const DOUBLINGS_MAX: u8 = 16;

impl Default for DummyScheduler {
    fn default() -> Self {
        Self { last_post: Time::MAX, due: Time::MAX, pending: false, expiries: 0 }
    }
}

impl DummyScheduler {
    /// Handles a post. Returns whether dummies follow at once.
    #[inline]
    pub(crate) fn on_post(&mut self, config: &Dummies, now: Time) -> bool {
        if config.count == 0 {
            return false;
        }
        let last = std::mem::replace(&mut self.last_post, now);
        match config.timing {
            DummyTiming::AtPost => last == Time::MAX || now.since(last) > config.idle_time,
            DummyTiming::TailTimeout => false,
            DummyTiming::Deferred => {
                self.pending = config.idle_time == Span::ZERO;
                self.due = if self.pending { Time::MAX } else { now.saturating_add(config.idle_time) };
                false
            }
        }
    }

    /// Handles the transmission of the last posted packet. Returns whether dummies follow.
    #[inline]
    pub(crate) fn on_drained(&mut self, config: &Dummies, now: Time) -> bool {
        if config.timing == DummyTiming::TailTimeout {
            (self.due, self.expiries) = (now.saturating_add(config.idle_time), 0);
        }
        std::mem::take(&mut self.pending)
    }

    /// Requests the dummies for the moment at which everything is sent.
    #[inline]
    pub(crate) fn defer(&mut self) {
        self.pending = true;
    }

    /// Handles a timer that may be due. Returns whether dummies follow, or a copy of the tail.
    pub(crate) fn on_timeout(&mut self, config: &Dummies, now: Time, drained: bool) -> bool {
        if now < self.due || self.due == Time::MAX {
            return false;
        }
        self.due = Time::MAX;
        if config.timing == DummyTiming::TailTimeout {
            // If a NAK has started a retransmission, the timer starts again behind it.
            if drained {
                self.expiries = (self.expiries + 1).min(DOUBLINGS_MAX);
                self.due = now.saturating_add(config.idle_time * (1 << self.expiries));
            }
            return drained;
        }
        self.pending = !drained;
        drained
    }

    /// Handles the end of all outstanding work, acknowledged or failed: there is no tail to protect.
    #[inline]
    pub(crate) fn on_idle(&mut self) {
        self.due = Time::MAX;
        self.pending = false;
    }

    /// Time of the next call to [`Self::on_timeout`].
    #[inline]
    pub(crate) fn due(&self) -> Time {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn without_a_wait_dummies_follow_the_last_packet() {
        let config = Dummies { count: 2, ..Dummies::default() };
        let mut scheduler = DummyScheduler::default();
        assert!(!scheduler.on_post(&config, at(0)));
        assert!(scheduler.on_drained(&config, at(0)));
        assert!(!scheduler.on_drained(&config, at(0)), "once for each post");
    }

    #[test]
    fn a_post_restarts_the_wait() {
        let config = Dummies { count: 1, idle_time: Span::from_us(5), ..Dummies::default() };
        let mut scheduler = DummyScheduler::default();
        scheduler.on_post(&config, at(0));
        scheduler.on_post(&config, at(4));
        assert!(!scheduler.on_timeout(&config, at(5), true));
        assert_eq!(scheduler.due(), at(9));
        assert!(scheduler.on_timeout(&config, at(9), true));
        assert!(!scheduler.on_timeout(&config, at(20), true));
    }

    #[test]
    fn dummies_wait_until_everything_is_sent() {
        let config = Dummies { count: 1, idle_time: Span::from_us(5), ..Dummies::default() };
        let mut scheduler = DummyScheduler::default();
        scheduler.on_post(&config, at(0));
        assert!(!scheduler.on_drained(&config, at(0)), "the wait for another post is not over");
        assert!(!scheduler.on_timeout(&config, at(5), false));
        assert!(scheduler.on_drained(&config, at(0)));
    }

    #[test]
    fn at_post_measures_the_gap_before_a_post_and_not_after_it() {
        let config = Dummies {
            count: 1,
            idle_time: Span::from_us(5),
            timing: DummyTiming::AtPost,
            ..Dummies::default()
        };
        let mut scheduler = DummyScheduler::default();
        assert!(scheduler.on_post(&config, at(0)), "there was no post before");
        assert!(!scheduler.on_post(&config, at(5)));
        assert!(scheduler.on_post(&config, at(11)));
        assert!(!scheduler.on_drained(&config, at(0)));
    }

    #[test]
    fn the_timer_of_a_tail_starts_when_it_is_sent_and_doubles() {
        let timing = DummyTiming::TailTimeout;
        let config = Dummies { count: 1, idle_time: Span::from_us(5), timing, ..Dummies::default() };
        let mut scheduler = DummyScheduler::default();
        assert!(!scheduler.on_post(&config, at(0)));
        assert_eq!(scheduler.due(), Time::MAX);
        assert!(!scheduler.on_drained(&config, at(1)), "no dummies follow");
        assert!(!scheduler.on_timeout(&config, at(5), true));
        assert!(scheduler.on_timeout(&config, at(6), true));
        assert_eq!(scheduler.due(), at(16));
        assert!(!scheduler.on_timeout(&config, at(16), false), "a retransmission has started");
        assert_eq!(scheduler.due(), Time::MAX);
        scheduler.on_drained(&config, at(20));
        assert_eq!(scheduler.due(), at(25));
        scheduler.on_idle();
        assert_eq!(scheduler.due(), Time::MAX);
    }
}
