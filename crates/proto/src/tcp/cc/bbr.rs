//! BBR version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): window and rate follow a model of the
//! path.
//!
//! Omitted from Linux's version: policer detection and compensation for ACK aggregation.

use wiremend_units::{Rate, Span, Time};

use super::max_filter::MaxFilter;
use super::{AckEvent, Controller, RecoveryState, Window};
use crate::tcp::config::Config;
use crate::tcp::delivery::{BIT_PS_PER_BYTE, bits_per_s};

/// BBR state.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "state variables of the draft")]
pub struct Bbr {
    phase: Phase,
    bandwidth: MaxFilter,
    /// Round trips counted by delivered data, and where the current one ends.
    round: u64,
    round_end: u64,
    round_start: bool,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// When `ProbeRtt` may end; set once the data in flight have fallen to four segments.
    probe_rtt_until: Option<Time>,
    probe_rtt_round_done: bool,
    /// Bandwidth at the last growth of 25 %, and rounds without such growth.
    full_bandwidth: u64,
    full_bandwidth_rounds: u32,
    pipe_filled: bool,
    cycle: usize,
    cycle_at: Time,
    rate: Rate,
    rate_known: bool,
    /// Window before a recovery or `ProbeRtt`.
    prior_cwnd: u64,
    /// Packet conservation: one segment leaves for each that arrives.
    packet_conservation: bool,
    state: RecoveryState,
    first_window: u64,
    mss: u64,
    burst_max: u64,
    random: u64,
}

/// Phase of the state machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The rate doubles each round trip until the bandwidth stops growing (§4.3.2).
    Startup,
    /// The queue built in `Startup` drains (§4.3.3).
    Drain,
    /// The rate cycles around the estimated bandwidth (§4.3.4).
    ProbeBw,
    /// Four segments in flight, to measure the round trip of the empty path (§4.3.5).
    ProbeRtt,
}

/// Denominator of gains.
const UNIT: u64 = 256;
/// 2/ln 2.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u64 = 2 * UNIT;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
const MIN_RTT_WINDOW: Span = Span::from_ms(10_000);
const PROBE_RTT_DURATION: Span = Span::from_ms(200);
const SEGMENTS_MIN: u64 = 4;
const FULL_BANDWIDTH_ROUNDS: u32 = 3;

impl Bbr {
    /// State of a new connection; `config.first_rtt` may give a round trip.
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
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            full_bandwidth: 0,
            full_bandwidth_rounds: 0,
            pipe_filled: false,
            cycle: 0,
            cycle_at: Time::ZERO,
            rate: Rate::from_bits_per_s(1),
            rate_known: false,
            prior_cwnd: 0,
            packet_conservation: false,
            state: RecoveryState::Open,
            first_window,
            mss,
            burst_max: config.burst_max as u64,
            random,
        };
        bbr.guess_rate(config.first_rtt);
        bbr
    }

    /// Current phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Estimated bandwidth in bit/s.
    pub fn bandwidth(&self) -> u64 {
        self.bandwidth.get()
    }

    /// Current step of the gain cycle in `ProbeBw`.
    pub fn cycle(&self) -> usize {
        self.cycle
    }

    /// Sets the initial rate: the initial window per round trip, or per 1 ms if none is known.
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

    /// §4.1.1: bandwidth is the maximum rate of the last ten round trips.
    fn update_bandwidth(&mut self, ack: &AckEvent) {
        self.round_start = false;
        let Some(sample) = ack.sample else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = ack.delivered_total;
            self.round += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        let rate = sample.rate().bits_per_s();
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.round, rate);
        }
    }

    /// §4.3.4.2: advances the gain cycle.
    fn update_cycle(&mut self, ack: &AckEvent) {
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

    /// §4.3.2.2: the pipe is full after three rounds without 25 % growth.
    fn check_pipe_filled(&mut self, ack: &AckEvent) {
        if self.pipe_filled || !self.round_start || ack.sample.is_none_or(|sample| sample.app_limited) {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth + self.full_bandwidth / 4 {
            (self.full_bandwidth, self.full_bandwidth_rounds) = (self.bandwidth.get(), 0);
            return;
        }
        self.full_bandwidth_rounds += 1;
        self.pipe_filled = self.full_bandwidth_rounds >= FULL_BANDWIDTH_ROUNDS;
    }

    fn check_drained(&mut self, ack: &AckEvent) {
        if self.phase == Phase::Startup && self.pipe_filled {
            self.phase = Phase::Drain;
        }
        if self.phase == Phase::Drain && ack.in_flight <= self.target(UNIT) {
            self.probe_bandwidth(ack.now);
        }
    }

    /// Enters `ProbeBw` at a random step of the cycle, except the draining one (§4.3.4.1).
    fn probe_bandwidth(&mut self, now: Time) {
        self.phase = Phase::ProbeBw;
        self.random = wiremend_units::mix(self.random);
        self.cycle = CYCLE.len() - 1 - (self.random % (CYCLE.len() as u64 - 1)) as usize;
        self.next_cycle(now);
    }

    /// Updates the minimum round trip and enters or leaves `ProbeRtt` (§4.1.2, §4.3.5).
    fn update_min_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        let expired = ack.now > self.min_rtt_at.saturating_add(MIN_RTT_WINDOW);
        if let Some(rtt) = ack.rtt
            && self.min_rtt.is_none_or(|min| rtt < min || expired)
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        if expired && self.phase != Phase::ProbeRtt {
            self.phase = Phase::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_until = None;
        }
        if self.phase == Phase::ProbeRtt {
            self.run_probe_rtt(window, ack);
        }
    }

    fn run_probe_rtt(&mut self, window: &mut Window, ack: &AckEvent) {
        let Some(until) = self.probe_rtt_until else {
            if ack.in_flight <= SEGMENTS_MIN * self.mss {
                self.probe_rtt_until = Some(ack.now.saturating_add(PROBE_RTT_DURATION));
                self.probe_rtt_round_done = false;
                self.round_end = ack.delivered_total;
            }
            return;
        };
        self.probe_rtt_round_done |= self.round_start;
        if self.probe_rtt_round_done && ack.now > until {
            self.min_rtt_at = ack.now;
            window.bytes = window.bytes.max(self.prior_cwnd);
            if self.pipe_filled {
                self.probe_bandwidth(ack.now);
            } else {
                self.phase = Phase::Startup;
            }
        }
    }

    fn save_window(&mut self, window: &Window) {
        let usual = self.state == RecoveryState::Open && self.phase != Phase::ProbeRtt;
        self.prior_cwnd = if usual { window.bytes } else { self.prior_cwnd.max(window.bytes) };
    }

    /// Bandwidth-delay product times a gain, plus room for bursts at both ends (§4.2.3.2).
    fn target(&self, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt.filter(|_| self.bandwidth.get() > 0) else { return self.first_window };
        let product =
            Rate::from_bits_per_s(self.bandwidth.get()).bytes_in(rtt).get().saturating_mul(gain) / UNIT;
        let burst = (self.rate.bits_per_s() >> 13).min(self.burst_max).max(2 * self.mss);
        let probing = if self.phase == Phase::ProbeBw && self.cycle == 0 { 2 * self.mss } else { 0 };
        product.div_ceil(self.mss) * self.mss + 3 * burst + probing
    }

    fn update_rate(&mut self, ack: &AckEvent) {
        if !self.rate_known && ack.srtt.is_some() {
            self.guess_rate(ack.srtt);
        }
        // 1 % below the model, so that queues do not grow (as in Linux).
        let bits = self.bandwidth.get() as u128 * self.gain() as u128 / UNIT as u128 * 99 / 100;
        let rate = Rate::from_bits_per_s((bits as u64).max(1));
        if self.pipe_filled || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Updates the window (§4.2.3).
    fn update_window(&mut self, window: &mut Window, ack: &AckEvent) {
        window.bytes = window.bytes.saturating_sub(ack.lost).max(self.mss);
        let before = std::mem::replace(&mut self.state, ack.state);
        if before != RecoveryState::Recovery && ack.state == RecoveryState::Recovery {
            self.packet_conservation = true;
            self.round_end = ack.delivered_total;
            window.bytes = ack.in_flight + ack.bytes;
        } else if before != RecoveryState::Open && ack.state == RecoveryState::Open {
            window.bytes = window.bytes.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            window.bytes = window.bytes.max(ack.in_flight + ack.bytes);
        } else {
            let target = self.target(self.window_gain());
            if self.pipe_filled {
                window.bytes = (window.bytes + ack.bytes).min(target);
            } else if window.bytes < target || ack.delivered_total < self.first_window {
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
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent) {
        self.update_bandwidth(ack);
        self.update_cycle(ack);
        self.check_pipe_filled(ack);
        self.check_drained(ack);
        self.update_min_rtt(window, ack);
        self.update_rate(ack);
        self.update_window(window, ack);
    }

    /// A loss is not a sign of congestion: BBR only saves the window.
    fn on_congestion(&mut self, _now: Time, window: &Window, _marked: bool) -> u64 {
        self.save_window(window);
        window.threshold
    }

    fn on_timeout(&mut self, _now: Time) {
        self.state = RecoveryState::Loss;
        (self.full_bandwidth, self.full_bandwidth_rounds) = (0, 0);
    }

    fn rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn owns_window(&self) -> bool {
        true
    }
}
