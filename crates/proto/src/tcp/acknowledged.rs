//! What an acknowledgement does to a sender: what has arrived, what is lost, and what follows for the window.

use wiremend_units::Time;

use super::cc::{Controller, Delivered, State};
use super::config::{Config, Ecn, Reordering};
use super::flight::Heard;
use super::probe::Verdict;
use super::ranges::Run;
use super::segment::{Ack, Block, widen};
use super::sender::Sender;
use super::trouble::Gap;

/// Duplicate acknowledgements, or segments beyond a gap, that speak for a loss (RFC 5681 §3.2).
const DOUBLES: u32 = 3;

/// What an acknowledgement has changed.
struct News {
    heard: Heard,
    advanced: bool,
    twice: bool,
    /// It says nothing new.
    double: bool,
    lost_before: u64,
}

impl Sender {
    pub(super) fn on_ack(&mut self, config: &Config, now: Time, said: &Ack) {
        let Some(ack) = widen(self.una, said.ack).filter(|ack| *ack <= self.nxt) else {
            self.counters.ignored += 1;
            return;
        };
        let lost_before = self.flight.lost_bytes;
        let twice = config.sack && self.note_twice(config, ack, said);
        let mut heard = Heard::default();
        let advanced = ack > self.una;
        let min = self.rtt.min();
        if advanced {
            self.una = ack;
            self.flight.acknowledge(now, ack, &mut self.rack, min, &mut heard);
            self.stream.acknowledge(ack, &self.seen);
        }
        let before = heard.bytes;
        if config.sack {
            for block in said.blocks {
                if let Some(run) = self.run_of(block) {
                    self.flight.sack(now, run, config.mss, &mut self.rack, min, &mut heard);
                }
            }
        }
        self.seen.sacked_bytes += heard.bytes - before;
        if self.flight.sacked_bytes > 0 {
            let (sacked, mss) = (self.flight.sacked_bytes, config.mss as u64);
            self.stream.on_gap(Gap { at: self.una, nxt: self.nxt, sacked, mss });
        }
        if let Some(rtt) = heard.rtt {
            self.rtt.on_sample(rtt);
        }
        let double = heard.bytes == 0 && ack == self.una && !self.flight.is_empty();
        let news = News { heard, advanced, twice, double, lost_before };
        if advanced {
            self.on_progress(config, now);
        }
        self.judge_probe(now, ack, &news);
        self.judge(config, now, &news, said.head.echo());
        if news.heard.bytes > 0 {
            self.arm_probe(config, now);
        }
        self.set_pace(config);
    }

    /// Bytes of a block that may newly have arrived.
    fn run_of(&self, block: Block) -> Option<Run> {
        if block.is_empty() {
            return None;
        }
        let (start, end) = (widen(self.una, block.start)?, widen(self.una, block.end)?);
        (start < end && end > self.una && end <= self.nxt).then_some(Run { start: start.max(self.una), end })
    }

    /// Whether the first block tells of something that came twice (RFC 2883 §4): it lies before what is acknowledged, or within the second.
    fn note_twice(&mut self, config: &Config, ack: u64, said: &Ack) -> bool {
        let [first, second, ..] = said.blocks;
        if first.is_empty() {
            return false;
        }
        let inside = |edge: u32| edge.wrapping_sub(second.start) <= second.end.wrapping_sub(second.start);
        let (Some(start), Some(end)) = (widen(ack, first.start), widen(ack, first.end)) else { return false };
        if end > ack && (second.is_empty() || !inside(first.start) || !inside(first.end)) {
            return false;
        }
        self.seen.twice += 1;
        if config.reordering != Reordering::Fixed {
            self.rack.on_twice(self.una, self.nxt);
        }
        if let Some(undo) = self.recovery.on_twice(start) {
            self.seen.undone += 1;
            self.window.bytes = self.window.bytes.max(undo.window);
            self.window.threshold = self.window.threshold.max(undo.threshold);
            self.reduced_until = 0;
            if self.recovery.state == State::Recovery {
                self.recovery.state = State::Open;
            }
        }
        true
    }

    /// A probe that has repaired a loss is one (RFC 8985 §7.4.2).
    fn judge_probe(&mut self, now: Time, ack: u64, news: &News) {
        match self.probe.on_ack(ack, news.twice, news.double && self.flight.sacked_count == 0) {
            Verdict::Open | Verdict::Needless => {}
            Verdict::Repaired => {
                self.seen.repaired += 1;
                if self.recovery.state == State::Open && self.una > self.reduced_until {
                    self.reduce(now, false);
                }
            }
        }
    }

    /// One reduction for what is under way, at once.
    fn reduce(&mut self, now: Time, marked: bool) {
        self.window.threshold = self.control.on_congestion(now, &self.window, marked);
        if !self.control.owns_window() {
            self.window.bytes = self.window.bytes.min(self.window.threshold);
        }
        self.reduced_until = self.nxt;
    }

    /// Losses, recovery, and the window.
    fn judge(&mut self, config: &Config, now: Time, news: &News, echo: bool) {
        if self.recovery.state != State::Open && self.una >= self.recovery.point {
            self.end_recovery();
        }
        let before = self.recovery.state;
        if config.sack {
            if news.heard.bytes > 0 {
                self.find_losses(config, now);
            }
        } else {
            self.count_doubles(config, now, news);
        }
        let first = before == State::Open && self.recovery.state == State::Recovery;
        self.steer(now, news, echo && config.ecn != Ecn::Off);
        if self.recovery.state == State::Recovery && !self.control.owns_window() {
            let safe = news.advanced && self.flight.lost_bytes == news.lost_before;
            let arrived = if news.double && !config.sack { self.window.mss } else { news.heard.bytes };
            let (pipe, mss) = (self.pipe(), self.window.mss);
            self.window.bytes = self.recovery.window(arrived, pipe, self.window.threshold, mss, safe, first);
        }
    }

    fn end_recovery(&mut self) {
        if self.recovery.state == State::Recovery && !self.control.owns_window() {
            self.window.bytes = self.window.threshold;
        }
        self.recovery.state = State::Open;
        (self.recovery.doubles, self.recovery.doubled_bytes) = (0, 0);
        self.rack.on_recovered();
    }

    /// By what has arrived beyond them.
    pub(super) fn find_losses(&mut self, config: &Config, now: Time) {
        if config.reordering == Reordering::Segments {
            self.flight.detect_by_count(DOUBLES);
            if self.flight.has_lost() && self.recovery.state == State::Open {
                self.recover(now);
            }
        } else {
            self.find_late(now, config.reordering == Reordering::Time);
        }
    }

    /// By time (RFC 8985 §6.2). `patient`: however many have overtaken.
    fn find_late(&mut self, now: Time, patient: bool) {
        let many = self.flight.sacked_count >= DOUBLES && !patient;
        let sure = self.recovery.state != State::Open || many;
        let window = self.rack.window(sure, self.rtt.min(), self.rtt.smoothed());
        self.doubt_until = self.flight.detect(now, &self.rack, window).unwrap_or(Time::MAX);
        if self.flight.has_lost() && self.recovery.state == State::Open {
            self.recover(now);
            if self.doubt_until != Time::MAX {
                // In recovery less may be waited for.
                self.find_late(now, patient);
            }
        }
    }

    /// By duplicate acknowledgements, each of which stands for a segment that has arrived (RFC 6582 §3.2).
    fn count_doubles(&mut self, config: &Config, now: Time, news: &News) {
        let mss = config.mss as u64;
        let of = &mut self.recovery;
        if news.double {
            of.doubles += 1;
            of.doubled_bytes = (of.doubled_bytes + mss).min(self.flight.pipe);
            if of.state == State::Open && of.doubles >= DOUBLES {
                self.flight.lose_first();
                self.recover(now);
            }
        } else if news.advanced {
            // The first segment was what was missing; the others had been counted.
            of.doubled_bytes = of.doubled_bytes.saturating_sub(news.heard.bytes.saturating_sub(mss));
            match of.state {
                State::Open => (of.doubles, of.doubled_bytes) = (0, 0),
                State::Recovery => self.flight.lose_first(),
                State::Loss => {}
            }
        }
    }

    fn recover(&mut self, now: Time) {
        let before = self.window;
        if self.una >= self.reduced_until {
            self.window.threshold = self.control.on_congestion(now, &self.window, false);
        }
        self.recovery.begin(State::Recovery, self.nxt, self.una, before.bytes, before.threshold);
        self.seen.recoveries += 1;
        self.probe.cancel();
        if !self.control.owns_window() {
            // What is known to be lost leaves at once; the rest follows as data arrive.
            self.window.bytes = self.pipe() + self.window.mss;
        }
    }

    /// Congestion control hears of what has arrived, and of marks.
    fn steer(&mut self, now: Time, news: &News, marked: bool) {
        if news.heard.bytes == 0 {
            return;
        }
        let sample = self.flight.delivery.on_ack(now, news.heard.newest, self.rtt.min());
        self.usage.on_ack(self.una, self.nxt);
        let growing =
            news.advanced && self.recovery.state != State::Recovery && self.una >= self.reduced_until;
        let ack = Delivered {
            now,
            bytes: news.heard.bytes,
            marked,
            rtt: news.heard.rtt,
            srtt: self.rtt.smoothed(),
            una: self.una,
            nxt: self.nxt,
            in_flight: self.pipe(),
            lost: self.flight.lost_bytes - news.lost_before,
            total: self.flight.delivery.bytes,
            sample,
            limited: growing && self.usage.is_limited(&self.window),
            state: self.recovery.state,
        };
        self.control.on_ack(&mut self.window, &ack);
        // Once in a window (RFC 3168 §6.1.2, RFC 8257 §3.3).
        if marked && self.recovery.state == State::Open && self.una > self.reduced_until {
            self.reduce(now, true);
            self.answered = true;
            self.seen.reductions += 1;
        }
    }
}
