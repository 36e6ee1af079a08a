//! What a sender does when nothing comes: the retransmission timer, probes, and segments in doubt.

use wiremend_units::{Psn, Span, Time};

use super::cc::{Controller, State};
use super::config::{Config, Reordering};
use super::sender::{Opening, Sender};
use crate::engine::{Expiry, Op, Status};

impl Sender {
    /// When a timer expires.
    #[inline(never)]
    pub(super) fn next_due(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let next = self.rto_at.min(self.probe.at).min(self.doubt_until).min(self.pace_at);
        (next != Time::MAX).then_some(next)
    }

    /// A timer may have expired.
    #[inline(never)]
    pub(super) fn on_time(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.failed.is_some() {
            return None;
        }
        if self.doubt_until <= now {
            self.find_losses(config, now);
        }
        if self.probe.at <= now {
            self.probe.at = Time::MAX;
            self.probe.due = true;
            // It starts anew when the probe leaves.
            self.rto_at = Time::MAX;
        }
        let expiry = if self.rto_at <= now { self.on_expiry(config, now) } else { None };
        self.note_pace(config, now);
        expiry
    }

    fn on_expiry(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        self.rto_at = Time::MAX;
        if self.flight.is_empty() && self.opening == Opening::Done {
            return None;
        }
        self.counters.timeouts += 1;
        let expiry = Expiry {
            oldest: Psn::new(self.una as u32),
            resume: Psn::new(self.una as u32),
            end: Psn::new(self.nxt as u32),
            work: self.stream.oldest().unwrap_or(0),
            op: Op::Send,
            nak_received: self.recovery.state != State::Open,
            dummy: false,
            fatal: self.backoff >= config.retries,
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
            return Some(expiry);
        }
        self.backoff += 1;
        if self.opening == Opening::Done {
            self.lose(config, now);
            self.start_timer(config, now);
        } else {
            self.opening = Opening::Wanted;
        }
        Some(expiry)
    }

    /// The timer has expired (RFC 5681 §3.1, RFC 8985 §6.3).
    fn lose(&mut self, config: &Config, now: Time) {
        let before = self.window;
        if self.recovery.state == State::Open && self.una >= self.reduced_until {
            self.window.threshold = self.control.on_congestion(now, &self.window, false);
        }
        self.recovery.begin(State::Loss, self.nxt, self.una, before.bytes, before.threshold);
        (self.recovery.doubles, self.recovery.doubled_bytes) = (0, 0);
        let by_time = config.sack && config.reordering != Reordering::Segments;
        let disorder = self.rack.window(true, self.rtt.min(), self.rtt.smoothed());
        self.flight.lose_old(now, if by_time { self.rack.rtt + disorder } else { Span::ZERO });
        self.window.bytes = self.flight.pipe + self.window.mss;
        self.control.on_timeout(now);
        self.probe.forget();
        self.doubt_until = Time::MAX;
    }

    /// Progress, or none: the retransmission timer starts anew or stops (RFC 6298 §5.2, §5.3).
    pub(super) fn on_progress(&mut self, config: &Config, now: Time) {
        self.backoff = 0;
        if self.flight.is_empty() {
            self.rto_at = Time::MAX;
            self.probe.cancel();
        } else {
            self.start_timer(config, now);
        }
    }

    pub(super) fn rto(&self, config: &Config) -> Span {
        let rto = self.rtt.timeout(config).as_ps();
        // RFC 6298 §5.5.
        let backed_off = rto.saturating_mul(1 << self.backoff.min(31));
        Span::from_ps(backed_off.min(config.rto_max.as_ps()))
    }

    pub(super) fn start_timer(&mut self, config: &Config, now: Time) {
        self.rto_at = now.saturating_add(self.rto(config));
    }

    /// When a lost tail is probed for (RFC 8985 §7.2). A peer may keep its answer to a single segment back, as Linux believes for up to
    /// the least timeout.
    pub(super) fn arm_probe(&mut self, config: &Config, now: Time) {
        self.probe.at = Time::MAX;
        let open = self.recovery.state == State::Open && self.flight.sacked_count == 0;
        if !config.tail_probe || !config.sack || !open || self.flight.is_empty() || self.probe.is_out() {
            return;
        }
        let wait = match self.rtt.smoothed() {
            None => Span::from_ms(1_000),
            Some(srtt) if self.flight.len() == 1 => srtt * 2 + config.rto_min,
            Some(srtt) => srtt * 2 + config.tick * 2,
        };
        // Where the retransmission timer would expire first, a probe takes its place.
        self.probe.at = now.saturating_add(wait).min(self.rto_at);
    }
}
