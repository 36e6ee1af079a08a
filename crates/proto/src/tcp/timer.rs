//! Timers of the sender: retransmission, tail loss probe, reordering and pacing.

use wiremend_units::{Psn, Span, Time};

use super::cc::{Controller, RecoveryState};
use super::config::{Config, Reordering};
use super::sender::{Handshake, Sender};
use crate::engine::{Expiry, Op, Status};

impl Sender {
    #[inline(never)]
    pub(super) fn next_timer(&self) -> Option<Time> {
        if self.failed.is_some() {
            return None;
        }
        let next = self.rto_at.min(self.probe.at).min(self.reorder_timer_at).min(self.pace_at);
        (next != Time::MAX).then_some(next)
    }

    #[inline(never)]
    pub(super) fn on_timer(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        if self.failed.is_some() {
            return None;
        }
        if self.reorder_timer_at <= now {
            self.find_losses(config, now);
        }
        if self.probe.at <= now {
            self.probe.at = Time::MAX;
            self.probe.due = true;
            // The probe restarts the retransmission timer.
            self.rto_at = Time::MAX;
        }
        let expiry = if self.rto_at <= now { self.on_expiry(config, now) } else { None };
        self.update_pacing_timer(config, now);
        expiry
    }

    fn on_expiry(&mut self, config: &Config, now: Time) -> Option<Expiry> {
        self.rto_at = Time::MAX;
        if self.flight.is_empty() && self.handshake_state == Handshake::Done {
            return None;
        }
        self.counters.timeouts += 1;
        let expiry = Expiry {
            oldest: Psn::new(self.una as u32),
            resume: Psn::new(self.una as u32),
            end: Psn::new(self.nxt as u32),
            work: self.stream.oldest().unwrap_or(0),
            op: Op::Send,
            nak_received: self.recovery.state != RecoveryState::Open,
            dummy: false,
            fatal: self.backoff >= config.retries,
            path: 0,
        };
        if expiry.fatal {
            self.fail(Status::RetryExceeded);
            return Some(expiry);
        }
        self.backoff += 1;
        if self.handshake_state == Handshake::Done {
            self.enter_loss(config, now);
            self.start_timer(config, now);
        } else {
            self.handshake_state = Handshake::Pending;
        }
        Some(expiry)
    }

    /// Enters loss recovery after a timeout (RFC 5681 §3.1, RFC 8985 §6.3).
    fn enter_loss(&mut self, config: &Config, now: Time) {
        let before = self.window;
        if self.recovery.state == RecoveryState::Open && self.una >= self.reduced_until {
            self.window.threshold = self.control.on_congestion(now, &self.window, false);
        }
        self.recovery.begin(RecoveryState::Loss, self.nxt, self.una, before.bytes, before.threshold);
        (self.recovery.dup_acks, self.recovery.dup_acked_bytes) = (0, 0);
        let by_time = config.sack && config.reordering != Reordering::Segments;
        let disorder = self.rack.window(true, self.rtt.min(), self.rtt.smoothed());
        self.flight.mark_old_lost(now, if by_time { self.rack.rtt + disorder } else { Span::ZERO });
        self.window.bytes = self.flight.pipe + self.window.mss;
        self.control.on_timeout(now);
        self.probe.forget();
        self.reorder_timer_at = Time::MAX;
    }

    /// Restarts or stops the retransmission timer after an ACK (RFC 6298 §5.2, §5.3).
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
        let rto = config.clock().round_up(self.rtt.timeout(config)).as_ps();
        // RFC 6298 §5.5.
        let backed_off = rto.saturating_mul(1 << self.backoff.min(31));
        Span::from_ps(backed_off.min(config.rto_max.as_ps()))
    }

    pub(super) fn start_timer(&mut self, config: &Config, now: Time) {
        self.rto_at = config.clock().expiry(now, self.rto(config));
    }

    /// Sets the probe timer (RFC 8985 §7.2). For a single segment it allows for a delayed ACK of up to
    /// `rto_min`, as
    /// Linux does.
    pub(super) fn arm_probe(&mut self, config: &Config, now: Time) {
        self.probe.at = Time::MAX;
        let open = self.recovery.state == RecoveryState::Open && self.flight.sacked_count == 0;
        if !config.tail_probe || !config.sack || !open || self.flight.is_empty() || self.probe.is_in_flight()
        {
            return;
        }
        let clock = config.clock();
        let wait = match self.rtt.smoothed() {
            None => Span::from_ms(1_000),
            Some(srtt) if self.flight.len() == 1 => srtt * 2 + config.rto_min,
            Some(srtt) => srtt * 2 + clock.margin(),
        };
        // A probe replaces a retransmission timeout that would come first.
        self.probe.at = clock.expiry(now, wait).min(self.rto_at);
    }
}
