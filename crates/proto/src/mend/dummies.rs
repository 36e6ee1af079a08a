//! Dummy headers: empty packets behind the tail of what was posted (JCST §4.3, §5.2).
//!
//! A dummy is a WRITE of no bytes to no memory: address and key are zero, which a responder does not check when
//! there is nothing to write. It takes a sequence number and asks for an acknowledgement, so it shows the loss of what
//! came before it and replaces a lost ACK. Behind a READ the dummies are READs of no bytes, because there it
//! is the responses that can get lost. Nobody is told of its completion, at either end.

use wiremend_units::{Span, Time};

/// How many dummies, and when. By default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dummies {
    /// Dummies behind a tail. They may exceed the window by this number.
    pub count: u8,
    /// When they are due.
    pub when: When,
    /// The time T of JCST §5.2.
    pub after: Span,
}

/// When dummies are due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum When {
    /// When everything posted has been sent, nothing was posted for T, and something is not acknowledged.
    #[default]
    Deferred,
    /// Right behind each work request that is posted more than T after the one before it (§5.2: Δt = `t_c` − `t_l` > T).
    /// It takes no timer, but of a batch it protects the first request and not the last.
    AtPost,
}

/// Whether the tail of a connection has its dummies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    posted: Option<Time>,
    /// When the wait for another post ends; never, if none is under way.
    due: Time,
    /// The wait is over, but not everything was sent.
    owed: bool,
}

impl Default for Tail {
    fn default() -> Self {
        Self { posted: None, due: Time::MAX, owed: false }
    }
}

impl Tail {
    /// Work was posted. Says whether its dummies follow at once.
    #[inline]
    pub(crate) fn on_post(&mut self, config: &Dummies, now: Time) -> bool {
        if config.count == 0 {
            return false;
        }
        let last = self.posted.replace(now);
        match config.when {
            When::AtPost => last.is_none_or(|last| now.since(last) > config.after),
            When::Deferred => {
                self.owed = config.after == Span::ZERO;
                self.due = if self.owed { Time::MAX } else { now.saturating_add(config.after) };
                false
            }
        }
    }

    /// Everything posted has been sent. Says whether dummies follow.
    #[inline]
    pub(crate) fn on_drained(&mut self) -> bool {
        std::mem::take(&mut self.owed)
    }

    /// The time may have come. Says whether dummies follow.
    pub(crate) fn on_time(&mut self, now: Time, drained: bool) -> bool {
        if now < self.due || self.due == Time::MAX {
            return false;
        }
        self.due = Time::MAX;
        self.owed = !drained;
        drained
    }

    /// Everything is acknowledged, or given up: there is no tail to protect.
    #[inline]
    pub(crate) fn on_idle(&mut self) {
        self.due = Time::MAX;
        self.owed = false;
    }

    /// When [`Self::on_time`] wants to be called.
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
    fn without_a_wait_they_follow_as_soon_as_all_is_sent() {
        let config = Dummies { count: 2, ..Dummies::default() };
        let mut tail = Tail::default();
        assert!(!tail.on_post(&config, at(0)));
        assert!(tail.on_drained());
        assert!(!tail.on_drained(), "once for each post");
    }

    #[test]
    fn a_post_starts_the_wait_again() {
        let config = Dummies { count: 1, after: Span::from_us(5), ..Dummies::default() };
        let mut tail = Tail::default();
        tail.on_post(&config, at(0));
        tail.on_post(&config, at(4));
        assert!(!tail.on_time(at(5), true));
        assert_eq!(tail.due(), at(9));
        assert!(tail.on_time(at(9), true));
        assert!(!tail.on_time(at(20), true));
    }

    #[test]
    fn what_is_not_sent_yet_is_waited_for() {
        let config = Dummies { count: 1, after: Span::from_us(5), ..Dummies::default() };
        let mut tail = Tail::default();
        tail.on_post(&config, at(0));
        assert!(!tail.on_drained(), "another post may come");
        assert!(!tail.on_time(at(5), false));
        assert!(tail.on_drained());
    }

    #[test]
    fn at_post_looks_at_the_gap_before_and_not_behind() {
        let config = Dummies { count: 1, after: Span::from_us(5), when: When::AtPost };
        let mut tail = Tail::default();
        assert!(tail.on_post(&config, at(0)), "there was nothing before");
        assert!(!tail.on_post(&config, at(5)));
        assert!(tail.on_post(&config, at(11)));
        assert!(!tail.on_drained());
    }
}
