//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): the window and the rate follow a model of the path.
//!
//! Left out of what Linux has beside the draft: the detection of policers and the allowance for aggregated acknowledgements.

use wiremend_units::{Rate, Span, Time};

use super::max_filter::MaxFilter;
use super::{Controller, Delivered, State, Window};
use crate::tcp::config::Config;
use crate::tcp::delivery::{BIT_PS_PER_BYTE, bits_per_s};

/// BBR.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the draft's state has them")]
pub struct Bbr {
    phase: Phase,
    bandwidth: MaxFilter,
    /// Round trips counted by delivered data, and where the current one ends.
    round: u64,
    round_end: u64,
    round_start: bool,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// When the pause for measuring the round trip may end, once the path is empty.
    pause_until: Option<Time>,
    pause_round_done: bool,
    /// The rate at the last look for growth, and looks without any.
    full_rate: u64,
    full_looks: u32,
    filled: bool,
    cycle: usize,
    cycle_at: Time,
    rate: Rate,
    rate_known: bool,
    /// The window before a recovery or a pause.
    prior_window: u64,
    /// One segment is sent for each that arrives.
    conserve: bool,
    state: State,
    first_window: u64,
    mss: u64,
    burst_max: u64,
    random: u64,
}

/// What it is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The rate doubles in each round trip, until it does no more (§4.3.2).
    Startup,
    /// What that has left in queues leaves (§4.3.3).
    Drain,
    /// Cycles around the rate that was found (§4.3.4).
    ProbeBw,
    /// Almost nothing is under way, so that the round trip can be measured (§4.3.5).
    ProbeRtt,
}

/// Gains are in parts of 256.
const UNIT: u64 = 256;
/// 2/ln 2.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
const MIN_RTT_WINDOW: Span = Span::from_ms(10_000);
const PAUSE: Span = Span::from_ms(200);
const SEGMENTS_MIN: u64 = 4;
const FULL_LOOKS: u32 = 3;

impl Bbr {
    /// A connection that has measured nothing yet, but perhaps its first round trip.
    pub fn new(config: &Config, random: u64) -> Self {
        let mss = config.mss as u64;
        let first_window = mss * config.first_window as u64;
        let mut bbr = Self {
            phase: Phase::Startup,
            bandwidth: MaxFilter::default(),
            round: 0,
            round_end: 0,
            round_start: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            pause_until: None,
            pause_round_done: false,
            full_rate: 0,
            full_looks: 0,
            filled: false,
            cycle: 0,
            cycle_at: Time::ZERO,
            rate: Rate::from_bits_per_s(1),
            rate_known: false,
            prior_window: 0,
            conserve: false,
            state: State::Open,
            first_window,
            mss,
            burst_max: config.burst_max as u64,
            random,
        };
        bbr.guess_rate(config.first_rtt);
        bbr
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The rate of the path, in bit/s.
    pub fn bandwidth(&self) -> u64 {
        self.bandwidth.get()
    }

    /// Which part of the cycle it is in, while it probes for bandwidth.
    pub fn cycle(&self) -> usize {
        self.cycle
    }

    /// The first window in a round trip, or in a millisecond if none is known.
    fn guess_rate(&mut self, rtt: Option<Span>) {
        self.rate_known = rtt.is_some();
        let first = self.first_window as u128 * BIT_PS_PER_BYTE;
        let bits = bits_per_s(first, rtt.unwrap_or(Span::from_ms(1)));
        self.rate = Rate::from_bits_per_s((bits * HIGH_GAIN / UNIT).max(1));
    }

    fn gain(&self) -> u64 {
        match self.phase {
            Phase::Startup => HIGH_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::ProbeBw => CYCLE[self.cycle],
            Phase::ProbeRtt => UNIT,
        }
    }

    fn window_gain(&self) -> u64 {
        match self.phase {
            Phase::Startup | Phase::Drain => HIGH_GAIN,
            Phase::ProbeBw => WINDOW_GAIN,
            Phase::ProbeRtt => UNIT,
        }
    }

    /// §4.1.1: the largest rate of the last ten round trips.
    fn update_bandwidth(&mut self, ack: &Delivered) {
        self.round_start = false;
        let Some(sample) = ack.sample else { return };
        if sample.prior >= self.round_end {
            self.round_end = ack.total;
            self.round += 1;
            self.round_start = true;
            self.conserve = false;
        }
        let rate = sample.rate().bits_per_s();
        if !sample.starved || rate >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.round, rate);
        }
    }

    /// §4.3.4.2: when the next part of the cycle begins.
    fn update_cycle(&mut self, ack: &Delivered) {
        if self.phase != Phase::ProbeBw {
            return;
        }
        let lasted = ack.now.since(self.cycle_at) > self.min_rtt.unwrap_or(Span::ZERO);
        let in_flight = ack.in_flight + ack.bytes;
        let over = match CYCLE[self.cycle] {
            UNIT => lasted,
            gain if gain > UNIT => lasted && (ack.lost > 0 || in_flight >= self.target(gain)),
            _ => lasted || in_flight <= self.target(UNIT),
        };
        if over {
            self.next_cycle(ack.now);
        }
    }

    fn next_cycle(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
    }

    /// §4.3.2.2: three rounds without a fourth more.
    fn check_filled(&mut self, ack: &Delivered) {
        if self.filled || !self.round_start || ack.sample.is_none_or(|sample| sample.starved) {
            return;
        }
        if self.bandwidth.get() >= self.full_rate + self.full_rate / 4 {
            (self.full_rate, self.full_looks) = (self.bandwidth.get(), 0);
            return;
        }
        self.full_looks += 1;
        self.filled = self.full_looks >= FULL_LOOKS;
    }

    fn check_drained(&mut self, ack: &Delivered) {
        if self.phase == Phase::Startup && self.filled {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && ack.in_flight <= self.target(UNIT) {
            self.probe_bandwidth(ack.now);
        }
    }

    /// The cycle begins anywhere but where it drains (§4.3.4.1).
    fn probe_bandwidth(&mut self, now: Time) {
        self.phase = Phase::ProbeBw;
        self.random = wiremend_units::mix(self.random);
        self.cycle = CYCLE.len() - 1 - (self.random % (CYCLE.len() as u64 - 1)) as usize;
        self.next_cycle(now);
    }

    /// §4.1.2, §4.3.5.
    fn update_min_rtt(&mut self, window: &mut Window, ack: &Delivered) {
        let expired = ack.now > self.min_rtt_at.saturating_add(MIN_RTT_WINDOW);
        if let Some(rtt) = ack.rtt
            && self.min_rtt.is_none_or(|min| rtt < min || expired)
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        if expired && self.phase != Phase::ProbeRtt {
            self.phase = Phase::ProbeRtt;
            self.save_window(window);
            self.pause_until = None;
        }
        if self.phase == Phase::ProbeRtt {
            self.pause(window, ack);
        }
    }

    fn pause(&mut self, window: &mut Window, ack: &Delivered) {
        let Some(until) = self.pause_until else {
            if ack.in_flight <= SEGMENTS_MIN * self.mss {
                self.pause_until = Some(ack.now.saturating_add(PAUSE));
                self.pause_round_done = false;
                self.round_end = ack.total;
            }
            return;
        };
        self.pause_round_done |= self.round_start;
        if self.pause_round_done && ack.now > until {
            self.min_rtt_at = ack.now;
            window.bytes = window.bytes.max(self.prior_window);
            if self.filled {
                self.probe_bandwidth(ack.now);
            } else {
                self.phase = Phase::Startup;
            }
        }
    }

    fn save_window(&mut self, window: &Window) {
        let usual = self.state == State::Open && self.phase != Phase::ProbeRtt;
        self.prior_window = if usual { window.bytes } else { self.prior_window.max(window.bytes) };
    }

    /// The product of rate and round trip times a gain, and room for bursts at both ends (§4.2.3.2).
    fn target(&self, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt.filter(|_| self.bandwidth.get() > 0) else { return self.first_window };
        let product =
            Rate::from_bits_per_s(self.bandwidth.get()).bytes_in(rtt).get().saturating_mul(gain) / UNIT;
        let burst = (self.rate.bits_per_s() >> 13).min(self.burst_max).max(2 * self.mss);
        let probing = if self.phase == Phase::ProbeBw && self.cycle == 0 { 2 * self.mss } else { 0 };
        product.div_ceil(self.mss) * self.mss + 3 * burst + probing
    }

    fn update_rate(&mut self, ack: &Delivered) {
        if !self.rate_known && ack.srtt.is_some() {
            self.guess_rate(ack.srtt);
        }
        // One percent below the model, so that queues do not grow (as in Linux).
        let bits = self.bandwidth.get() as u128 * self.gain() as u128 / UNIT as u128 * 99 / 100;
        let rate = Rate::from_bits_per_s((bits as u64).max(1));
        if self.filled || rate > self.rate {
            self.rate = rate;
        }
    }

    /// §4.2.3.
    fn update_window(&mut self, window: &mut Window, ack: &Delivered) {
        window.bytes = window.bytes.saturating_sub(ack.lost).max(self.mss);
        let before = std::mem::replace(&mut self.state, ack.state);
        if before != State::Recovery && ack.state == State::Recovery {
            self.conserve = true;
            self.round_end = ack.total;
            window.bytes = ack.in_flight + ack.bytes;
        } else if before != State::Open && ack.state == State::Open {
            window.bytes = window.bytes.max(self.prior_window);
            self.conserve = false;
        }
        if self.conserve {
            window.bytes = window.bytes.max(ack.in_flight + ack.bytes);
        } else {
            let target = self.target(self.window_gain());
            if self.filled {
                window.bytes = (window.bytes + ack.bytes).min(target);
            } else if window.bytes < target || ack.total < self.first_window {
                window.bytes += ack.bytes;
            }
            window.bytes = window.bytes.max(SEGMENTS_MIN * self.mss);
        }
        if self.phase == Phase::ProbeRtt {
            window.bytes = window.bytes.min(SEGMENTS_MIN * self.mss);
        }
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, window: &mut Window, ack: &Delivered) {
        self.update_bandwidth(ack);
        self.update_cycle(ack);
        self.check_filled(ack);
        self.check_drained(ack);
        self.update_min_rtt(window, ack);
        self.update_rate(ack);
        self.update_window(window, ack);
    }

    /// A loss is no sign of congestion: the window is kept for later.
    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.save_window(window);
        window.threshold
    }

    fn on_timeout(&mut self, _now: Time) {
        self.state = State::Loss;
        (self.full_rate, self.full_looks) = (0, 0);
    }

    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn owns_window(&self) -> bool {
        true
    }
}
