//! What a NIC does where the specification leaves a choice, or where it differs from the specification.
//!
//! The default is the behaviour that [`rc`](super) describes. Linux's soft-RoCE differs in each point: its timer
//! counts jiffies and runs on after the last ACK, after a NAK it ignores all NAKs until an ACK arrives, a gap in the
//! responses to a READ waits for the timer, and a packet without receive buffer gets a sequence NAK for the next one.

use wiremend_units::{Span, Time};

/// Behaviour of both halves of a queue pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations of a NIC")]
pub struct Profile {
    /// Clock tick of the requester's timers; zero: timers are exact. Like the timers of Linux, a timer of less than
    /// `n + 1` ticks, and of at least one, expires at the `n + 1`-th tick from now on.
    pub tick: Span,
    /// Whether the timer runs on when the last packet is acknowledged, and then expires for what is outstanding. It
    /// restarts with every response that arrives while something is outstanding.
    pub timer_runs_on: bool,
    /// Whether a requester that has begun to retransmit ignores NAKs, copies and new ones alike, until an ACK or the
    /// expected READ response arrives. They still acknowledge.
    pub ignores_repeated_naks: bool,
    /// Whether a gap in the responses to a READ waits for the timer, or for a response to a later request.
    pub read_gap_waits: bool,
    /// When a responder sends a NAK for a packet out of sequence.
    pub nak: NakRule,
    /// Whether a packet behind one without receive buffer gets a sequence NAK.
    pub nak_after_rnr: bool,
    /// Whether a responder drops duplicates of SEND and WRITE packets silently, instead of acknowledging them.
    pub silent_duplicates: bool,
}

/// When a responder sends a NAK for a packet out of sequence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum NakRule {
    /// Once for each expected packet (IBA 9.7.5).
    #[default]
    Once,
    /// Again if a round of retransmissions shows that the expected packet was lost again.
    EachRound,
    /// For each packet out of sequence.
    EachPacket,
}

impl Profile {
    /// Time at which a timer of this length expires that starts now.
    #[inline]
    pub(super) fn expiry(&self, now: Time, timeout: Span) -> Time {
        if self.tick == Span::ZERO { now.saturating_add(timeout) } else { self.tick_after(now, timeout) }
    }

    #[cold]
    fn tick_after(&self, now: Time, timeout: Span) -> Time {
        let tick = self.tick.as_ps();
        let ticks = (timeout.as_ps() / tick).max(1);
        let at = (now.as_ps() / tick).saturating_add(ticks).saturating_add(1);
        Time::from_ps(at.saturating_mul(tick))
    }

    /// Length of a wait for a receive buffer: at least what the peer asks for.
    pub(super) fn at_least(&self, wait: Span) -> Span {
        if self.tick == Span::ZERO {
            return wait;
        }
        Span::from_ps(wait.as_ps().div_ceil(self.tick.as_ps()) * self.tick.as_ps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Periods of soft-RoCE with codes 8, 10, 12 and 14, whose timer starts at the tick at which it has expired.
    #[test]
    fn timers_of_a_kernel_expire_one_tick_late() {
        let profile = Profile { tick: Span::from_ms(4), ..Profile::default() };
        let periods = [8, 10, 12, 14].map(|code| {
            let timeout = Span::from_timeout_code(code).unwrap();
            let start = Time::ZERO + Span::from_ms(40);
            profile.expiry(start, timeout).since(start)
        });
        assert_eq!(periods, [8, 8, 20, 68].map(Span::from_ms));
        let late = Time::ZERO + Span::from_ms(43);
        assert_eq!(profile.expiry(late, Span::from_ms(1)).since(late), Span::from_ms(5));
        assert_eq!(profile.at_least(Span::from_us(640)), Span::from_ms(4));
        let exact = Profile::default();
        assert_eq!(exact.expiry(late, Span::from_us(7)), late + Span::from_us(7));
        assert_eq!(exact.at_least(Span::from_us(640)), Span::from_us(640));
    }
}
