//! ACK processing of the sender: arrivals, losses, recovery and the window.

use wiremend_units::Time;

use super::cc::{AckEvent, Controller, RecoveryState};
use super::config::{Config, Ecn, Reordering};
use super::flight::AckProgress;
use super::message_recovery::Gap;
use super::probe::ProbeVerdict;
use super::ranges::SeqRange;
use super::segment::{Ack, Block, widen};
use super::sender::Sender;

/// Duplicate ACKs, or sacked segments beyond a gap, that prove a loss (RFC 5681 §3.2).
const DUP_THRESH: u32 = 3;

struct AckOutcome {
    progress: AckProgress,
    advanced: bool,
    dsack: bool,
    duplicate: bool,
    lost_before: u64,
}

impl Sender {
    pub(super) fn on_ack(&mut self, config: &Config, now: Time, segment: &Ack) {
        let Some(ack) = widen(self.una, segment.ack).filter(|ack| *ack <= self.nxt) else {
            self.counters.ignored += 1;
            return;
        };
        let lost_before = self.flight.lost_bytes;
        let dsack = config.sack && self.detect_dsack(config, ack, segment);
        let mut progress = AckProgress::default();
        let advanced = ack > self.una;
        let min = self.rtt.min();
        if advanced {
            self.una = ack;
            self.flight.acknowledge(now, ack, &mut self.rack, min, &mut progress);
            self.stream.acknowledge(ack, &self.tcp_counters);
        }
        let before = progress.bytes;
        if config.sack {
            for block in segment.blocks {
                if let Some(range) = self.block_range(block) {
                    self.flight.sack(now, range, config.mss, &mut self.rack, min, &mut progress);
                }
            }
        }
        self.tcp_counters.sacked_bytes += progress.bytes - before;
        if self.flight.sacked_bytes > 0 {
            let (sacked, mss) = (self.flight.sacked_bytes, config.mss as u64);
            self.stream.on_gap(Gap { at: self.una, nxt: self.nxt, sacked, mss });
        }
        if let Some(rtt) = progress.rtt {
            self.rtt.on_sample(config, rtt, self.una, self.nxt);
        }
        let duplicate = progress.bytes == 0 && ack == self.una && !self.flight.is_empty();
        let outcome = AckOutcome { progress, advanced, dsack, duplicate, lost_before };
        if advanced {
            self.on_progress(config, now);
        }
        self.check_probe(now, ack, &outcome);
        self.update_recovery(config, now, &outcome, segment.head.echo());
        if outcome.progress.bytes > 0 {
            self.arm_probe(config, now);
        }
        self.set_pacing_rate(config);
    }

    /// Bytes of a SACK block above the cumulative ACK; `None` if the block is invalid.
    fn block_range(&self, block: Block) -> Option<SeqRange> {
        if block.is_empty() {
            return None;
        }
        let (start, end) = (widen(self.una, block.start)?, widen(self.una, block.end)?);
        (start < end && end > self.una && end <= self.nxt)
            .then_some(SeqRange { start: start.max(self.una), end })
    }

    /// Whether the first block is a DSACK: below the ACK or within the second block (RFC 2883 §4).
    fn detect_dsack(&mut self, config: &Config, ack: u64, segment: &Ack) -> bool {
        let [first, second, ..] = segment.blocks;
        if first.is_empty() {
            return false;
        }
        let inside = |edge: u32| edge.wrapping_sub(second.start) <= second.end.wrapping_sub(second.start);
        let (Some(start), Some(end)) = (widen(ack, first.start), widen(ack, first.end)) else { return false };
        if end > ack && (second.is_empty() || !inside(first.start) || !inside(first.end)) {
            return false;
        }
        self.tcp_counters.dsacks += 1;
        if config.reordering != Reordering::Fixed {
            self.rack.on_dsack(self.una, self.nxt);
        }
        if let Some(undo) = self.recovery.on_dsack(start) {
            self.tcp_counters.undone += 1;
            self.window.bytes = self.window.bytes.max(undo.window);
            self.window.threshold = self.window.threshold.max(undo.threshold);
            self.reduced_until = 0;
            if self.recovery.state == RecoveryState::Recovery {
                self.recovery.state = RecoveryState::Open;
            }
        }
        true
    }

    /// A loss that a probe repaired reduces the window (RFC 8985 §7.4.2).
    fn check_probe(&mut self, now: Time, ack: u64, outcome: &AckOutcome) {
        match self.probe.on_ack(ack, outcome.dsack, outcome.duplicate && self.flight.sacked_count == 0) {
            ProbeVerdict::Open | ProbeVerdict::Needless => {}
            ProbeVerdict::Repaired => {
                self.tcp_counters.repaired += 1;
                if self.recovery.state == RecoveryState::Open && self.una > self.reduced_until {
                    self.reduce(now, false);
                }
            }
        }
    }

    /// Reduces the window at once, one time per window of data.
    fn reduce(&mut self, now: Time, marked: bool) {
        self.window.threshold = self.control.on_congestion(now, &self.window, marked);
        if !self.control.owns_window() {
            self.window.bytes = self.window.bytes.min(self.window.threshold);
        }
        self.reduced_until = self.nxt;
    }

    /// Detects losses, enters or leaves recovery, and updates the window.
    fn update_recovery(&mut self, config: &Config, now: Time, outcome: &AckOutcome, echo: bool) {
        if self.recovery.state != RecoveryState::Open && self.una >= self.recovery.point {
            self.end_recovery();
        }
        let before = self.recovery.state;
        if config.sack {
            if outcome.progress.bytes > 0 {
                self.find_losses(config, now);
            }
        } else {
            self.count_dup_acks(config, now, outcome);
        }
        let first = before == RecoveryState::Open && self.recovery.state == RecoveryState::Recovery;
        self.update_congestion(now, outcome, echo && config.ecn != Ecn::Off);
        if self.recovery.state == RecoveryState::Recovery && !self.control.owns_window() {
            let safe = outcome.advanced && self.flight.lost_bytes == outcome.lost_before;
            let arrived =
                if outcome.duplicate && !config.sack { self.window.mss } else { outcome.progress.bytes };
            let (pipe, mss) = (self.pipe(), self.window.mss);
            self.window.bytes = self.recovery.window(arrived, pipe, self.window.threshold, mss, safe, first);
        }
    }

    fn end_recovery(&mut self) {
        if self.recovery.state == RecoveryState::Recovery && !self.control.owns_window() {
            self.window.bytes = self.window.threshold;
        }
        self.recovery.state = RecoveryState::Open;
        (self.recovery.dup_acks, self.recovery.dup_acked_bytes) = (0, 0);
        self.rack.on_recovered();
    }

    /// Detects losses by sacked segments or by time.
    pub(super) fn find_losses(&mut self, config: &Config, now: Time) {
        if config.reordering == Reordering::Segments {
            self.flight.detect_by_count(DUP_THRESH);
            if self.flight.has_lost() && self.recovery.state == RecoveryState::Open {
                self.enter_recovery(now);
            }
        } else {
            self.detect_by_time(config, now);
        }
    }

    /// Detects losses by time (RFC 8985 §6.2).
    fn detect_by_time(&mut self, config: &Config, now: Time) {
        let many = self.flight.sacked_count >= DUP_THRESH && config.reordering != Reordering::Time;
        let sure = self.recovery.state != RecoveryState::Open || many;
        let window = self.rack.window(sure, self.rtt.min(), self.rtt.smoothed());
        let clock = config.clock();
        let expiry = |due: Time| clock.expiry(now, due.since(now) + clock.margin());
        self.reorder_timer_at = self.flight.detect(now, &self.rack, window).map_or(Time::MAX, expiry);
        if self.flight.has_lost() && self.recovery.state == RecoveryState::Open {
            self.enter_recovery(now);
            if self.reorder_timer_at != Time::MAX {
                // The reordering window may be shorter in recovery.
                self.detect_by_time(config, now);
            }
        }
    }

    /// Detects losses by duplicate ACKs, each of which stands for one arrived segment (RFC 6582 §3.2).
    fn count_dup_acks(&mut self, config: &Config, now: Time, outcome: &AckOutcome) {
        let mss = config.mss as u64;
        let recovery = &mut self.recovery;
        if outcome.duplicate {
            recovery.dup_acks += 1;
            recovery.dup_acked_bytes = (recovery.dup_acked_bytes + mss).min(self.flight.pipe);
            if recovery.state == RecoveryState::Open && recovery.dup_acks >= DUP_THRESH {
                self.flight.mark_first_lost();
                self.enter_recovery(now);
            }
        } else if outcome.advanced {
            // All but the first segment were already counted by duplicate ACKs.
            recovery.dup_acked_bytes =
                recovery.dup_acked_bytes.saturating_sub(outcome.progress.bytes.saturating_sub(mss));
            match recovery.state {
                RecoveryState::Open => (recovery.dup_acks, recovery.dup_acked_bytes) = (0, 0),
                RecoveryState::Recovery => self.flight.mark_first_lost(),
                RecoveryState::Loss => {}
            }
        }
    }

    fn enter_recovery(&mut self, now: Time) {
        let before = self.window;
        if self.una >= self.reduced_until {
            self.window.threshold = self.control.on_congestion(now, &self.window, false);
        }
        self.recovery.begin(RecoveryState::Recovery, self.nxt, self.una, before.bytes, before.threshold);
        self.tcp_counters.recoveries += 1;
        self.probe.cancel();
        if !self.control.owns_window() {
            // A lost segment leaves at once; PRR paces the rest.
            self.window.bytes = self.pipe() + self.window.mss;
        }
    }

    fn update_congestion(&mut self, now: Time, outcome: &AckOutcome, marked: bool) {
        if outcome.progress.bytes == 0 {
            return;
        }
        let sample = self.flight.delivery.on_ack(now, outcome.progress.newest, self.rtt.min());
        self.window_usage.on_ack(self.una, self.nxt);
        let growing = outcome.advanced
            && self.recovery.state != RecoveryState::Recovery
            && self.una >= self.reduced_until;
        let ack = AckEvent {
            now,
            bytes: outcome.progress.bytes,
            marked,
            rtt: outcome.progress.rtt,
            srtt: self.rtt.smoothed(),
            una: self.una,
            nxt: self.nxt,
            in_flight: self.pipe(),
            lost: self.flight.lost_bytes - outcome.lost_before,
            delivered_total: self.flight.delivery.bytes,
            sample,
            cwnd_limited: growing && self.window_usage.is_cwnd_limited(&self.window),
            state: self.recovery.state,
        };
        self.control.on_ack(&mut self.window, &ack);
        // Once per window (RFC 3168 §6.1.2, RFC 8257 §3.3).
        if marked && self.recovery.state == RecoveryState::Open && self.una > self.reduced_until {
            self.reduce(now, true);
            self.cwr_pending = true;
            self.tcp_counters.reductions += 1;
        }
    }
}
